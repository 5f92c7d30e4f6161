"""Delivered rate: one rate for a direction, from a series of them.

The mean over time: a flow that always has something to send is carried the same number of bits by it in the
long run as by the series. A percentile would not be: a low one starves such a flow, a high one promises what
was there for moments. How far the rate swung is what a schedule keeps, and one number loses.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from netlab.errors import TraceError
from netlab.traces.fit.sources import RateSource
from netlab.traces.trace import Trace

__all__ = ["RateFit", "carried_bits", "fit_rate"]

LEAST_BPS = 8.0


class RateFit(Struct, frozen=True):
    """A rate and how it swung.

    Attributes:
        rate_bps: The mean over time.
        low_bps: The rate was below this for a twentieth of the time.
        high_bps: It was above this for a twentieth.
        known_s: For how long a rate was known.
    """

    rate_bps: float
    low_bps: float
    high_bps: float
    known_s: float


def fit_rate(source: RateSource) -> RateFit:
    """Return the mean of the rates by the time each holds.

    Raises:
        TraceError: They hold for no time, or nothing was carried.
    """
    trace = source.trace
    _, carried = carried_bits(trace)
    bits, known_s = float(carried[0, -1]), float(carried[1, -1])
    if known_s <= 0.0 or bits / known_s < LEAST_BPS:
        raise TraceError(
            f"carried {bits:g} bits in {known_s:g} s: no rate that a link can have",
            trace.source or "trace",
            hint="for times at which nothing gets through make a schedule: netlab trace schedule",
        )
    begin, end = carried[:, 0::2], carried[:, 1::2]
    held_s = end[1] - begin[1]
    rates = (end[0] - begin[0]) / np.where(held_s > 0.0, held_s, 1.0)
    order = np.argsort(rates, kind="stable")
    reached = np.cumsum(held_s[order]) / known_s
    low, high = rates[order][np.searchsorted(reached, (0.05, 0.95)).clip(max=order.size - 1)]
    return RateFit(float(f"{bits / known_s:.4g}"), float(low), float(high), known_s)


def carried_bits(trace: Trace) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return when each known rate begins and ends, and what was carried, and for how long one was known, by then.

    Returns:
        Moments in order, ``[2 rates]``; bits and seconds by each, ``[2, 2 rates]``.
    """
    known = ~np.isnan(trace.rate_bps)
    begin_s, rate = trace.t_s[known], trace.rate_bps[known]
    # Without a length of its own a rate holds until the next row, be that one's known or not.
    end_s = np.append(trace.t_s[1:], trace.duration_s)[known]
    if trace.bin_s is not None:
        end_s = np.minimum(np.append(begin_s[1:], np.inf), begin_s + trace.bin_s)
    moments_s = np.column_stack([begin_s, end_s]).ravel()
    steps = np.zeros((2, moments_s.size))
    steps[0, 1::2], steps[1, 1::2] = rate * (end_s - begin_s), end_s - begin_s
    return moments_s, np.cumsum(steps, axis=1)
