"""GuestEnds: the descriptors of one guest, and the supervisor that is started with the other ends of them.

::

    link <--socket--> supervisor       log, output, errors <--pipes-- consoles of the guest
                                       control <--socket--> its control console

Opens and starts; what is said over them is the session's and the supervisor's business.
"""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

__all__ = ["ENTRY", "GuestEnds", "open_ends"]

ENTRY = str(Path(__file__).with_name("entry.py"))
"""What supervisor and pid 1 are started by."""


class GuestEnds(NamedTuple):
    """What was made to start a guest.

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

    link: socket.socket
    supervisor: int
    supervisor_pid_fd: int
    control: socket.socket
    log: int
    output: int
    errors: int
    theirs: tuple[int, int, int, int]
    spool: int


def open_ends(stack: contextlib.ExitStack, spooled: int | None) -> GuestEnds:
    """Make the descriptors of a guest and start the supervisor with its ends of them.

    Args:
        stack: Closes what is made here.
        spooled: Input that the supervisor is to read; None for none.
    """
    link, far_link = socket.socketpair()
    control, far_control = socket.socketpair()
    control.setblocking(False)
    pipes = [os.pipe2(os.O_CLOEXEC) for _ in range(3)]
    for read_end, _ in pipes:
        os.set_blocking(read_end, False)
        stack.callback(os.close, read_end)
    theirs = (pipes[0][1], pipes[1][1], pipes[2][1], far_control.fileno())
    # A copy: it may be descriptor 0, which is the supervisor's own.
    spool = () if spooled is None else (os.dup(spooled),)
    stack.callback(control.close)
    try:
        supervisor = subprocess.Popen(
            [sys.executable, "-IS", ENTRY, "supervise", str(far_link.fileno())],
            pass_fds=(*theirs, far_link.fileno(), *spool),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            cwd="/",
            start_new_session=True,
        )
    finally:
        far_link.close()
        far_control.close()
        for fd in (*theirs[:3], *spool):
            os.close(fd)
    stack.callback(supervisor.wait)
    pid_fd = os.pidfd_open(supervisor.pid)
    stack.callback(os.close, pid_fd)
    stack.callback(link.close)  # first of all: it is what the supervisor waits for
    log, output, errors = (read_end for read_end, _ in pipes)
    return GuestEnds(link, supervisor.pid, pid_fd, control, log, output, errors, theirs, *(spool or (-1,)))
