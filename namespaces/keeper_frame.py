"""Frames between netlab and a lab's keeper: JSON, descriptors, and a pid that the kernel translates.

::

    | length u32 | JSON ... |      descriptors (SCM_RIGHTS) and a pid (SCM_CREDENTIALS) ride on the first byte

Standard library alone: the keeper loads it. Arguments and environments are bytes, sent as latin-1 text.
"""

from __future__ import annotations

import json
import os
import socket
import struct
from collections.abc import Sequence
from typing import Any

from netlab.namespaces.passed_descriptors import close_all, pack_descriptors, unpack_descriptors

__all__ = ["MAX_FRAME_BYTES", "FrameError", "receive_frame", "send_frame"]

MAX_FRAME_BYTES = 8 << 20
"""More than the kernel takes as arguments and environment of one program."""
MAX_DESCRIPTORS = 4
_LENGTH = struct.Struct("=I")
_CREDENTIALS = struct.Struct("=iII")


class FrameError(Exception):
    """Raised when the other side of the socket sends what is no frame."""


def send_frame(
    link: socket.socket, message: dict[str, Any], descriptors: Sequence[int] = (), pid: int | None = None
) -> None:
    """Send one frame.

    Args:
        link: A connected stream socket of the unix family.
        message: What JSON can say.
        descriptors: Duplicated into the receiver.
        pid: A process of ours whose number the kernel translates for the receiver.

    Raises:
        FrameError: Longer than a frame may be.
        OSError: The other side is gone.
    """
    body = json.dumps(message, separators=(",", ":")).encode("ascii")
    if len(body) > MAX_FRAME_BYTES:
        raise FrameError(f"a frame of {len(body)} bytes: at most {MAX_FRAME_BYTES}")
    ancillary = pack_descriptors(descriptors)
    if pid is not None:
        credentials = _CREDENTIALS.pack(pid, os.geteuid(), os.getegid())
        ancillary.append((socket.SOL_SOCKET, socket.SCM_CREDENTIALS, credentials))
    link.sendmsg([_LENGTH.pack(len(body))], ancillary)
    link.sendall(body)


def receive_frame(link: socket.socket) -> tuple[dict[str, Any], list[int], int | None] | None:
    """Receive one frame: the message, its descriptors (close-on-exec), the sender's pid as seen from here.

    Returns:
        None at end of file. No descriptors where we have no room for all of them: half of them are of no use.

    Raises:
        FrameError: What came is no frame.
        OSError: The socket failed.
    """
    space = socket.CMSG_SPACE(4 * MAX_DESCRIPTORS) + socket.CMSG_SPACE(_CREDENTIALS.size)
    head, ancillary, flags, _ = link.recvmsg(_LENGTH.size, space, socket.MSG_CMSG_CLOEXEC)
    descriptors, is_short = unpack_descriptors(ancillary, flags)
    if is_short:
        close_all(descriptors)
        descriptors = []
    pid = None
    for level, kind, data in ancillary:
        if level == socket.SOL_SOCKET and kind == socket.SCM_CREDENTIALS:
            pid = _CREDENTIALS.unpack(data)[0]
    if not head:
        return None
    head += _receive_exactly(link, _LENGTH.size - len(head))
    length = _LENGTH.unpack(head)[0]
    if length > MAX_FRAME_BYTES:
        raise FrameError(f"a frame of {length} bytes: at most {MAX_FRAME_BYTES}")
    message = json.loads(_receive_exactly(link, length))
    if not isinstance(message, dict):
        raise FrameError("a frame that is no object")
    return message, descriptors, pid


def _receive_exactly(link: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        piece = link.recv(size - len(data))
        if not piece:
            raise FrameError("the socket ended within a frame")
        data += piece
    return data
