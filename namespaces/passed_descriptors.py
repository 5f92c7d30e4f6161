"""Descriptors that ride along on a unix socket: how they are packed, and what of them has arrived.

Standard library alone: the keeper of a lab loads it. Knows no message.
Source: unix(7), cmsg(3): what does not fit into the receiver's table is dropped and MSG_CTRUNC says so.
"""

from __future__ import annotations

import array
import os
import socket
from collections.abc import Iterable, Sequence
from typing import NamedTuple

__all__ = ["Passed", "close_all", "pack_descriptors", "unpack_descriptors"]


class Passed(NamedTuple):
    """What came along with some bytes.

    Attributes:
        descriptors: Ours to close.
        is_short: Whether more was sent than the receiver has room for.
    """

    descriptors: list[int]
    is_short: bool


def pack_descriptors(descriptors: Sequence[int]) -> list[tuple[int, int, bytes]]:
    """Return what ``sendmsg`` takes to pass descriptors: nothing for none."""
    if not descriptors:
        return []
    return [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", descriptors).tobytes())]


def unpack_descriptors(ancillary: Iterable[tuple[int, int, bytes]], flags: int) -> Passed:
    """Return the descriptors in what ``recvmsg`` has returned.

    Args:
        ancillary: Its second value.
        flags: Its third.
    """
    numbers = array.array("i")
    for level, kind, data in ancillary:
        if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
            numbers.frombytes(data[: len(data) // numbers.itemsize * numbers.itemsize])
    return Passed(numbers.tolist(), bool(flags & socket.MSG_CTRUNC))


def close_all(descriptors: Iterable[int]) -> None:
    """Close descriptors that are ours."""
    for fd in descriptors:
        os.close(fd)
