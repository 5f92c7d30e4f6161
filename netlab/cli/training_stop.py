"""TrainingStop: what signals do to a training run: the first ends it after its iteration, a later one at once."""

from __future__ import annotations

import time
from collections.abc import Callable

__all__ = ["TrainingStop"]

_APART_S = 1.0
"""Two signals closer than this are one: a program in between may hand on what the terminal has sent already."""


class TrainingStop:
    """Takes signals' names, in a signal handler.

    Args:
        stop: Ends the run in order.
    """

    def __init__(self, stop: Callable[[str], None]) -> None:
        self._stop = stop
        self._first_s: float | None = None

    def __call__(self, reason: str) -> None:
        """Take note of the first signal.

        Raises:
            KeyboardInterrupt: It is a second one, of somebody who does not want to wait for the iteration.
        """
        now_s = time.monotonic()
        if self._first_s is None:
            self._first_s = now_s
            self._stop(reason)
        elif now_s - self._first_s >= _APART_S:
            raise KeyboardInterrupt
