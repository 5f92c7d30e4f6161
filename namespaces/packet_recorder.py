"""Recorder: says what happened to each packet of a lab; and KernelRecorder, which asks the kernel's own taps.

::

    KernelRecorder.start --> tap process    begin() ... finish() --> sightings --match--> PacketRecord ...
                               (packet_taps.py)

A frame that arrives at an end of the wire was sent by the host on that side; one that leaves there, after
netem, is delivered to it. Times are the kernel's.
"""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Mapping
from typing import NamedTuple, Protocol

from netlab.errors import KernelError, LabError
from netlab.namespaces.namespace import Namespace
from netlab.namespaces.packet_taps import FINISH, TALLY, open_tap, read_sightings
from netlab.traces.packet_log import PacketRecord
from netlab.traces.packet_match import Frame, match_frames
from netlab.traces.seed import DIRECTIONS

__all__ = ["KernelRecorder", "Recorded", "Recorder"]

_ANSWER_S = 60.0
"""How long the tap process may take to note what is left in its buffer."""


class Recorded(NamedTuple):
    """What a recorder has seen.

    Attributes:
        records: A record a packet and further copy, times from ``begin``.
        missed: Frames that it should have seen and did not.
    """

    records: list[PacketRecord]
    missed: int


class Recorder(Protocol):
    """Records the packets of all links of one lab."""

    def begin(self) -> None:
        """Begin now: what was sent before is not recorded."""
        ...

    def finish(self, links: Mapping[int, str]) -> Recorded:
        """End now and return what was seen.

        Args:
            links: Names of the links by their numbers.

        Raises:
            LabError: What recorded has died.
        """
        ...

    def close(self) -> None:
        """Let go of what records; may be called again."""
        ...


class KernelRecorder:
    """Records by packet sockets in the wire namespace.

    Args:
        process: The tap process.
        control: Our end of its control socket.
        notes_fd: Its file of sightings.
    """

    def __init__(self, process: subprocess.Popen[bytes], control: socket.socket, notes_fd: int) -> None:
        self._process = process
        self._control = control
        self._notes_fd = notes_fd
        self._begin_ns = time.time_ns()

    @classmethod
    def start(cls, wire: Namespace) -> KernelRecorder:
        """Listen at every link of a wire, those that will be made included.

        Raises:
            KernelError: The kernel has no packet sockets, or the caller may not have one.
        """
        try:
            tap = wire.call(open_tap)
        except OSError as error:
            raise KernelError(
                "listen to packets in the wire",
                error.errno or 0,
                hint="packet logs need a kernel with packet sockets (CONFIG_PACKET) and the right to open one",
            ) from error
        ours, theirs = socket.socketpair()
        notes_fd = os.memfd_create("netlab-packets", os.MFD_CLOEXEC)
        with tap, theirs:
            fds = (tap.fileno(), theirs.fileno(), notes_fd)
            words = [sys.executable, "-P", "-m", "netlab.namespaces.packet_taps", *map(str, fds)]
            try:
                process = subprocess.Popen(words, stdin=subprocess.DEVNULL, pass_fds=fds, start_new_session=True)
            except OSError as error:
                ours.close()
                os.close(notes_fd)
                raise KernelError("start the packet taps", error.errno or 0) from error
        return cls(process, ours, notes_fd)

    def begin(self) -> None:
        """Begin now: what was sent before is not recorded."""
        self._begin_ns = time.time_ns()

    def finish(self, links: Mapping[int, str]) -> Recorded:
        """End now and return what was seen; see ``Recorder.finish``.

        Raises:
            LabError: The tap process has died.
        """
        end_ns = time.time_ns()
        written, missed = TALLY.unpack(self._ask())
        data = os.pread(self._notes_fd, os.fstat(self._notes_fd).st_size, 0)
        sightings = read_sightings(data)
        if len(sightings) != written:
            raise LabError(f"the packet taps noted {written} frames, and {len(sightings)} are in their file")
        seen: dict[tuple[int, bool], list[Frame]] = defaultdict(list)
        for one in sightings:
            frame = Frame(one.seen_ns - self._begin_ns, one.length_bytes, one.digest, one.crcs, one.unmarked)
            seen[one.end, one.left].append(frame)
        records: list[PacketRecord] = []
        for number, name in links.items():
            for side, direction in enumerate(DIRECTIONS):
                entered, left = seen[2 * number + side, False], seen[2 * number + 1 - side, True]
                matched = match_frames(name, direction, entered, left, end_ns - self._begin_ns)
                records += [record for record in matched.records if record.sent_ns >= 0]
                missed += matched.strangers
        return Recorded(records, missed)

    def close(self) -> None:
        """End the tap process; may be called again."""
        if self._notes_fd < 0:
            return
        self._control.close()
        os.close(self._notes_fd)
        self._notes_fd = -1
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(2.0)
            return
        self._process.kill()
        self._process.wait()

    def _ask(self) -> bytes:
        answer = b""
        try:
            self._control.settimeout(_ANSWER_S)
            self._control.sendall(FINISH)
            while len(answer) < TALLY.size and (more := self._control.recv(TALLY.size - len(answer))):
                answer += more
        except OSError as error:
            raise LabError(f"the packet taps do not answer: {error.strerror or error}") from error
        if len(answer) < TALLY.size:
            raise LabError(f"the packet taps have died: exit status {self._process.wait(_ANSWER_S)}")
        return answer
