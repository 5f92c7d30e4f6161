"""EndSignals: how a holder is told to end: at once while the lab is being made, in order afterwards."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from types import FrameType

__all__ = ["EndSignals", "GivenUp"]


class GivenUp(BaseException):
    """Raised in the main thread when the lab that is being made is no longer wanted."""


class EndSignals:
    """SIGTERM and SIGINT of the holder; made in its main thread.

    Attributes:
        ended: Set once it is to end.
    """

    def __init__(self) -> None:
        self.ended = threading.Event()
        self._may_break_off = False
        self._main = threading.get_ident()
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._take)
        for number in (signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2):
            signal.signal(number, signal.SIG_IGN)

    def send(self) -> None:
        """Tell the main thread; from any thread."""
        signal.pthread_kill(self._main, signal.SIGTERM)

    @contextlib.contextmanager
    def breaking_off(self) -> Iterator[None]:
        """Let a signal break off what is done inside.

        Raises:
            GivenUp: A signal has come.
        """
        self._may_break_off = True
        try:
            if self.ended.is_set():
                raise GivenUp
            yield
        finally:
            self._may_break_off = False

    def _take(self, number: int, frame: FrameType | None) -> None:
        self.ended.set()
        if self._may_break_off:
            self._may_break_off = False  # once: what follows is cleaning up
            raise GivenUp
