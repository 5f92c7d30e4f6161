"""Horizons of N remotes as columns: how many ticks ahead each decides; fixed, or as measured ages ask.

The twins of ``netlab.control.horizon``, which says why; here is only how it is done for many rows. Ages stand as
counts, not sorted::

    age        0  1  2  3  4  ...        age  k-3 k-2 k-1  k  ...       wanted when, of the last H
    counts     0  0  7 90  3             in a ring of the last W        in a ring: the largest is D
"""

from __future__ import annotations

import math
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from netlab.control.actuator import MAX_AHEAD_TICKS
from netlab.control.horizon import AdaptiveHorizon
from netlab.envs.vector.flights import Numbers, Places

__all__ = ["AdaptiveColumns", "FixedColumns", "HorizonColumns"]

_ABSENT = -1
_MOST_AGE = 1 << 14
"""An age above counts as this."""


class HorizonColumns(Protocol):
    """Says how many ticks ahead each row decides.

    Attributes:
        ticks: D of each row, ``[n]``.
        most_ticks: The most that any can be.
        is_fixed: Whether D stays as it is.
    """

    ticks: Numbers
    most_ticks: int
    is_fixed: bool

    def clear(self, rows: Places) -> None:
        """Forget all of some rows: an episode begins there."""
        ...

    def note(self, rows: Places, ticks: Numbers, ages: Numbers) -> None:
        """Take in the ages that accepted observations of some rows tell, ``[m]`` each; -1 for none."""
        ...


class FixedColumns:
    """One D for all, for ever.

    Args:
        n: Number of rows.
        ticks: D.
    """

    is_fixed = True

    def __init__(self, n: int, ticks: int) -> None:
        self.ticks = np.full(n, ticks, dtype=np.int64)
        self.most_ticks = ticks

    def clear(self, rows: Places) -> None:
        """Forget nothing."""

    def note(self, rows: Places, ticks: Numbers, ages: Numbers) -> None:
        """Learn nothing."""


class AdaptiveColumns:
    """An ``AdaptiveHorizon`` a row, begun anew with each episode.

    Args:
        n: Number of rows.
        like: A fresh horizon; each row's is one like it.
    """

    is_fixed = False

    def __init__(self, n: int, like: AdaptiveHorizon) -> None:
        self.most_ticks = like.most_ticks
        self._start_ticks, self._least_ticks = like.ticks, like.least_ticks
        self._quantile, self._price_ratio = like.quantile, like.price_ratio
        self._margin_ticks, self._window_ticks, self._hold_ticks = (
            like.margin_ticks,
            like.window_ticks,
            like.hold_ticks,
        )
        # Above, an age is never worth its price, or all ages ask for more than the most.
        dear = math.ceil(1.0 / self._price_ratio) if self._price_ratio else 0
        self._highest_age = min(MAX_AHEAD_TICKS + dear + 1, _MOST_AGE)
        self.ticks = np.full(n, like.ticks, dtype=np.int64)
        self._ages = np.full((n, like.window_ticks), _ABSENT, dtype=np.int16)
        self._counts = np.zeros((n, self._highest_age + 1), dtype=np.int32)
        self._wanted = np.full((n, like.hold_ticks), _ABSENT, dtype=np.int16)
        self._measured = np.zeros(n, dtype=np.int64)
        self._tick = np.full(n, _ABSENT, dtype=np.int64)
        self._has_begun = np.zeros(n, dtype=bool)
        self.clear(np.arange(n))

    def clear(self, rows: Places) -> None:
        """Forget all that was measured in some rows."""
        self.ticks[rows] = self._start_ticks
        self._ages[rows] = self._wanted[rows] = _ABSENT
        self._wanted[rows, 0] = self._start_ticks
        self._counts[rows] = 0
        self._measured[rows] = 0
        self._has_begun[rows] = False

    def note(self, rows: Places, ticks: Numbers, ages: Numbers) -> None:
        """Take in ages, and the least ages of the ticks since the observations before."""
        between = np.where(self._has_begun[rows], ticks - self._tick[rows] - 1, 0)
        self._has_begun[rows] = True
        self._tick[rows] = ticks
        told = ages >= 0
        if not told.all():
            rows, between, ages = rows[told], between[told], ages[told]
        if rows.size:
            self._add(rows, np.minimum(between, self._window_ticks - 1) + 1, ages)
            self._follow(rows)

    def _add(self, rows: Places, counts: Numbers, ages: Numbers) -> None:
        """Add so many ages to each row: the last is what was told, those before at least a tick less each."""
        each = np.repeat(np.arange(rows.size), counts)
        number = np.arange(each.size) - np.repeat(np.cumsum(counts) - counts, counts)
        back = counts[each] - 1 - number
        least = np.where(back, np.maximum(ages[each] - back, 1), ages[each])
        new = np.minimum(least, self._highest_age)
        at, measured = rows[each], self._measured[rows][each] + number
        places = measured % self._window_ticks
        old = self._ages[at, places]
        self._ages[at, places] = new
        # A place of what was wanted is taken by the tick that it was wanted at; ticks between want nothing.
        self._wanted[at, (measured + 1) % self._hold_ticks] = _ABSENT
        gone = old >= 0
        np.subtract.at(self._counts, (at[gone], old[gone].astype(np.intp)), 1)
        np.add.at(self._counts, (at, new), 1)
        self._measured[rows] += counts

    def _follow(self, rows: Places) -> None:
        worth = self._worth_ticks(rows) + self._margin_ticks
        asked = np.clip(worth, self._least_ticks, self.most_ticks)
        self._wanted[rows, self._measured[rows] % self._hold_ticks] = asked
        self.ticks[rows] = self._wanted[rows].max(axis=1)

    def _worth_ticks(self, rows: Places) -> Numbers:
        """Return the D of each row with the least P(A > D) + price * D, up to the quantile, ``[m]``."""
        counts = self._counts[rows]
        highest = int(np.flatnonzero(counts.any(axis=0))[-1])
        counts = counts[:, : highest + 1]
        up_to = counts.cumsum(axis=1)
        size = up_to[:, -1:]
        index = np.maximum(np.ceil(self._quantile * size - 1.0), 0)
        covered: Numbers = (up_to > index).argmax(axis=1)
        if not self._price_ratio:
            return covered
        ages = np.arange(highest + 1)
        costs: NDArray[np.float64] = size - up_to + self._price_ratio * size * ages
        costs[(counts == 0) | (ages > covered[:, None])] = math.inf
        best: Numbers = costs.argmin(axis=1)
        return best
