"""EndSignals: how a holder is told to end: at once while the lab is being made, in order afterwards."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import threading
from collections.abc import Iterator
from types import FrameType

__all__ = ["EndSignals", "GivenUp"]


class GivenUp(BaseException):
    """Raised in the main thread when the lab that is being made is no longer wanted."""


class EndSignals:
    """SIGTERM and SIGINT of the holder; made in its main thread.

    A handler may take no lock, which rules out an Event: it runs wherever the main thread happens to be, in
    the middle of that Event's own ``wait`` for instance.
    """

    def __init__(self) -> None:
        self._is_ended = False
        # Rung by the C half of a handler: the kernel may give a signal to a thread that is not the main one.
        self._heard, bell = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        signal.set_wakeup_fd(bell, warn_on_full_buffer=False)
        self._may_break_off = False
        self._main = threading.get_ident()
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._take)
        for number in (signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2):
            signal.signal(number, signal.SIG_IGN)

    def send(self) -> None:
        """Tell the main thread; from any thread."""
        signal.pthread_kill(self._main, signal.SIGTERM)

    def wait(self) -> None:
        """Wait, in the main thread, until it is to end."""
        poll = select.poll()
        poll.register(self._heard, select.POLLIN)
        while not self._is_ended:
            poll.poll()
            os.read(self._heard, 4096)

    @contextlib.contextmanager
    def breaking_off(self) -> Iterator[None]:
        """Let a signal break off what is done inside.

        Raises:
            GivenUp: A signal has come.
        """
        self._may_break_off = True
        try:
            if self._is_ended:
                raise GivenUp
            yield
        finally:
            self._may_break_off = False

    def _take(self, number: int, frame: FrameType | None) -> None:
        self._is_ended = True
        if self._may_break_off:
            self._may_break_off = False  # once: what follows is cleaning up
            raise GivenUp
