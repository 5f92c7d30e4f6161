"""Sending: for how long each packet of a trace stands, and so how far apart the packets are on average.

::

    sent     .  .  .            .  .       the sender paused
             |--|--|-----|      |--|--|    each stands for the time to the next, a pause for five usual intervals

The median of the intervals is no measure of it: of a sender with exponential intervals it is 0.69 of the mean,
of one that sends frames of several packets next to nothing. Knows times alone.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["held_s", "mean_interval_s"]

LONGEST_SILENCE = 5.0
"""A pause of the sender counts for so many usual intervals at most: of what was then, nothing is known."""

USUAL = 0.95
"""So many of the intervals are usual, long ones between frames or in uneven sending among them."""


def held_s(sent_s: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return for how long each packet stands, ``[n]``; the last one for a usual interval.

    Args:
        sent_s: When each was sent, never decreasing, ``[n]``.
    """
    intervals_s = np.diff(sent_s)
    if not intervals_s.size:
        return np.zeros(sent_s.size)
    usual_s = float(np.quantile(intervals_s, USUAL, method="lower"))
    # Of sending times that coincide for the most part nothing usual is known: then no pause is too long.
    longest_s = LONGEST_SILENCE * usual_s if usual_s > 0.0 else np.inf
    return np.append(np.minimum(intervals_s, longest_s), usual_s)


def mean_interval_s(sent_s: NDArray[np.float64]) -> float:
    """Return how far apart packets were sent on average, pauses left out; 0 for fewer than two."""
    return float(held_s(sent_s).mean()) if sent_s.size > 1 else 0.0
