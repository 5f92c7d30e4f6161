"""AgeWindow: mean and deviation of the ages that edges measured, over the newest observations of many rows.

Sums are whole numbers, so a value that leaves the window takes away exactly what it brought.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["AgeWindow"]


class AgeWindow:
    """Hold the ages of the last ``length`` observations of each row.

    Args:
        rows: N.
        length: Observations that count.
        most_ticks: Ages above count as this.
    """

    def __init__(self, rows: int, length: int, most_ticks: int) -> None:
        self._length = length
        self._most_ticks = most_ticks
        self._ages = np.full(rows * length, -1)
        self._added = np.zeros(rows, np.int64)
        self._count = np.zeros(rows, np.int64)
        self._sum = np.zeros(rows, np.int64)
        self._squares = np.zeros(rows, np.int64)

    def reset(self, rows: NDArray[np.intp]) -> None:
        """Forget all of some rows ``[m]``."""
        self._ages.reshape(-1, self._length)[rows] = -1
        for column in (self._added, self._count, self._sum, self._squares):
            column[rows] = 0

    def add(self, rows: NDArray[np.intp], ages_ticks: NDArray[np.int64]) -> None:
        """Take in an age of some rows, both ``[m]``; -1 (none yet) takes a place and counts for nothing."""
        added = self._added[rows]
        places = rows * self._length + added % self._length
        new = np.minimum(ages_ticks, self._most_ticks)
        old = self._ages[places]
        self._ages[places] = new
        self._added[rows] = added + 1
        # Of an age of -1 the sign after it is 0; every other counts 1.
        self._count[rows] += np.sign(new + 1) - np.sign(old + 1)
        new, old = np.maximum(new, 0), np.maximum(old, 0)
        self._sum[rows] += new - old
        self._squares[rows] += new * new - old * old

    def mean_and_sd(self, rows: NDArray[np.intp]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return mean (-1 without any age yet) and deviation of some rows in ticks, ``[m]`` each."""
        count, total, squares = self._count[rows], self._sum[rows], self._squares[rows]
        shared = np.maximum(count, 1)
        return np.where(count > 0, total / shared, -1.0), np.sqrt(count * squares - total * total) / shared
