"""UnixPeer: who is at the other end of a unix socket, as the kernel wrote it down when the two were connected."""

from __future__ import annotations

import socket
import struct
from typing import NamedTuple

__all__ = ["UnixPeer", "unix_peer"]

_CREDENTIALS = struct.Struct("=iII")


class UnixPeer(NamedTuple):
    """A process and its rights, in our namespaces' numbers.

    Attributes:
        pid: The process; 0 where it is in another PID namespace.
        user_id: Its effective user.
        group_id: Its effective group.
    """

    pid: int
    user_id: int
    group_id: int


def unix_peer(link: socket.socket) -> UnixPeer:
    """Return who connected a unix socket, or who listened for it.

    Raises:
        OSError: The socket is no connected one.
    """
    data = link.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    return UnixPeer(*_CREDENTIALS.unpack(data))
