"""Run one command in a host of a lab that stays: what ``netlab lab exec`` does.

::

    we: terminal, streams, folder, environment --RunCommand + stdin, stdout, stderr--> holder --> program
        signals we get ----------------------------------------- SignalCommand ------------------> its group
        our exit status <-------------------------------- CommandEnded --------------------------- its own

The program is the lab's: it ends with it. It ends with us as well, however we end: the holder sees that.
"""

from __future__ import annotations

import os
import select
import signal
import socket
from collections.abc import Sequence
from types import FrameType, TracebackType
from typing import Any, Self

from netlab.foreground import ignored_signals
from netlab.holder.client import connect, hear, tell, unexpected
from netlab.holder.directory import LabDirectory
from netlab.holder.messages import CommandEnded, RunCommand, SignalCommand, Started
from netlab.holder.terminal import LabTerminal
from netlab.working_folder import working_folder

__all__ = ["run_in_lab"]

_PASSED_ON = (
    signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2,
)  # fmt: skip
_START_WITHIN_S = 60.0


def run_in_lab(name: str, host: str, command: Sequence[str]) -> int:
    """Run a command in a host of a lab, with our terminal, streams, folder and environment.

    Args:
        name: Name or id of the lab.
        host: Name of the host.
        command: Program and arguments.

    Returns:
        Its exit status; 128 + N when signal N killed it.

    Raises:
        SpecError: There is no such lab or host, or the folder we are in has been deleted.
        LabError: The lab is dead, ends meanwhile or does not answer.
        NetlabError: The command cannot be started; ``exit_code`` is then as a shell's, 127 or 126.
    """
    directory = LabDirectory.of_this_user()
    record = directory.find_alive(name)
    ignored = ignored_signals()
    _open_missing_streams()
    with connect(directory.folder.path / record.id) as link, _Signals() as signals:
        request = RunCommand(
            host=host,
            argv=[os.fsencode(word) for word in command],
            env=[(os.fsencode(name), os.fsencode(value)) for name, value in os.environ.items()],
            cwd=os.fsencode(working_folder()),
            ignored_signals=sorted(ignored),
            terminal=LabTerminal.is_possible(),
        )
        if not request.terminal:
            return _Session(link, signals, None, record.name).run(request)
        with LabTerminal() as terminal:
            return _Session(link, signals, terminal, record.name).run(request)


class _Session:
    """One command, from its start to its end."""

    def __init__(self, link: socket.socket, signals: _Signals, terminal: LabTerminal | None, lab: str) -> None:
        self._link = link
        self._signals = signals
        self._terminal = terminal
        self._lab = lab
        self._pid = 0

    def run(self, request: RunCommand) -> int:
        tell(self._link, self._lab, request, self._streams(), within_s=_START_WITHIN_S)
        reply = hear(self._link, self._lab, _START_WITHIN_S)
        if not isinstance(reply, Started):
            raise unexpected(self._lab, reply)
        self._pid = reply.pid
        if self._terminal is not None:
            self._terminal.let_go()
        status = self._follow()
        return status if status >= 0 else 128 - status

    def _streams(self) -> list[int]:
        if self._terminal is None:
            return [0, 1, 2]
        far_fd = self._terminal.far_fd
        return [far_fd, far_fd, far_fd if os.isatty(2) else 2]

    def _follow(self) -> int:
        poll = select.poll()
        poll.register(self._link, select.POLLIN)
        poll.register(self._signals.fd, select.POLLIN)
        while True:
            look_again_ms = self._terminal.watch(poll) if self._terminal is not None else None
            ready = dict(poll.poll(look_again_ms))
            if self._terminal is not None and self._terminal.pump(ready, self._pid):
                self._stop()
            if self._signals.fd in ready:
                for number in self._signals.take():
                    self._obey(number)
            if self._link.fileno() in ready:
                reply = hear(self._link, self._lab, None)
                if not isinstance(reply, CommandEnded):
                    raise unexpected(self._lab, reply)
                if self._terminal is not None:
                    self._terminal.drain()
                return int(reply.status)

    def _obey(self, number: int) -> None:
        if number == signal.SIGWINCH:
            if self._terminal is not None:
                self._terminal.copy_size()
        elif number == signal.SIGTSTP:
            self._stop()
        elif number == signal.SIGCONT:
            if self._terminal is not None:
                self._terminal.take_over()
        else:
            self._signal(number)

    def _stop(self) -> None:
        """Stop the program and ourselves, as our shell expects; go on with it when we are let."""
        self._signal(signal.SIGSTOP)
        if self._terminal is not None:
            self._terminal.drain()
            self._terminal.give_back()
        # Without a terminal of its own, whoever is in our group has been told already.
        self._signals.stop_us(0 if self._terminal is not None else os.getpid())
        if self._terminal is not None:
            self._terminal.take_over()
        self._signal(signal.SIGCONT)

    def _signal(self, number: int) -> None:
        tell(self._link, self._lab, SignalCommand(int(number)))


class _Signals:
    """What we are signalled, to be read in our own time; afterwards all is as before.

    Attributes:
        fd: Readable when something has come.
    """

    def __init__(self) -> None:
        self.fd, self._bell = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        self._handlers: dict[int, Any] = {}
        self._old_bell = -1

    def take(self) -> bytes:
        """Return the numbers of the signals that have come."""
        return os.read(self.fd, 4096)

    def stop_us(self, target: int) -> None:
        """Stop as a program does that knows nothing of signals; return when we go on.

        Args:
            target: 0 for all of our group, a script we were started by included; our pid for us alone.
        """
        handler = signal.signal(signal.SIGTSTP, signal.SIG_DFL)
        os.kill(target, signal.SIGTSTP)
        signal.signal(signal.SIGTSTP, handler)

    def __enter__(self) -> Self:
        self._old_bell = signal.set_wakeup_fd(self._bell, warn_on_full_buffer=False)
        for number in (*_PASSED_ON, signal.SIGTSTP, signal.SIGCONT, signal.SIGWINCH):
            if signal.getsignal(number) is not signal.SIG_IGN:
                self._handlers[number] = signal.signal(number, _take_note)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._handlers.items():
            signal.signal(number, handler)
        signal.set_wakeup_fd(self._old_bell)
        os.close(self.fd)
        os.close(self._bell)


def _take_note(number: int, frame: FrameType | None) -> None:
    """Do nothing: the bell has rung."""


def _open_missing_streams() -> None:
    """Give the program nothing where we were started without a stream: there is no descriptor to hand over."""
    for fd in (0, 1, 2):
        try:
            os.fstat(fd)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
