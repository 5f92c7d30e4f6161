"""PairedRatio: one mean over another, of scores that belong together in pairs, and how far it is to be trusted.

::

    ours [training seeds, episodes] --.
    theirs [1 or training seeds, n] --+--> residuals ours - ratio * theirs --> error over training seeds, and over
                                                                               episodes; both count
"""

from __future__ import annotations

from typing import Self

import numpy as np
from msgspec import Struct
from numpy.typing import ArrayLike

from netlab.scoring.score import standard_error
from netlab.tables.intervals import Estimate, reach

__all__ = ["PairedRatio"]


class PairedRatio(Struct, frozen=True, kw_only=True):
    """A ratio of means and its interval of 95 %.

    Attributes:
        value: Mean / mean.
        low: Lower end of the interval.
        high: Upper end.
        seeds_error: Standard error over training seeds: how far others would move the ratio; 0 of one.
        episodes_error: Standard error over episodes: how far others would.
        pairs: How many episodes are compared.
        differ: In how many of them the two are not equal.
    """

    value: float
    low: float
    high: float
    seeds_error: float
    episodes_error: float
    pairs: int
    differ: int

    @classmethod
    def of(cls, ours: ArrayLike, theirs: ArrayLike) -> Self:
        """Return the ratio of ours to theirs.

        Errors are of first order (delta method). Training seeds and episodes are drawn independently, so their
        squares add; what varies by both at once is in each of the two, which is never too sure.

        Args:
            ours: ``[training seeds, n]``, n at least 2; column by column of the same episode.
            theirs: The same, or ``[1, n]`` of what has no training seed; with a mean above 0.
        """
        theirs = np.broadcast_to(np.asarray(theirs, float), np.shape(ours))
        ours = np.asarray(ours, float)
        value = float(ours.mean() / theirs.mean())
        residuals = (ours - value * theirs) / theirs.mean()
        errors = [standard_error(residuals.mean(axis=axis).tolist()) or 0.0 for axis in (1, 0)]
        seeds, episodes = ours.shape
        far = reach(Estimate(value, errors[0], max(1, seeds - 1)), Estimate(0.0, errors[1], episodes - 1))
        return cls(
            value=value,
            low=value - far,
            high=value + far,
            seeds_error=errors[0],
            episodes_error=errors[1],
            pairs=ours.size,
            differ=int(np.count_nonzero(ours != theirs)),
        )

    def words(self, least: float, scale: float = 1.0) -> str:
        """Say the interval, and whether it shows that the ratio is at least so much.

        Args:
            least: That is asked.
            scale: What ratios are told in: 100 for percent.
        """
        if self.differ == 0:
            return f"all {self.pairs} pairs alike: no interval"
        shown = "shown" if self.low >= least else "not shown"
        return (
            f"95 % interval {scale * self.low:.4g}..{scale * self.high:.4g}, over training seeds and episodes "
            f"(standard errors {scale * self.seeds_error:.2g} and {scale * self.episodes_error:.2g}): "
            f"at least {scale * least:g} is {shown}; {self.differ} of {self.pairs} pairs differ"
        )
