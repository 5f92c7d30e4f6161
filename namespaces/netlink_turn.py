"""NetlinkTurn: who may talk on a netlink socket now, and a socket left without answers that nobody waits for.

An exchange is a send and the answers to it. Threads that share a socket take turns, an exchange each; what an
exchange numbers, it numbers within its turn. Knows the kernel's socket, no message.
"""

from __future__ import annotations

import contextlib
import socket
import time
from collections.abc import Iterator

from netlab.namespaces.netlink_ack import refusal

__all__ = ["FREE", "REPLY_BYTES", "NetlinkTurn"]

REPLY_BYTES = 1 << 16
FREE = (True,)
"""What ``NetlinkTurn.free`` holds while it is nobody's turn."""

_POLL_S = 50e-6
_LOST_S = 10.0


class NetlinkTurn:
    """The turns on one socket.

    Attributes:
        free: Holds one element while it is nobody's turn; who pops it has the turn. Not a Lock, since CPython
            3.11 reads the clock to take one, which is a system call in a guest kernel and half as dear as
            the whole exchange.
    """

    __slots__ = ("_socket", "free")

    def __init__(self, kernel_socket: socket.socket) -> None:
        self._socket = kernel_socket
        self.free = list(FREE)

    @contextlib.contextmanager
    def held(self, attempt: str) -> Iterator[None]:
        """Have the turn; an exchange that is broken off leaves no answer behind.

        Args:
            attempt: What the exchange tries, in a phrase that follows "cannot".

        Raises:
            KernelError: The socket fails.
        """
        self.take()
        try:
            yield
        except OSError as error:
            self.drain()
            raise refusal(attempt, error.errno or 0) from error
        except BaseException:
            self.drain()
            raise
        finally:
            self.free[:] = FREE

    def take(self) -> None:
        """Wait until no other thread is between its send and its last answer; a matter of microseconds.

        Who has taken the turn gives it back with ``free[:] = FREE``.
        """
        deadline_s = time.monotonic() + _LOST_S
        while time.monotonic() < deadline_s:
            with contextlib.suppress(IndexError):
                self.free.pop()
                return
            time.sleep(_POLL_S)
        # No exchange takes this long: a Ctrl-C fell between taking the turn and the block that gives it back.
        self.drain()

    def drain(self) -> None:
        """Throw away answers that nobody waits for any more, so that the next one read is the right one."""
        with contextlib.suppress(OSError):
            while True:
                self._socket.recv(REPLY_BYTES)
