"""EpisodeReturns: what finished episodes earned, while many environments run side by side."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

__all__ = ["RECENT", "EpisodeReturns"]

RECENT = 100
"""Over so many of the last finished episodes the mean is taken."""


class EpisodeReturns:
    """Sums the rewards of each environment's episode.

    Args:
        count: How many environments.
    """

    def __init__(self, count: int) -> None:
        self.finished = 0
        self._running = np.zeros(count, dtype=np.float64)
        self._recent: deque[float] = deque(maxlen=RECENT)

    @property
    def recent(self) -> tuple[float, ...]:
        """Return the returns of the last finished episodes, oldest first."""
        return tuple(self._recent)

    @property
    def mean(self) -> float | None:
        """Return the mean of those; None while no episode has ended."""
        return float(np.mean(self._recent)) if self._recent else None

    def add(self, rewards: NDArray[np.float32], done: NDArray[np.bool_]) -> None:
        """Take in one step of each environment, ``[n]`` each."""
        self._running += rewards
        if done.any():
            ended = np.flatnonzero(done)
            self._recent.extend(self._running[ended].tolist())
            self.finished += ended.size
            self._running[ended] = 0.0

    def forget_running(self) -> None:
        """Drop the episodes under way."""
        self._running[:] = 0.0

    def restore(self, finished: int, recent: Sequence[float]) -> None:
        """Set what has finished so far; episodes under way go on."""
        self.finished = finished
        self._recent = deque(recent, maxlen=RECENT)
