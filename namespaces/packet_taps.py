"""Packet taps: a small program that listens at every interface of a wire and notes what it sees.

::

    wire namespace: nl..-0a in/out --AF_PACKET--> this process --> file of sightings (digests, no payload)
                                                       ^
    recorder --control socket: FINISH, or its end------'

A process of its own, so that hashing packets takes no turns from the process that plays schedules. It looks a
few times a second: the kernel stamps each frame with its own time, so looking late costs nothing.

It ends when its control socket does, however the other end came to that. Knows no link and no netem.
"""

from __future__ import annotations

import os
import re
import select
import socket
import struct
import sys
import time
from typing import NamedTuple

from netlab.traces.packets.packet_match import digest_frame

__all__ = ["FINISH", "SIGHTING", "TALLY", "Sighting", "open_tap", "read_sightings"]

FINISH = b"f"
TALLY = struct.Struct("=QQ")
"""Answer to FINISH: sightings written, frames that the kernel or we could not keep."""
SIGHTING = struct.Struct("=qII3IB8s8s")
"""Time, end (2 * link number + side), length, three CRC-32, whether it left, digest, digest without its mark."""

MAX_SIGHTINGS = 1 << 23
"""About 370 MB of memory; what comes after is counted as missed."""

_ALL_PROTOCOLS = 0x0003
_SOL_PACKET = 263
_PACKET_STATISTICS = 6
_PACKET_OUTGOING = 4
_SO_TIMESTAMPNS = 35
_SO_RCVBUFFORCE = 33
_RECEIVE_BUFFER_BYTES = 1 << 26
_LOOK_MS = 50
_FRAMES_A_TURN = 4096
"""Noted before they are written and the control socket is heard again: some 30 ms."""
_STRAGGLERS_NS = 20_000_000
"""Frames of several processors may come this much out of the order of their stamps."""
_MAX_FRAME_BYTES = 1 << 17
_TIMESPEC = struct.Struct("=qq")
_STATISTICS = struct.Struct("=II")
_INTERFACE = re.compile(r"nl[0-9a-f]+-([0-9]+)([ab])\Z")


class Sighting(NamedTuple):
    """One frame at one end of a link in the wire: entering the link there, or leaving it."""

    seen_ns: int
    end: int
    length_bytes: int
    crcs: tuple[int, int, int]
    left: bool
    digest: bytes
    unmarked: bytes


def open_tap() -> socket.socket:
    """Return a socket that gets a stamped copy of every frame of the calling thread's network namespace.

    Raises:
        OSError: The kernel has no packet sockets, or the caller may not have one.
    """
    kind = socket.SOCK_RAW | socket.SOCK_CLOEXEC | socket.SOCK_NONBLOCK
    tap = socket.socket(socket.AF_PACKET, kind, socket.htons(_ALL_PROTOCOLS))
    try:
        tap.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)
        try:
            tap.setsockopt(socket.SOL_SOCKET, _SO_RCVBUFFORCE, _RECEIVE_BUFFER_BYTES)
        except PermissionError:  # root of a user namespace alone: as much as this machine gives
            tap.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _RECEIVE_BUFFER_BYTES)
    except BaseException:
        tap.close()
        raise
    return tap


def read_sightings(data: bytes) -> list[Sighting]:
    """Return what a tap process has written."""
    return [
        Sighting(seen_ns, end, length_bytes, (a, b, c), bool(left), digest, unmarked.rstrip(b"\0") and unmarked)
        for seen_ns, end, length_bytes, a, b, c, left, digest, unmarked in SIGHTING.iter_unpack(data)
    ]


class Taps:
    """Notes frames until told to finish.

    Args:
        tap: The packet socket.
        control: FINISH comes from there; its end is ours.
        notes_fd: The file of sightings.
    """

    def __init__(self, tap: socket.socket, control: socket.socket, notes_fd: int) -> None:
        self._tap = tap
        self._control = control
        self._notes_fd = notes_fd
        self._written = 0
        self._missed = 0
        self._newest_ns = 0
        self._buffer = bytearray(_MAX_FRAME_BYTES)
        self._ends: dict[str, int] = {}

    def run(self) -> None:
        """Look again and again, at once where there is more than a turn's frames."""
        poll = select.poll()
        poll.register(self._control, select.POLLIN)
        look_ms = _LOOK_MS
        while not poll.poll(look_ms):
            look_ms = 0 if self._drain() else _LOOK_MS
        if self._control.recv(1) == FINISH:
            self._finish()

    def _finish(self) -> None:
        """Note what was seen until now, however fast more of it comes, and answer."""
        end_ns = time.time_ns() + _STRAGGLERS_NS
        while self._drain() and self._newest_ns < end_ns:
            pass
        _, dropped = _STATISTICS.unpack(self._tap.getsockopt(_SOL_PACKET, _PACKET_STATISTICS, _STATISTICS.size))
        self._control.sendall(TALLY.pack(self._written, self._missed + dropped))

    def _drain(self) -> bool:
        """Note the frames of one turn; tell whether there may be more."""
        notes: list[bytes] = []
        view = memoryview(self._buffer)
        is_more = True
        for _ in range(_FRAMES_A_TURN):
            try:
                size, extras, _, address = self._tap.recvmsg_into([view], 64)
            except BlockingIOError:
                is_more = False
                break
            except OSError:  # an interface went down: a word about the past, not about the socket
                continue
            end = self._end_of(address[0])
            if end >= 0 and len(extras) == 1:
                notes.append(self._note(end, address[2] == _PACKET_OUTGOING, bytes(view[:size]), extras[0][2]))
        self._keep(notes)
        return is_more

    def _keep(self, notes: list[bytes]) -> None:
        kept = notes[: max(MAX_SIGHTINGS - self._written, 0)]
        self._missed += len(notes) - len(kept)
        self._written += len(kept)
        left = memoryview(b"".join(kept))
        while left:
            left = left[os.write(self._notes_fd, left) :]

    def _note(self, end: int, left: bool, data: bytes, stamp: bytes) -> bytes:
        seconds, nanoseconds = _TIMESPEC.unpack(stamp)
        self._newest_ns = seconds * 1_000_000_000 + nanoseconds
        frame = digest_frame(self._newest_ns, data)
        return SIGHTING.pack(
            frame.seen_ns, end, frame.length_bytes, *frame.crcs, left, frame.digest, frame.unmarked
        )

    def _end_of(self, interface: str) -> int:
        """Return 2 * link number + side; -1 for an interface that is no end of a link."""
        end = self._ends.get(interface)
        if end is None:
            match = _INTERFACE.match(interface)
            end = -1 if match is None else 2 * int(match[1]) + (match[2] == "b")
            if interface:
                self._ends[interface] = end
        return end


def main(tap_fd: int, control_fd: int, notes_fd: int) -> None:
    """Run on inherited descriptors."""
    with socket.socket(fileno=tap_fd) as tap, socket.socket(fileno=control_fd) as control:
        Taps(tap, control, notes_fd).run()


if __name__ == "__main__":
    main(*(int(word) for word in sys.argv[1:]))
