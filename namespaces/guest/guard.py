"""Guard: the process between netlab and a command (make, tar, dpkg-deb), so that all below it ends with us.

::

    netlab --pipe (the lifeline)--> guard --own session--> make --> make --> cc
              its end means that netlab is gone       `- killed as one group, then reaped

A parent-death signal would reach the first make alone: those below it go on with what they have been given.
Runs in an interpreter of its own (``entry.py guard FD ARGV...``), since netlab may have threads. Standard
library only. Its other end is ``guarded_command.py``; what does the same for a guest kernel, whose children
leave the group, is ``supervisor.py``.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import sys

from netlab.namespaces import syscalls

__all__ = ["NOT_STARTED", "main"]

NOT_STARTED = 127
"""Exit status where the command cannot be started, as a shell has it."""

_IGNORED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)


def main(lifeline_fd: int, argv: list[str]) -> None:
    """Run a command until it or the lifeline ends; exit as it did (128 + n for signal n)."""
    for number in _IGNORED:
        signal.signal(number, signal.SIG_IGN)
    syscalls.set_subreaper()
    try:
        command = subprocess.Popen(
            argv,
            stdin=subprocess.DEVNULL,
            start_new_session=True,
            preexec_fn=_begin_command,  # noqa: PLW1509 - this process has no threads
        )
    except OSError as error:
        print(f"{argv[0]}: {error.strerror}", file=sys.stderr)
        sys.exit(NOT_STARTED)
    poll = select.poll()
    poll.register(lifeline_fd, select.POLLIN)  # nothing is ever written: readable means the end
    poll.register(os.pidfd_open(command.pid), select.POLLIN)
    poll.poll()
    with contextlib.suppress(ProcessLookupError):
        os.killpg(command.pid, signal.SIGKILL)  # before it is reaped: the number is still its own
    status = command.wait()
    with contextlib.suppress(ChildProcessError):
        while True:
            os.waitpid(-1, 0)
    sys.exit(128 - status if status < 0 else status)


def _begin_command() -> None:
    for number in _IGNORED:
        signal.signal(number, signal.SIG_DFL)
    syscalls.die_with_parent_thread()
