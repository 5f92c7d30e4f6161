"""Frames between the holder of a lab and those who ask: JSON, bounded, with descriptors and a deadline.

::

    | length u32 | JSON of one message ... |      descriptors (SCM_RIGHTS) ride on the first byte

The other side may be slow, mad or dead: nothing is allocated before its size is known to be allowed, and a
frame that has begun must end within a time.
"""

from __future__ import annotations

import array
import contextlib
import os
import select
import socket
import struct
import time
from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec import Struct

from netlab.errors import ConnectionLost, LocalProtocolError, RemoteProtocolError

__all__ = [
    "FRAME_WITHIN_S",
    "MAX_REPLY_BYTES",
    "MAX_REQUEST_BYTES",
    "Received",
    "receive_frame",
    "send_frame",
    "wait_readable",
]

MAX_REQUEST_BYTES = 8 << 20
"""More than the kernel takes as arguments and environment of one program."""
MAX_REPLY_BYTES = 64 << 20
"""What is shown of a lab with some thousand links."""
FRAME_WITHIN_S = 10.0
_MAX_DESCRIPTORS = 3
_LENGTH = struct.Struct("=I")
_PIECE_BYTES = 1 << 16


class Received:
    """A message, and the descriptors that came along; the receiver's to take or to close.

    Args:
        message: What was said.
        descriptors: Open descriptors of this process, close-on-exec.
    """

    def __init__(self, message: Any, descriptors: tuple[int, ...] = ()) -> None:
        self.message = message
        self.descriptors = descriptors

    def take(self) -> tuple[int, ...]:
        """Return the descriptors, which are the caller's now."""
        taken, self.descriptors = self.descriptors, ()
        return taken

    def close(self) -> None:
        """Close the descriptors."""
        for fd in self.take():
            os.close(fd)


def send_frame(
    link: socket.socket, message: Struct, descriptors: Sequence[int] = (), within_s: float = FRAME_WITHIN_S
) -> None:
    """Send one frame.

    Args:
        link: A connected stream socket of the unix family.
        message: What to say.
        descriptors: Duplicated into the receiver; at most three.
        within_s: How long the other side may take to read it.

    Nothing can follow a frame that went out in part: the link is then closed for writing.

    Raises:
        LocalProtocolError: Longer than any frame may be.
        ConnectionLost: The other side is gone, or does not read.
    """
    body = msgspec.json.encode(message)
    if len(body) > MAX_REPLY_BYTES:
        raise LocalProtocolError(f"a frame of {len(body)} bytes: at most {MAX_REPLY_BYTES}")
    rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", descriptors))] if descriptors else []
    data = memoryview(_LENGTH.pack(len(body)) + body)
    deadline_s = time.monotonic() + within_s
    try:
        while data:
            _wait(link, select.POLLOUT, deadline_s, "does not read what it is told")
            try:
                sent = link.sendmsg([data], rights, socket.MSG_DONTWAIT | socket.MSG_NOSIGNAL)
            except BlockingIOError:
                continue
            data, rights = data[sent:], []
    except BaseException as error:
        if len(data) < _LENGTH.size + len(body):
            with contextlib.suppress(OSError):
                link.shutdown(socket.SHUT_WR)
        if isinstance(error, OSError):
            raise ConnectionLost(f"the other side is gone: {error.strerror}") from error
        raise


def receive_frame(
    link: socket.socket,
    decoder: msgspec.json.Decoder[Any],
    max_bytes: int,
    first_within_s: float | None = FRAME_WITHIN_S,
) -> Received | None:
    """Receive one frame.

    Args:
        link: A connected stream socket of the unix family.
        decoder: Of the messages that may come.
        max_bytes: The longest frame that is taken.
        first_within_s: How long to wait for its first byte; None for ever.

    Returns:
        None at the end of the stream.

    Raises:
        RemoteProtocolError: Too long, cut off, or no message that may come.
        ConnectionLost: The other side is gone, or stalls.
    """
    if first_within_s is not None:
        _wait(link, select.POLLIN, time.monotonic() + first_within_s, "says nothing")
    head, descriptors = _receive_head(link)
    if not head:
        return None
    deadline_s = time.monotonic() + FRAME_WITHIN_S
    received = Received(None, descriptors)
    try:
        head += _receive_exactly(link, _LENGTH.size - len(head), deadline_s)
        length = _LENGTH.unpack(head)[0]
        if length > max_bytes:
            raise RemoteProtocolError(f"a frame of {length} bytes: at most {max_bytes}")
        received.message = decoder.decode(_receive_exactly(link, length, deadline_s))
    except (msgspec.DecodeError, RecursionError) as error:
        received.close()
        raise RemoteProtocolError(f"a frame that is no message: {error}") from error
    except BaseException:
        received.close()
        raise
    return received


def wait_readable(link: socket.socket, timeout_s: float) -> bool:
    """Tell whether something, or the end, comes within the time."""
    poll = select.poll()
    poll.register(link, select.POLLIN)
    return bool(poll.poll(timeout_s * 1e3))


def _receive_head(link: socket.socket) -> tuple[bytes, tuple[int, ...]]:
    space = socket.CMSG_SPACE(_MAX_DESCRIPTORS * array.array("i").itemsize)
    try:
        head, ancillary, _, _ = link.recvmsg(_LENGTH.size, space, socket.MSG_CMSG_CLOEXEC)
    except OSError as error:
        raise ConnectionLost(f"the other side is gone: {error.strerror}") from error
    descriptors = array.array("i")
    for level, kind, data in ancillary:
        if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
            descriptors.frombytes(data[: len(data) // descriptors.itemsize * descriptors.itemsize])
    return head, tuple(descriptors)


def _receive_exactly(link: socket.socket, size: int, deadline_s: float) -> bytes:
    data = bytearray()
    while len(data) < size:
        _wait(link, select.POLLIN, deadline_s, "stalls within a frame")
        try:
            piece = link.recv(min(size - len(data), _PIECE_BYTES), socket.MSG_DONTWAIT)
        except BlockingIOError:
            continue
        except OSError as error:
            raise ConnectionLost(f"the other side is gone: {error.strerror}") from error
        if not piece:
            raise ConnectionLost("the other side ended within a frame")
        data += piece
    return bytes(data)


def _wait(link: socket.socket, event: int, deadline_s: float, complaint: str) -> None:
    poll = select.poll()
    poll.register(link, event)
    if not poll.poll(max(0.0, deadline_s - time.monotonic()) * 1e3):
        raise ConnectionLost(f"the other side {complaint}")
