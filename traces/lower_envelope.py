"""The lower envelope of delays over time: what is left of them when no packet waited. Pure: points in, a line out.

::

    delay  .    .   .     .         waits are above the line,
             .    .   .     .       the line is the path and the clocks
           ..__.____.___..___.
                                 time

The points that a line from below can touch are the lower convex hull. Knows nothing of clocks; ``clock_sync.py``
reads them from lines.

Source: the linear programme of Moon, Skelly, Towsley, "Estimation and Removal of Clock Skew from Network Delay
Measurements" (INFOCOM 1999), solved exactly by the hull's edges, here for two directions that share one slope.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

__all__ = ["LowerEnvelope", "common_slope"]

MAX_SLOPE = 1e3
"""Steeper edges are of points at almost the same time; no two clocks part like that."""

_PASS_IS_WORTH_IT = 0.1
"""A pass over all points that removes a smaller share of them is slower than going through them one by one."""


class LowerEnvelope(Struct, frozen=True, eq=False):
    """The lower convex hull of points.

    Attributes:
        t_s: Times of its corners, rising, ``[k]``.
        value_s: Their values, ``[k]``.
        mean_t_s: Mean time of all points.
    """

    t_s: NDArray[np.float64]
    value_s: NDArray[np.float64]
    mean_t_s: float

    @classmethod
    def of(cls, t_s: NDArray[np.float64], value_s: NDArray[np.float64]) -> LowerEnvelope:
        """Return the envelope of points in any order, at least one."""
        order = np.lexsort((value_s, t_s))
        times, values = t_s[order], value_s[order]
        lowest = np.diff(times, prepend=-np.inf) > 0.0
        times, values = _without_inner(times[lowest], values[lowest])
        return cls(times, values, float(t_s.mean()))

    @property
    def slopes(self) -> NDArray[np.float64]:
        """Return the slopes of its edges, rising, ``[k - 1]``."""
        with np.errstate(over="ignore"):  # of two points at almost the same time
            slopes: NDArray[np.float64] = np.diff(self.value_s) / np.diff(self.t_s)
        return slopes

    def heights_s(self, slopes: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return how high at time 0 a line of each slope is that touches the points from below, ``[m]``."""
        corner = np.searchsorted(self.slopes, slopes)
        heights: NDArray[np.float64] = self.value_s[corner] - slopes * self.t_s[corner]
        return heights

    def height_s(self, slope: float) -> float:
        """Return how high at time 0 the line of this slope is that touches the points from below."""
        return float(self.heights_s(np.array([slope]))[0])


def common_slope(rising: LowerEnvelope | None, falling: LowerEnvelope | None) -> float:
    """Return the slope at which lines under both sets of points leave the least room below them.

    The line under ``falling`` has the opposite slope: a clock that gains makes one direction seem longer and the
    other shorter. The least mean distance is a linear programme; its optimum is at the slope of an edge.
    """
    candidates = [np.zeros(1)]
    if rising is not None:
        candidates.append(rising.slopes)
    if falling is not None:
        candidates.append(-falling.slopes)
    slopes = np.concatenate(candidates)
    slopes = slopes[np.abs(slopes) <= MAX_SLOPE]
    room = np.zeros(slopes.size)
    if rising is not None:
        room += rising.heights_s(slopes) + slopes * rising.mean_t_s
    if falling is not None:
        room += falling.heights_s(-slopes) - slopes * falling.mean_t_s
    return float(slopes[np.argmax(room)])


def _without_inner(
    t_s: NDArray[np.float64], value_s: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the corners of the lower hull of points at rising times.

    A point on or above the line from its left to its right neighbour is no corner, whichever others go; so
    all such can go in one pass. Noise loses most of its points in a few; the rest goes one by one.
    """
    while t_s.size > 2:
        # Cross product of the steps to and from each inner point: above 0 where the path turns up.
        turn = np.diff(t_s)[:-1] * np.diff(value_s)[1:] - np.diff(t_s)[1:] * np.diff(value_s)[:-1]
        keep = np.concatenate(([True], turn > 0.0, [True]))
        removed = t_s.size - int(keep.sum())
        t_s, value_s = t_s[keep], value_s[keep]
        if removed < _PASS_IS_WORTH_IT * keep.size:
            break
    return _chain(t_s, value_s)


def _chain(
    t_s: NDArray[np.float64], value_s: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the lower hull by Andrew's monotone chain."""
    hull: list[tuple[float, float]] = []
    for t, value in zip(t_s.tolist(), value_s.tolist(), strict=True):
        while len(hull) > 1:
            (t0, value0), (t1, value1) = hull[-2:]
            if (t1 - t0) * (value - value1) > (t - t1) * (value1 - value0):
                break
            hull.pop()
        hull.append((t, value))
    corners = np.array(hull, dtype=np.float64).reshape(-1, 2)
    return corners[:, 0], corners[:, 1]
