"""Signals that end a program in order instead of at once: a service that is told, a command that is unwound.

Ground: standard library only.

::

    SIGTERM, SIGINT, SIGHUP, SIGQUIT --stop_on_signals-----> stop(name): the service leaves its loop
    SIGTERM, SIGHUP ------------------unwound_by_signals---> Stopped, like Ctrl-C's KeyboardInterrupt
"""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator
from types import FrameType

__all__ = ["Stopped", "stop_on_signals", "unwound_by_signals"]

_ENDING = (signal.SIGTERM, signal.SIGINT)
# Only where nobody has them ignored: nohup and a shell's background jobs do.
_ENDING_TOO = (signal.SIGHUP, signal.SIGQUIT)
_UNWINDING = (signal.SIGTERM, signal.SIGHUP)


class Stopped(KeyboardInterrupt):
    """Raised where a signal has reached a command; whatever makes way for Ctrl-C makes way for it.

    Attributes:
        number: Of the signal.
    """

    def __init__(self, number: int) -> None:
        super().__init__(f"ended by {signal.Signals(number).name}")
        self.number = number


@contextlib.contextmanager
def stop_on_signals(stop: Callable[[str], None]) -> Iterator[None]:
    """Have SIGTERM, SIGINT, SIGHUP and SIGQUIT call ``stop`` while inside; afterwards all is as before.

    The last two are left alone where they are ignored (nohup). Only a process's main thread may ask for signals:
    in another one this does nothing.

    Args:
        stop: Told the signal's name, in a signal handler: it may do no more than take note.
    """

    def take_note(number: int, frame: FrameType | None) -> None:
        stop(signal.Signals(number).name)

    with _handled((*_ENDING, *_not_ignored(_ENDING_TOO)), take_note):
        yield


@contextlib.contextmanager
def unwound_by_signals() -> Iterator[None]:
    """Have SIGTERM and SIGHUP raise ``Stopped`` while inside, once: what follows must not disturb the unwinding.

    One that is ignored stays so (nohup). In another thread than the main one this does nothing.

    Raises:
        Stopped: One of them has come.
    """
    come: list[int] = []

    def leave(number: int, frame: FrameType | None) -> None:
        if not come:
            come.append(number)
            raise Stopped(number)

    with _handled(_not_ignored(_UNWINDING), leave):
        yield


def _not_ignored(numbers: tuple[signal.Signals, ...]) -> tuple[signal.Signals, ...]:
    return tuple(number for number in numbers if signal.getsignal(number) is not signal.SIG_IGN)


@contextlib.contextmanager
def _handled(
    numbers: tuple[signal.Signals, ...], handler: Callable[[int, FrameType | None], None]
) -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.signal(number, handler) for number in numbers}
    try:
        yield
    finally:
        for number, old in before.items():
            signal.signal(number, old)
