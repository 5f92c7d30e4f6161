"""GuestEnds: the descriptors of one guest, and the supervisor that is started with the other ends of them.

::

    link <--socket--> supervisor       log, output, errors <--pipes-- consoles of the guest
                                       control <--socket--> its control console

Opens, starts, owns and closes; what is said over them is the session's and the supervisor's business.
"""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Self

__all__ = ["ENTRY", "GuestEnds"]

ENTRY = str(Path(__file__).with_name("entry.py"))
"""What supervisor and pid 1 are started by."""


class GuestEnds:
    """What was made to start a guest; a context manager, at whose end the supervisor has gone.

    Attributes:
        link: The lifeline.
        supervisor: The supervisor's process.
        supervisor_pid_fd: A descriptor of it.
        control: Our end of the control console.
        log: Our end of the kernel's messages.
        output: Our end of the command's output.
        errors: Our end of the command's errors.
        theirs: The numbers of the guest's ends: log, output, errors, control.
        spool: The number of the input that the supervisor is to read to its end; -1 for none.
    """

    def __init__(self, spooled: int | None) -> None:
        """Make the descriptors of a guest and start the supervisor with its ends of them.

        Args:
            spooled: Input that the supervisor is to read; None for none.

        Raises:
            OSError: No descriptors or processes left; then nothing of it stays.
        """
        with contextlib.ExitStack() as ours, contextlib.ExitStack() as theirs:
            self.link, far_link = _socket_pair(ours, theirs)
            self.control, far_control = _socket_pair(ours, theirs)
            self.control.setblocking(False)
            self.log, far_log = _pipe(ours, theirs)
            self.output, far_output = _pipe(ours, theirs)
            self.errors, far_errors = _pipe(ours, theirs)
            self.theirs = (far_log, far_output, far_errors, far_control.fileno())
            self.spool = -1 if spooled is None else _copy(spooled, theirs)
            supervisor = _start_supervisor(
                far_link.fileno(), (*self.theirs, *(() if spooled is None else (self.spool,)))
            )
            ours.callback(supervisor.wait)
            ours.callback(self.link.close)  # before the wait: it is what the supervisor waits for
            self.supervisor = supervisor.pid
            self.supervisor_pid_fd = os.pidfd_open(supervisor.pid)
            ours.callback(os.close, self.supervisor_pid_fd)
            self._ours = ours.pop_all()

    def close(self) -> None:
        """Have the supervisor end, wait for it and let go of all descriptors."""
        self._ours.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()


def _socket_pair(ours: contextlib.ExitStack, theirs: contextlib.ExitStack) -> tuple[socket.socket, socket.socket]:
    near, far = socket.socketpair()
    ours.callback(near.close)
    theirs.callback(far.close)
    return near, far


def _pipe(ours: contextlib.ExitStack, theirs: contextlib.ExitStack) -> tuple[int, int]:
    """Return both ends of a pipe; ours, to read, is non-blocking."""
    near, far = os.pipe2(os.O_CLOEXEC)
    ours.callback(os.close, near)
    theirs.callback(os.close, far)
    os.set_blocking(near, False)
    return near, far


def _copy(fd: int, theirs: contextlib.ExitStack) -> int:
    """Return a copy of a descriptor: it may be number 0, which is the supervisor's own."""
    copy = os.dup(fd)
    theirs.callback(os.close, copy)
    return copy


def _start_supervisor(far_link: int, handed_on: tuple[int, ...]) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-IS", ENTRY, "supervise", str(far_link)],
        pass_fds=(far_link, *handed_on),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        cwd="/",
        start_new_session=True,
    )
