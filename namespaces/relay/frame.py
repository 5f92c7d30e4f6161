"""Frames between a lab and its relay process: whole messages and the descriptors that ride along.

::

    | length u32 | msgpack ... |      descriptors (SCM_RIGHTS) ride on the first byte

Neither side waits for the rest of a frame: ``FrameReader`` keeps what has come, since the relay has packets
to deliver meanwhile.
"""

from __future__ import annotations

import array
import contextlib
import os
import socket
import struct
from collections import deque
from collections.abc import Sequence

__all__ = ["MAX_DESCRIPTORS", "MAX_FRAME_BYTES", "FrameReader", "RelayFrameError", "send_frame"]

MAX_FRAME_BYTES = 64 << 20
"""A thousand links changed together, each with a table of its own."""
MAX_DESCRIPTORS = 2
_LENGTH = struct.Struct("=I")
_READ_BYTES = 1 << 16


class RelayFrameError(Exception):
    """Raised when the other side of the socket sends what is no frame."""


def send_frame(link: socket.socket, body: bytes, descriptors: Sequence[int] = ()) -> None:
    """Send one frame; waits while the other side has no room.

    Raises:
        RelayFrameError: It is longer than a frame may be.
        OSError: The other side is gone.
    """
    if len(body) > MAX_FRAME_BYTES:
        raise RelayFrameError(f"a frame of {len(body)} bytes: at most {MAX_FRAME_BYTES}")
    ancillary = []
    if descriptors:
        ancillary.append((socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", descriptors)))
    whole = _LENGTH.pack(len(body)) + body
    sent = link.sendmsg([whole], ancillary)
    if sent < len(whole):
        try:
            link.sendall(memoryview(whole)[sent:])
        except BaseException:
            # Half a frame, by an interrupt: what follows could not be told from its rest.
            with contextlib.suppress(OSError):
                link.shutdown(socket.SHUT_RDWR)
            raise


class FrameReader:
    """Puts frames together as their bytes come.

    Attributes:
        descriptors: What has come along and was not taken yet, oldest first; close-on-exec.
    """

    def __init__(self, link: socket.socket) -> None:
        self._link = link
        self._bytes = bytearray()
        self.descriptors: deque[int] = deque()

    def receive(self, flags: int = 0) -> bool:
        """Take in what has come; False at end of file.

        Args:
            flags: ``socket.MSG_DONTWAIT`` to return at once.

        Raises:
            BlockingIOError: Nothing has come.
            OSError: The other side is gone.
        """
        space = socket.CMSG_SPACE(4 * MAX_DESCRIPTORS)
        piece, ancillary, _, _ = self._link.recvmsg(_READ_BYTES, space, socket.MSG_CMSG_CLOEXEC | flags)
        for level, kind, data in ancillary:
            if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
                numbers = array.array("i")
                numbers.frombytes(data[: len(data) // 4 * 4])
                self.descriptors.extend(numbers)
        self._bytes += piece
        return bool(piece)

    def next_frame(self) -> bytes | None:
        """Return the next whole frame; None as long as there is none.

        Raises:
            RelayFrameError: It is longer than a frame may be.
        """
        if len(self._bytes) < _LENGTH.size:
            return None
        length: int = _LENGTH.unpack_from(self._bytes)[0]
        if length > MAX_FRAME_BYTES:
            raise RelayFrameError(f"a frame of {length} bytes: at most {MAX_FRAME_BYTES}")
        end = _LENGTH.size + length
        if len(self._bytes) < end:
            return None
        frame = bytes(self._bytes[_LENGTH.size : end])
        del self._bytes[:end]
        return frame

    def close(self) -> None:
        """Close the descriptors that nobody took."""
        while self.descriptors:
            os.close(self.descriptors.popleft())
