"""Straggling: what stragglers can do to delays of which the latest are left out; at most, and nothing assumed.

::

    sorted delays     x1 x2 x3 ... xm            a share s of them, k packets, may be later however much
    with stragglers   y1 y2 y3 ... ym            yi lies between xi and x(i+k), whichever they are
    left out          `--- kept ---' `-k-'       the latest k, stragglers or not

Knows sorted delays; no flow and no bound of chance.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["Straggling", "left_out"]

_POINTS = 2000
_TURNS = 60

Numbers = NDArray[np.float64]


def left_out(arrived: int, share: float) -> int:
    """Return how many of the packets that arrive are left out: that share, whole packets."""
    return int(arrived * share + 1e-9)


class Straggling(NamedTuple):
    """The most that stragglers do to the delays that are kept.

    Attributes:
        mean_up_s: Their mean is larger by so much.
        sd_down_s: Their standard deviation is smaller by so much.
        sd_up_s: It is larger by so much.
        furthest_sds: A straggler that is kept lies so many standard deviations above the mean.
    """

    mean_up_s: float
    sd_down_s: float
    sd_up_s: float
    furthest_sds: float

    @classmethod
    def of(cls, delays_s: Numbers, share: float) -> Straggling:
        """Return what a share of stragglers does.

        Args:
            delays_s: What was asked for, the shortest first; may be none.
            share: Of the packets, below 1.
        """
        places = left_out(_POINTS, share)
        if not places or not delays_s.size:
            return cls(0.0, 0.0, 0.0, 0.0)
        middles = (np.arange(_POINTS) + 0.5) / _POINTS * delays_s.size
        all_s = delays_s[middles.astype(np.int64)]
        low_s, high_s = all_s[:-places], all_s[places:]
        sd_s = float(low_s.std())
        furthest = float(low_s[-1] - low_s.mean()) / sd_s if sd_s > 0.0 else 0.0
        return cls(
            float(high_s.mean() - low_s.mean()),
            max(sd_s - _least_sd(low_s, high_s), 0.0),
            max(_most_sd(low_s, high_s) - sd_s, 0.0),
            furthest,
        )


def _least_sd(low_s: Numbers, high_s: Numbers) -> float:
    """Return the least standard deviation of values between these: all as near to one middle as they can be."""

    def around(middle_s: float) -> float:
        return float(((np.clip(middle_s, low_s, high_s) - middle_s) ** 2).mean())

    left_s, right_s = float(low_s[0]), float(high_s[-1])
    for _ in range(_TURNS):  # the mean square is convex in the middle
        third_s = (right_s - left_s) / 3.0
        if around(left_s + third_s) < around(right_s - third_s):
            right_s -= third_s
        else:
            left_s += third_s
    return float(np.sqrt(around((left_s + right_s) / 2.0)))


def _most_sd(low_s: Numbers, high_s: Numbers) -> float:
    """Return the greatest: up to some place all as low as they can be, from there on all as high."""
    count = low_s.size
    sums = _split_sums(low_s, high_s)
    squares = _split_sums(low_s**2, high_s**2)
    return float(np.sqrt(np.max(np.maximum(squares / count - (sums / count) ** 2, 0.0))))


def _split_sums(low: Numbers, high: Numbers) -> Numbers:
    """Return the sums of the first 0 .. n of one and the rest of the other, ``[n + 1]``."""
    before = np.concatenate([[0.0], np.cumsum(low)])
    after = np.concatenate([np.cumsum(high[::-1])[::-1], [0.0]])
    sums: Numbers = before + after
    return sums
