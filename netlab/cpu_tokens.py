"""CpuTokens: the virtual CPUs of a lab's host, N tokens of which a computation holds one while it lasts.

Ground: standard library only.

::

    make(2) -> semaphore [2] --take--> [1] --take--> [0] --take--> waits, first come first served
                             <-give--      <-give--      <- the kernel gives back what a dead process held

A System V semaphore, because its SEM_UNDO is what survives kill -9: of a byte in a pipe the kernel knows no
owner, and a lock on a file knows no "any one of these". Waiters are woken in the order they came, at once and
without polling, so that in virtual time the sum of the waits is exact.
"""

from __future__ import annotations

import ctypes
import errno
import os

__all__ = ["MAX_TOKENS", "TOKENS_VARIABLE", "CpuTokens"]

TOKENS_VARIABLE = "NETLAB_CPU_TOKENS"
"""Names the semaphore of the host that a program runs in."""

MAX_TOKENS = 1024

_IPC_PRIVATE, _IPC_RMID, _SETVAL = 0, 0, 16
_OWNER_MAY = 0o600
_SEM_UNDO = 0x1000

_libc = ctypes.CDLL(None, use_errno=True)


class _Operation(ctypes.Structure):
    """``struct sembuf``."""

    _fields_ = (("number", ctypes.c_ushort), ("change", ctypes.c_short), ("flags", ctypes.c_short))


class CpuTokens:
    """The tokens of one host.

    Args:
        number: Of the semaphore, as the kernel has numbered it.
    """

    def __init__(self, number: int) -> None:
        self._number = number

    @classmethod
    def make(cls, count: int) -> CpuTokens:
        """Make so many tokens; they last until ``close``, or as long as this kernel.

        Raises:
            ValueError: Not 1 .. 1024.
            OSError: The kernel has no room for them.
        """
        if not 1 <= count <= MAX_TOKENS:
            raise ValueError(f"{count} virtual CPUs: 1 .. {MAX_TOKENS}")
        number = _check(_libc.semget(_IPC_PRIVATE, 1, _OWNER_MAY))
        tokens = cls(number)
        try:
            _check(_libc.semctl(number, 0, _SETVAL, ctypes.c_int(count)))
        except BaseException:
            tokens.close()
            raise
        return tokens

    @classmethod
    def of_this_host(cls) -> CpuTokens | None:
        """Return the tokens of the host we run in; None where it has none: then nobody need wait for anybody."""
        number = os.environ.get(TOKENS_VARIABLE, "")
        return cls(int(number)) if number.isdecimal() else None

    @property
    def variables(self) -> dict[str, str]:
        """What the programs of the host must find in their environment."""
        return {TOKENS_VARIABLE: str(self._number)}

    def take(self) -> None:
        """Take a token; wait for one where all are taken.

        Raises:
            OSError: They are closed.
        """
        self._operate(-1)

    def give(self) -> None:
        """Give back a token that we have taken.

        Raises:
            OSError: They are closed.
        """
        self._operate(+1)

    def close(self) -> None:
        """Do away with them; a second time does nothing."""
        number, self._number = self._number, -1
        if number >= 0:
            _libc.semctl(number, 0, _IPC_RMID)

    def _operate(self, change: int) -> None:
        operation = _Operation(0, change, _SEM_UNDO)
        while True:
            try:
                _check(_libc.semop(self._number, ctypes.byref(operation), ctypes.c_size_t(1)))
            except OSError as error:
                if error.errno != errno.EINTR:
                    raise
                continue  # Python has run its signal handlers before we come here again
            return


def _check(result: int) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return int(result)
