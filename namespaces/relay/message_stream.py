"""Messages between a lab and its relay process: whole ones, with the descriptors that ride along.

::

    | length u32 | descriptors u32 | msgpack ... |      descriptors (SCM_RIGHTS) ride on the first byte

Neither side waits for the rest of a message: ``MessageReader`` keeps what has come, since the relay has packets
to deliver meanwhile. A message says how many descriptors it was sent with: a receiver that has no room for all
of them gets fewer, or none.
"""

from __future__ import annotations

import contextlib
import socket
import struct
from collections import deque
from collections.abc import Sequence
from typing import NamedTuple

from netlab.namespaces.passed_descriptors import close_all, pack_descriptors, unpack_descriptors

__all__ = [
    "MAX_DESCRIPTORS",
    "MAX_MESSAGE_BYTES",
    "Message",
    "MessageError",
    "MessageReader",
    "send_message",
]

MAX_MESSAGE_BYTES = 64 << 20
"""A thousand links changed together, each with a table of its own."""
MAX_DESCRIPTORS = 252
"""Two a link, so an even number; the kernel passes at most 253 at once."""
_HEAD = struct.Struct("=II")
_READ_BYTES = 1 << 16


class MessageError(Exception):
    """Raised when the other side of the socket sends what is no message."""


class Message(NamedTuple):
    """A whole message.

    Attributes:
        body: What it says.
        descriptors: What came along; close-on-exec, the receiver's to close.
        is_short: Whether more was sent along than the receiver had room for.
    """

    body: bytes
    descriptors: list[int]
    is_short: bool


def send_message(link: socket.socket, body: bytes, descriptors: Sequence[int] = ()) -> None:
    """Send one message; waits while the other side has no room.

    Raises:
        MessageError: It is longer than a message may be.
        TimeoutError: The other side takes nothing.
        OSError: The other side is gone.
    """
    if len(body) > MAX_MESSAGE_BYTES or len(descriptors) > MAX_DESCRIPTORS:
        raise MessageError(
            f"a message of {len(body)} bytes and {len(descriptors)} descriptors: "
            f"at most {MAX_MESSAGE_BYTES} and {MAX_DESCRIPTORS}"
        )
    whole = _HEAD.pack(len(body), len(descriptors)) + body
    sent = link.sendmsg([whole], pack_descriptors(descriptors))
    if sent < len(whole):
        try:
            link.sendall(memoryview(whole)[sent:])
        except BaseException:
            # Half a message, by an interrupt: what follows could not be told from its rest.
            with contextlib.suppress(OSError):
                link.shutdown(socket.SHUT_RDWR)
            raise


class MessageReader:
    """Puts messages together as their bytes come."""

    def __init__(self, link: socket.socket) -> None:
        self._link = link
        self._bytes = bytearray()
        # What came with each message that had any, oldest first: the kernel hands over those of one at a time.
        self._arrivals: deque[list[int]] = deque()

    def receive(self, flags: int = 0) -> bool:
        """Take in what has come; False at end of file.

        Args:
            flags: ``socket.MSG_DONTWAIT`` to return at once.

        Raises:
            BlockingIOError: Nothing has come.
            TimeoutError: Nothing has come for as long as the socket waits.
            OSError: The other side is gone.
        """
        space = socket.CMSG_SPACE(4 * MAX_DESCRIPTORS)
        piece, ancillary, shown, _ = self._link.recvmsg(_READ_BYTES, space, socket.MSG_CMSG_CLOEXEC | flags)
        passed = unpack_descriptors(ancillary, shown)
        if passed.descriptors or passed.is_short:
            self._arrivals.append(passed.descriptors)
        self._bytes += piece
        return bool(piece)

    def next_message(self) -> Message | None:
        """Return the next whole message; None as long as there is none.

        Raises:
            MessageError: It is longer than a message may be.
        """
        if len(self._bytes) < _HEAD.size:
            return None
        length, sent_along = _HEAD.unpack_from(self._bytes)
        if length > MAX_MESSAGE_BYTES:
            raise MessageError(f"a message of {length} bytes: at most {MAX_MESSAGE_BYTES}")
        end = _HEAD.size + length
        if len(self._bytes) < end:
            return None
        body = bytes(self._bytes[_HEAD.size : end])
        del self._bytes[:end]
        descriptors = self._arrivals.popleft() if sent_along and self._arrivals else []
        return Message(body, descriptors, len(descriptors) < sent_along)

    def close(self) -> None:
        """Close the descriptors of messages that were never whole."""
        while self._arrivals:
            close_all(self._arrivals.popleft())
