"""Where a share lies, given how often a thing happened in so many times: intervals of 95 %. Pure.

::

    independent     . x . . . x . . x .      n = 10 tell as much as 10
    in runs         . . . x x x . . . .      of neighbours that are alike fewer tell something of their own

Source: Wilson, "Probable inference, the law of succession, and statistical inference", JASA 1927; for runs, the
variance of the mean of a chain of two states, (1 + c) / (1 - c) times that of independent ones, where c is the
correlation of neighbours.
"""

from __future__ import annotations

import math

__all__ = ["run_interval", "wilson_interval"]

_Z_95 = 1.959963984540054


def wilson_interval(hits: int, n: int) -> tuple[float, float]:
    """Return the interval of the share of independent events; all there is for none of none."""
    return _interval(hits / n, n) if n else (0.0, 1.0)


def run_interval(hits: int, n: int, runs: int) -> tuple[float, float]:
    """Return the interval of the share of events that come in runs; never a narrower one than Wilson's.

    Args:
        hits: How many events there were.
        n: Of how many.
        runs: In how many runs they came.
    """
    if not 0 < hits < n:
        return wilson_interval(hits, n)
    correlation = 1.0 - runs / hits - runs / (n - hits)
    if correlation <= 0.0:
        return wilson_interval(hits, n)
    return _interval(hits / n, max(n * (1.0 - correlation) / (1.0 + correlation), 1.0))


def _interval(share: float, n: float) -> tuple[float, float]:
    z2 = _Z_95**2
    middle = share + z2 / (2 * n)
    half = _Z_95 * math.sqrt(share * (1.0 - share) / n + z2 / (4 * n * n))
    low, high = (middle - half) / (1 + z2 / n), (middle + half) / (1 + z2 / n)
    return (0.0 if share == 0.0 else max(low, 0.0)), (1.0 if share == 1.0 else min(high, 1.0))
