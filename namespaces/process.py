"""HostProcess: a program that runs in a host of a lab.

Owns what netlab knows of it: pid, exit status, the end of its output. It must not know how it was started or
who reports its death: ``PidSpace`` does both.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Sequence
from typing import Protocol

from netlab.errors import LabError, SpecError
from netlab.namespaces.process_output import ProcessOutput, last_lines

__all__ = ["HostProcess", "SignalSender"]

DEFAULT_GRACE_S = 2.0
_KILL_TIMEOUT_S = 10.0
_LINES_SHOWN = 20


class SignalSender(Protocol):
    """Who can signal a process without ever hitting another that has its number."""

    def send_signal(self, number: int, signal_number: int, group: bool) -> None:
        """Signal process ``number`` of the lab's books; nothing where it is dead."""
        ...


class HostProcess:
    """A program in a host.

    Attributes:
        label: What messages call it, for example ``agent: python3``.
        argv: The program and its arguments.
        pid: Its process id as netlab's own PID namespace sees it.
        output: Where its stdout and stderr go.
    """

    def __init__(
        self, label: str, argv: Sequence[str], output: ProcessOutput, number: int, sender: SignalSender
    ) -> None:
        self.label = label
        self.argv = tuple(argv)
        self.pid = 0
        self.output = output
        self._number = number
        self._sender = sender
        self._changed = threading.Condition()
        self._status: int | None = None
        self._problem: LabError | None = None
        self._ending = False

    def poll(self) -> int | None:
        """Return its exit status, -N when signal N killed it; None while it runs.

        Raises:
            LabError: The lab's keeper died and took it along.
        """
        with self._changed:
            if self._problem is not None:
                raise self._problem
            return self._status

    def wait(self, timeout_s: float | None = None) -> int:
        """Wait for its end and return its exit status, -N when signal N killed it.

        Raises:
            LabError: It still runs after ``timeout_s``, or the lab's keeper died and took it along.
        """
        with self._changed:
            if not self._changed.wait_for(
                lambda: self._status is not None or self._problem is not None, timeout_s
            ):
                raise LabError(f"{self.label} (pid {self.pid}) still runs after {timeout_s:g} s")
        status = self.poll()
        assert status is not None
        return status

    def check(self) -> None:
        """Do nothing as long as it runs, ended well, or was ended by us.

        Raises:
            LabError: It died: its exit status and last lines.
        """
        status = self.poll()
        if status not in (None, 0) and not self._ending:
            assert status is not None
            how = f"was killed by {_signal_name(-status)}" if status < 0 else "failed"
            raise LabError(f"{self.label} (pid {self.pid}) {how}", status, self.last_lines())

    def last_lines(self, count: int = _LINES_SHOWN) -> str:
        """Return the end of what it printed; nothing where its output was not kept."""
        return last_lines(self.output.tail(), count)

    def send_signal(self, signal_number: int, group: bool = False) -> None:
        """Signal it, or every process of its group; nothing where it is dead already.

        Raises:
            SpecError: There is no signal of this number.
        """
        _check_signal(signal_number)
        if self._status is None:
            self._sender.send_signal(self._number, signal_number, group)

    def terminate(self) -> None:
        """Ask it and its group to end, once; what is left of the group when it has ended is killed."""
        if not self._ending:
            self._ending = True
            self.send_signal(signal.SIGTERM, group=True)

    def kill(self) -> None:
        """End it and its group at once."""
        self._ending = True
        self.send_signal(signal.SIGKILL, group=True)

    def close(self, grace_s: float = DEFAULT_GRACE_S) -> None:
        """End it: SIGTERM, and SIGKILL when it has not ended within the grace; then wait for it.

        Raises:
            LabError: Not even SIGKILL ended it, or the lab's keeper died.
        """
        if self.poll() is not None:
            return
        self.terminate()
        with self._changed:
            ended = self._changed.wait_for(lambda: self._status is not None or self._problem is not None, grace_s)
        if not ended:
            self.kill()
        self.wait(_KILL_TIMEOUT_S)

    def note_started(self, pid: int) -> None:
        """Take its pid from the keeper's report; called by the PID space alone."""
        with self._changed:
            self.pid = pid
            self._changed.notify_all()

    def note_ended(self, status: int) -> None:
        """Take its exit status from the keeper's report; called by the PID space alone."""
        with self._changed:
            self._status = status
            self._changed.notify_all()

    def note_lost(self, problem: LabError) -> None:
        """Learn that nobody will ever report its end; called by the PID space alone."""
        with self._changed:
            if self._status is None and self._problem is None:
                self._problem = problem
                self._changed.notify_all()


def _check_signal(number: object) -> None:
    if not isinstance(number, int) or isinstance(number, bool) or not 0 < number < signal.NSIG:
        rule = f"must be a signal's number, 1 .. {signal.NSIG - 1}"
        raise SpecError(f"{number!r:.80}: {rule}", key="signal_number", hint="for example signal.SIGTERM")


def _signal_name(number: int) -> str:
    """Return a signal's name; of the real-time signals only the first and the last have one."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
