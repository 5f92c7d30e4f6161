"""CopyOpener: opens a frame as often as the network brings it, and tells which copy each is. Pure.

::

    frame 7 --> (7, copy 0, message)      frame 7 --> (7, copy 1, message)   ...   16 of them, then refused
    window   [ . . 1 2 1 0 1 ]  how often each of the last 65,536 numbers was opened, a byte each
                           `-- newest

For those who measure what a network does to datagrams; ``seal.py`` has the openers of those who talk.
"""

from __future__ import annotations

from typing import NamedTuple

from netlab.wire.seal import FrameReader
from netlab.wire.statistics import Statistics

__all__ = ["MAX_COPIES", "CopyOpener", "OpenedCopy"]

MAX_COPIES = 16
"""How many copies of one frame are opened: networks double, and only an attacker repeats further."""


class OpenedCopy(NamedTuple):
    """A frame that has been opened.

    Attributes:
        number: Its sequence number.
        copy: How many copies of it were opened before: 0 for the first.
        message: What it holds.
    """

    number: int
    copy: int
    message: bytes


class CopyOpener(FrameReader):
    """Opens the frames of one direction of one session, and tells copies apart instead of refusing them.

    Whoever acts on a message must look at ``copy``: what is to be done once is done for copy 0 alone. Its memory
    is one byte a number of the window.

    Args:
        secret: Key of this direction, 32 bytes.
        session: Identity of the session.
        statistics: Where refusals are counted.
        window_frames: How far behind the newest a frame may still arrive.
        max_copies: Copies of one frame that are opened, 1 .. 255.
    """

    __slots__ = ("_copies", "_highest", "_max_copies")

    def __init__(
        self,
        secret: bytes,
        session: int,
        statistics: Statistics,
        *,
        window_frames: int = 1 << 16,
        max_copies: int = MAX_COPIES,
    ) -> None:
        super().__init__(secret, session, statistics)
        self._copies = bytearray(window_frames)  # at number % window_frames
        self._max_copies = max_copies
        self._highest = -1

    def open(self, frame: bytes) -> OpenedCopy:
        """Return what a frame holds and which copy of it this is.

        Raises:
            AuthError: The seal does not verify.
            RemoteProtocolError: Not a frame of this session, one copy too many, or older than the window.
        """
        number = self.number_of(frame)
        window, ahead = len(self._copies), number - self._highest
        slot = number % window
        if ahead <= -window or (ahead <= 0 and self._copies[slot] >= self._max_copies):
            raise self.refuse(f"frame {number} came too often or is too old (at {self._highest})")
        message = self.message_of(frame, number)
        if ahead > 0:
            self._forget(ahead)
        copy = self._copies[slot]
        self._copies[slot] = copy + 1
        return OpenedCopy(number, copy, message)

    def _forget(self, ahead: int) -> None:
        """Move the window forward; the places of the numbers that enter it are those of numbers that leave."""
        window = len(self._copies)
        if ahead >= window:
            self._copies = bytearray(window)
        else:
            begin = (self._highest + 1) % window
            end = begin + ahead
            self._copies[begin : min(end, window)] = bytes(min(end, window) - begin)
            self._copies[: max(0, end - window)] = bytes(max(0, end - window))
        self._highest += ahead
