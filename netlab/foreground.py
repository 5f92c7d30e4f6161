"""Foreground: runs a program as if netlab were not between it and the terminal.

With a terminal, the program stays in our session and process group: Ctrl-C, Ctrl-Z, ``fg`` and pipelines work
as they do for any program, since the terminal itself signals the whole group. Without one it has a session of
its own, and what we are signalled is passed on, once.
"""

from __future__ import annotations

import contextlib
import errno
import os
import signal
import threading
from types import FrameType, TracebackType
from typing import Any, Self

from netlab.errors import KernelError
from netlab.namespaces.process import HostProcess

__all__ = ["Foreground", "exit_code_of_no_start", "ignored_signals"]

_FROM_TERMINAL = (signal.SIGINT, signal.SIGQUIT)
_PASSED_ON = (*_FROM_TERMINAL, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2)
# Ignored by every Python, whatever it was started with.
_PYTHONS_OWN = (signal.SIGPIPE, signal.SIGXFSZ)


def ignored_signals() -> frozenset[int]:
    """Return the signals we were started with ignored (nohup), so that a program can be started likewise."""
    return frozenset(
        int(number)
        for number in signal.valid_signals()
        if number not in _PYTHONS_OWN and signal.getsignal(number) is signal.SIG_IGN
    )


def exit_code_of_no_start(error: KernelError) -> int:
    """Return what a shell ends with where a program cannot be started: 127 not found, 126 not executable."""
    return 127 if error.errno == errno.ENOENT else 126


class Foreground:
    """Signals and the terminal while a program runs; restores both.

    Attributes:
        has_terminal: Whether we have a controlling terminal.
    """

    def __init__(self) -> None:
        self._terminal_fd = -1
        self._was_in_front = False
        self._handlers: dict[signal.Signals, Any] = {}
        self._process: HostProcess | None = None
        self._early: list[int] = []
        with contextlib.suppress(OSError):
            self._terminal_fd = os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC)
            self._was_in_front = os.tcgetpgrp(self._terminal_fd) == os.getpgrp()
        self.has_terminal = self._terminal_fd >= 0

    def watch(self, process: HostProcess) -> None:
        """Pass signals on to this program from now on, those included that came while it started."""
        self._process = process
        for number in self._early:
            process.send_signal(number, group=True)

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            for number in _PASSED_ON:
                if signal.getsignal(number) is not signal.SIG_IGN:
                    self._handlers[number] = signal.signal(number, self._handle)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._handlers.items():
            signal.signal(number, handler)
        if self._terminal_fd >= 0:
            if self._was_in_front:
                self._come_back_to_front()
            os.close(self._terminal_fd)
            self._terminal_fd = -1

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if self.has_terminal and number in _FROM_TERMINAL:
            return  # the terminal has told the program as well
        if self._process is None:
            self._early.append(number)
        else:
            self._process.send_signal(number, group=True)

    def _come_back_to_front(self) -> None:
        """Take the terminal back from a program that took it (a shell does) and has ended."""
        old = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTTOU})
        try:
            with contextlib.suppress(OSError):
                if os.tcgetpgrp(self._terminal_fd) != os.getpgrp():
                    os.tcsetpgrp(self._terminal_fd, os.getpgrp())
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, old)
