"""ProcessIdentity: which process it was, so that another with its number is never taken for it.

A number alone is soon another's. With the moment it started, the boot and the PID namespace it was counted
in, it names one process for good. Knows nothing of labs.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket
from pathlib import Path
from typing import Self

from msgspec import Struct

from netlab.errors import LabError
from netlab.namespaces.unix_peer import unix_peer

__all__ = ["ProcessIdentity"]

# Of /proc/PID/stat, counted behind the name, which may hold spaces and brackets.
_STATE, _START = 0, 19
_DEAD_STATES = ("Z", "X")


class ProcessIdentity(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One process.

    Attributes:
        pid: Its number.
        start_ticks: When it started, in clock ticks since boot, as /proc/PID/stat has it.
        boot_id: The boot of the machine.
        pid_space: Inode of the PID namespace in which ``pid`` is its number.
    """

    pid: int
    start_ticks: int
    boot_id: str
    pid_space: int

    @classmethod
    def own(cls) -> Self:
        """Return that of the process we are."""
        return cls._of(os.getpid())

    @classmethod
    def at_the_other_end(cls, link: socket.socket) -> Self:
        """Return that of the process which listens at the other end of a unix socket.

        Raises:
            LabError: It has ended.
        """
        return cls._of(unix_peer(link).pid)

    @classmethod
    def _of(cls, pid: int) -> Self:
        fields = _stat(pid)
        if not fields:
            raise LabError(f"process {pid} has ended")
        start_ticks = int(fields[_START])
        return cls(pid=pid, start_ticks=start_ticks, boot_id=_boot_id(), pid_space=_own_pid_space())

    @property
    def is_ours_to_see(self) -> bool:
        """Whether it was counted in our PID namespace: of another's processes we can tell nothing."""
        return self.pid_space == _own_pid_space()

    def is_alive(self) -> bool:
        """Tell whether it runs; one that is dead and not yet buried does not."""
        fields = self._stat()
        return bool(fields) and fields[_STATE] not in _DEAD_STATES

    def children(self) -> list[Self]:
        """Return its children that live now."""
        found = []
        for path in Path(f"/proc/{self.pid}/task").glob("*/children"):
            with contextlib.suppress(OSError):
                for pid in path.read_text(encoding="ascii").split():
                    with contextlib.suppress(LabError):
                        found.append(self._of(int(pid)))
        return found if self.is_alive() else []

    def wait(self, timeout_s: float) -> bool:
        """Wait until it has ended, all of its threads, and let go of its files; False when time is up first."""
        fd = self._open()
        if fd < 0:
            return True
        try:
            poll = select.poll()  # select takes no descriptor beyond 1023
            poll.register(fd, select.POLLIN)
            return bool(poll.poll(timeout_s * 1e3))
        finally:
            os.close(fd)

    def send_signal(self, number: int) -> None:
        """Signal it; nothing where it is dead.

        Raises:
            PermissionError: It is not ours to signal.
        """
        fd = self._open()
        if fd < 0:
            return
        try:
            signal.pidfd_send_signal(fd, number)
        except ProcessLookupError:
            pass
        finally:
            os.close(fd)

    def _open(self) -> int:
        """Return a descriptor of the process itself, not of its number; -1 where it has ended."""
        try:
            fd = os.pidfd_open(self.pid)
        except ProcessLookupError:
            return -1
        # Asked with the descriptor held: this number cannot change hands any more. Its first thread may be dead,
        # and the others not yet.
        if self._stat():
            return fd
        os.close(fd)
        return -1

    def _stat(self) -> list[str]:
        """Return what /proc/PID/stat says of it behind the name; nothing where its number is another's."""
        fields = _stat(self.pid) if self.boot_id == _boot_id() else []
        return fields if fields and int(fields[_START]) == self.start_ticks else []


def _stat(pid: int) -> list[str]:
    """Return what /proc/PID/stat says behind the name; nothing where there is no such process."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
    except OSError:
        return []


def _boot_id() -> str:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:  # hidden by a sandbox: the start time has to do
        return ""


def _own_pid_space() -> int:
    return os.stat("/proc/self/ns/pid").st_ino  # noqa: PTH116 - a link of the kernel's
