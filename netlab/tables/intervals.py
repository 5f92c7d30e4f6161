"""Intervals of 95 % for the means of few values, as those of five training seeds are.

::

    Estimate, Estimate --reach--> how far the interval of their sum or difference reaches, either way
                       --ratio_ends--> interval of their ratio

Few values: a normal distribution would make them too sure, Student's t does not. Pure arithmetic. Sources: Welch
1947, doi:10.1093/biomet/34.1-2.28, of the degrees of freedom of a sum; Fieller 1954,
doi:10.1111/j.2517-6161.1954.tb00159.x, of ratios.
"""

from __future__ import annotations

import math
from typing import NamedTuple

__all__ = ["LEVEL", "Estimate", "ratio_ends", "reach", "student_quantile"]

LEVEL = 0.05
"""How often an interval leaves the true value out."""


class Estimate(NamedTuple):
    """A mean, and how far it is to be trusted.

    Attributes:
        value: What was found.
        error: Its standard error; 0 where nothing varied.
        freedom: Degrees of freedom of that error: one less than there were values.
    """

    value: float
    error: float
    freedom: int


def reach(*parts: Estimate) -> float:
    """Return how far the interval reaches, either way, of a sum or difference of independent estimates."""
    variance = sum(part.error**2 for part in parts)
    if variance == 0.0:
        return 0.0
    shares = sum((part.error**2 / variance) ** 2 / part.freedom for part in parts if part.error > 0.0)
    freedom = max(1, int(1.0 / shares + 1e-9))  # a whole one, rounded down, is never too sure
    return student_quantile(1.0 - LEVEL / 2, freedom) * math.sqrt(variance)


def ratio_ends(top: Estimate, bottom: Estimate) -> tuple[float, float]:
    """Return both ends of the interval for a ratio: of all r at which ``top - r * bottom`` may be 0.

    Unlike top / bottom and an error of it, that holds where the bottom is hardly above 0. Where the bottom may be
    none there is no upper end: infinity. Where it surely is, so is the lower one.

    Args:
        top: Surely above 0: more than its own ``reach``.
        bottom: Whatever it is.
    """
    freedoms = [part.freedom for part in (top, bottom) if part.error > 0.0]
    times = student_quantile(1.0 - LEVEL / 2, min(freedoms)) if freedoms else 0.0
    top_reach, bottom_reach = times * top.error, times * bottom.error
    if bottom.value + bottom_reach <= 0.0:
        return math.inf, math.inf
    # (top - r bottom)^2 = top_reach^2 + r^2 bottom_reach^2, a quadratic in r.
    square, linear = bottom.value**2 - bottom_reach**2, top.value * bottom.value
    least = max(0.0, top.value**2 - top_reach**2)
    root = math.hypot(top_reach * bottom.value, bottom_reach * math.sqrt(least))
    low = least / (linear + root)
    return low, (linear + root) / square if bottom.value > bottom_reach else math.inf


def student_quantile(share: float, freedom: int) -> float:
    """Return a quantile of Student's t.

    Args:
        share: 0.5 .. 1, exclusively.
        freedom: Degrees of freedom, at least 1.
    """
    low, high = 0.0, 1.0
    while (1.0 + _within(high, freedom)) / 2 < share:
        low, high = high, 2 * high
    while low < (middle := (low + high) / 2) < high:  # until there is no number between them
        low, high = (middle, high) if (1.0 + _within(middle, freedom)) / 2 < share else (low, middle)
    return high


def _within(t: float, freedom: int) -> float:
    """Return the share of Student's t within +-t.

    Source: Abramowitz and Stegun 1964, 26.7.3 and 26.7.4.
    """
    angle, is_odd = math.atan(t / math.sqrt(freedom)), freedom % 2 == 1
    term, terms = math.cos(angle) if is_odd else 1.0, 0.0
    for last in range(3 if is_odd else 2, freedom + 1, 2):
        terms += term
        term *= (last - 1) / last * math.cos(angle) ** 2
    within = math.sin(angle) * terms
    return (angle + within) * 2 / math.pi if is_odd else within
