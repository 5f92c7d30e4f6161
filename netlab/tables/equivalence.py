"""Equivalence: whether two ways of playing the same episodes score the same, within a margin that was set before.

::

    differences [n], paired --bets against each mean--> interval within +-margin?  equivalent
                                                        interval outside of it?    different
                                                        else                       undecided: more episodes

Overlapping error bars prove nothing; an interval for the mean difference that lies within the margin does (two
one-sided tests, Schuirmann 1987, doi:10.1007/BF01068419). Student's interval will not do here: most differences
are exactly zero and a few are large, and of those that one has not seen yet it knows nothing: of zeros alone it
has no width at all. What is known is the range of returns, so that no difference is beyond it, and that is enough
for an exact interval (Waudby-Smith and Ramdas 2024, doi:10.1093/jrsssb/qkad009).

To test that the mean is ``m`` or more, one bets against it. A stake ``s`` in 0 .. 1, of all that one has,
multiplies it with each difference ``d`` by ``1 + s (m - d) / (range - m)``, which is never below 0. Where the mean
is ``m`` or more nobody gains by that on average, so that the chance of ever having 1 / LEVEL times what one began
with is at most LEVEL (Ville): whatever the differences are like, and however often one looks while there are more
and more of them. Half of the money is staked whole on each, which gains most where all are zero; the other half is
spread over smaller stakes, which a few large differences do not ruin.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import fmean, stdev
from typing import Any, Literal

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

__all__ = ["LEVEL", "Equivalence", "Verdict"]

LEVEL = 0.05
"""The most that the chance of a wrong end of the interval is, of each end; all looks at it together."""

Verdict = Literal["equivalent", "different", "undecided"]

_SMALLER = 32
"""How many stakes below the whole there are, evenly spaced."""
_STAKES = np.append((np.arange(_SMALLER) + 0.5) / _SMALLER, 1.0)
_LOG_SHARES = np.log(np.append(np.full(_SMALLER, 0.5 / _SMALLER), 0.5))
_HALVINGS = 32
"""An end of the interval is known to the range divided by 2 to this."""


class Equivalence(Struct, frozen=True, kw_only=True):
    """What n paired differences say.

    Attributes:
        n: How many.
        differ: How many of them are not zero.
        mean: Of the differences.
        standard_error: Of that; None of one difference. It is told, and decides nothing.
        low: Lower end of the interval of 1 - 2 LEVEL for the mean.
        high: Upper end.
        margin: What it was to lie within, either way.
        range: What no difference is beyond, either way.
    """

    n: int
    differ: int
    mean: float
    standard_error: float | None
    low: float
    high: float
    margin: float
    range: float

    @classmethod
    def of(cls, differences: Sequence[float], margin: float, range_: float) -> Equivalence:
        """Return what differences say.

        Args:
            differences: Of each pair, one or more, each within the range.
            margin: Above 0, below the range.
            range_: From the least return to the greatest.

        Raises:
            ValueError: A difference is beyond the range, so that nothing can be said.
        """
        beyond = [one for one in differences if not abs(one) <= range_]
        if beyond:
            raise ValueError(f"a difference of {beyond[0]:g}: returns have a range of {range_:g}")
        n, mean = len(differences), fmean(differences)
        values, counts = np.unique(np.asarray(differences, dtype=float) / range_, return_counts=True)
        return cls(
            n=n,
            differ=sum(one != 0.0 for one in differences),
            mean=mean,
            standard_error=stdev(differences) / math.sqrt(n) if n > 1 else None,
            low=-range_ * _upper_end(-values, counts),
            high=range_ * _upper_end(values, counts),
            margin=margin,
            range=range_,
        )

    @property
    def verdict(self) -> Verdict:
        """What the interval says of the margin."""
        if -self.margin < self.low and self.high < self.margin:
            return "equivalent"
        return "different" if self.low > self.margin or self.high < -self.margin else "undecided"

    @property
    def share(self) -> float:
        """The mean difference as a share of the range, either way."""
        return abs(self.mean) / self.range


def _upper_end(values: NDArray[Any], counts: NDArray[Any]) -> float:
    """Return the least mean that bets rule out, with all above it, to a hair.

    Args:
        values: The differences, each once, as shares of the range: -1 .. 1.
        counts: How often each is there.
    """
    low, high = -1.0, 1.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2.0
        if _log_gain(values, counts, middle) >= -math.log(LEVEL):
            high = middle
        else:
            low = middle
    return high


def _log_gain(values: NDArray[Any], counts: NDArray[Any], mean: float) -> float:
    """Return the logarithm of what is left, of 1, by betting that the mean is below this one; it grows with it.

    Args:
        values: As above.
        counts: As above.
        mean: Above -1, below 1.
    """
    factors = 1.0 + _STAKES[:, None] * ((mean - values) / (1.0 - mean))
    with np.errstate(divide="ignore"):  # who stakes all may lose all
        logs = _LOG_SHARES + np.log(np.maximum(factors, 0.0)) @ counts
    most = logs.max()
    return float(most + np.log(np.exp(logs - most).sum()))
