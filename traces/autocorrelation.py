"""Lag-1 autocorrelation: how alike the delays of packets are that were sent one after the other. Pure.

::

    sent      1    2    3    4    5          x lost, or of unknown delay
    delay    20   21    x   40   41          pairs: 1-2 and 4-5; a packet that is missing parts its neighbours

The same for what was measured, predicted, simulated and delivered, so that these can be compared.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

__all__ = ["lag_1"]

LEAST_PAIRS = 3

_CONSTANT_S = 1e-8
"""Delays of a smaller deviation are alike, but for what clocks and floats do."""


def lag_1(delay_s: NDArray[np.float64], least_pairs: int = LEAST_PAIRS) -> float | None:
    """Return the correlation of each delay with the next one, where both are known.

    Args:
        delay_s: Delays in the order of sending; NaN where there is none, ``[n]``.
        least_pairs: Of fewer pairs of neighbours there is no figure.

    Returns:
        The correlation, -1 .. 1; None for too few pairs, or where the delays are all alike.
    """
    first, second = delay_s[:-1], delay_s[1:]
    both = ~(np.isnan(first) | np.isnan(second))
    pairs = int(np.count_nonzero(both))
    if pairs < max(least_pairs, 2):
        return None
    first, second = first[both], second[both]
    first, second = first - first.mean(), second - second.mean()
    # Plain sums: a dot product of this size would start threads, which are slower on a busy machine.
    spread = math.sqrt(float((first * first).sum()) * float((second * second).sum()))
    if spread <= _CONSTANT_S**2 * pairs:
        return None
    return min(max(float((first * second).sum()) / spread, -1.0), 1.0)
