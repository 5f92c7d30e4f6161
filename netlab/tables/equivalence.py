"""Equivalence: whether two ways of playing the same episodes score the same, within a margin that was set before.

::

    differences [n], paired --two one-sided tests--> interval within +-margin?  equivalent
                                                     interval outside of it?    different
                                                     else                       undecided: more episodes

Overlapping error bars prove nothing; an interval for the mean difference that lies within the margin does. Source:
Schuirmann 1987, doi:10.1007/BF01068419.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist, fmean, stdev
from typing import Literal

from msgspec import Struct

__all__ = ["LEVEL", "Equivalence", "student_quantile"]

LEVEL = 0.05
"""Of each of the two one-sided tests: the interval is one of 1 - 2 LEVEL."""
_LEAST = 10
"""Below so many episodes nothing is said: the mean of so few is far from normal."""


class Equivalence(Struct, frozen=True, kw_only=True):
    """What n paired differences say.

    Attributes:
        n: How many.
        mean: Of the differences.
        low: Lower end of the interval of 90 % for it.
        high: Upper end.
        margin: What it was to lie within, either way.
    """

    n: int
    mean: float
    low: float
    high: float
    margin: float

    @classmethod
    def of(cls, differences: Sequence[float], margin: float) -> Equivalence:
        """Return what differences say.

        Args:
            differences: Of each pair, two or more.
            margin: Above 0.
        """
        n, mean = len(differences), fmean(differences)
        reach = student_quantile(1.0 - LEVEL, n - 1) * stdev(differences) / math.sqrt(n)
        return cls(n=n, mean=mean, low=mean - reach, high=mean + reach, margin=margin)

    @property
    def verdict(self) -> Literal["equivalent", "different", "undecided"]:
        """What the interval says of the margin."""
        if self.n < _LEAST:
            return "undecided"
        if -self.margin < self.low and self.high < self.margin:
            return "equivalent"
        return "different" if self.low > self.margin or self.high < -self.margin else "undecided"


def student_quantile(share: float, freedom: int) -> float:
    """Return a quantile of Student's t; to a thousandth of itself from 9 degrees of freedom on.

    Source: Abramowitz and Stegun 1964, 26.7.5.

    Args:
        share: 0.5 .. 1, exclusively.
        freedom: Degrees of freedom, at least 1.
    """
    z = NormalDist().inv_cdf(share)
    terms: tuple[float, ...] = (
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
        (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92160,
    )
    return z + sum(term / float(freedom) ** power for power, term in enumerate(terms, 1))
