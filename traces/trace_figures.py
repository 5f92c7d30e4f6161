"""Figures of a trace: what there is to say of it in numbers."""

from __future__ import annotations

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from netlab.traces.autocorrelation import lag_1
from netlab.traces.loss_run import loss_runs
from netlab.traces.trace import UNKNOWN, Trace

__all__ = ["QUANTILES", "DelayFigures", "LossFigures", "RateFigures", "TraceFigures", "trace_figures"]

QUANTILES = (0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99)


class DelayFigures(Struct, frozen=True, kw_only=True):
    """Of the delays that are known.

    Attributes:
        n: How many.
        mean_s: Their mean.
        sd_s: Their deviation.
        min_s: The shortest.
        max_s: The longest.
        quantiles_s: By share: 0.5 is the median.
        lag1: Autocorrelation from one row to the next; None for fewer than three pairs, or without deviation.
    """

    n: int
    mean_s: float
    sd_s: float
    min_s: float
    max_s: float
    quantiles_s: dict[str, float]
    lag1: float | None

    @property
    def median_s(self) -> float:
        """Return the median."""
        return self.quantiles_s["0.5"]

    @classmethod
    def of(cls, delay_s: NDArray[np.float64]) -> DelayFigures:
        """Return the figures of delays in the order of sending, NaN where unknown, ``[n]``; one is known."""
        known_s = delay_s[~np.isnan(delay_s)]
        quantiles_s = np.quantile(known_s, QUANTILES).tolist()
        return cls(
            n=known_s.size,
            mean_s=float(known_s.mean()),
            sd_s=float(known_s.std()),
            min_s=float(known_s.min()),
            max_s=float(known_s.max()),
            quantiles_s={f"{q:g}": value for q, value in zip(QUANTILES, quantiles_s, strict=True)},
            lag1=lag_1(delay_s),
        )


class LossFigures(Struct, frozen=True, kw_only=True):
    """Of the packets of which it is known whether they were lost.

    Attributes:
        n: How many.
        lost: How many of them were.
        ratio: Their share.
        runs: How many losses there were of so many packets in a row, which ends at a packet of which it is not
            known; None where it is not known which packets were lost, only how many.
        duplicated: Of how many packets more than one copy arrived.
    """

    n: int
    lost: int
    ratio: float
    runs: dict[int, int] | None
    duplicated: int

    @property
    def mean_run(self) -> float | None:
        """Return how many packets in a row are lost, on average; 0 where none is, None where nobody knows."""
        if self.runs is None:
            return None
        return self.lost / sum(self.runs.values()) if self.runs else 0.0


class RateFigures(Struct, frozen=True, kw_only=True):
    """Of the rates that are known, each weighed by how long it holds.

    Attributes:
        n: How many.
        mean_bps: Their mean.
        min_bps: The lowest.
        max_bps: The highest.
    """

    n: int
    mean_bps: float
    min_bps: float
    max_bps: float


class TraceFigures(Struct, frozen=True, kw_only=True):
    """What there is to say of a trace; None for what it does not know.

    Attributes:
        path: What it is of.
        clocks: What is known of the clocks.
        n: Rows.
        duration_s: How long it lasts.
        interval_s: The usual time from row to row.
        source: Where it comes from.
        delay: Of its delays.
        loss: Of its losses.
        rate: Of its rates.
    """

    path: str
    clocks: str
    n: int
    duration_s: float
    interval_s: float
    source: str
    delay: DelayFigures | None
    loss: LossFigures | None
    rate: RateFigures | None


def trace_figures(trace: Trace) -> TraceFigures:
    """Return the figures of a trace."""
    return TraceFigures(
        path=trace.path.value,
        clocks=trace.clocks.value,
        n=trace.n,
        duration_s=trace.duration_s,
        interval_s=trace.interval_s,
        source=trace.source,
        delay=DelayFigures.of(trace.delay_s) if trace.has_delays else None,
        loss=_loss(trace) if trace.has_losses else None,
        rate=_rate(trace) if trace.has_rates else None,
    )


def _loss(trace: Trace) -> LossFigures:
    known = trace.lost[trace.lost != UNKNOWN]
    lengths, times = np.unique(loss_runs(trace), return_counts=True)
    return LossFigures(
        n=known.size,
        lost=int(np.count_nonzero(known)),
        ratio=float(known.mean()),
        runs=dict(zip(lengths.tolist(), times.tolist(), strict=True)) if trace.has_loss_runs else None,
        duplicated=int(np.count_nonzero(trace.copies > 1)),
    )


def _rate(trace: Trace) -> RateFigures:
    known = ~np.isnan(trace.rate_bps)
    if trace.bin_s is None:
        held_s = np.diff(trace.t_s, append=trace.t_s[-1] + trace.interval_s)[known]
    else:
        held_s = np.full(np.count_nonzero(known), trace.bin_s)
    rates_bps = trace.rate_bps[known]
    weights = held_s if held_s.sum() > 0.0 else None
    return RateFigures(
        n=rates_bps.size,
        mean_bps=float(np.average(rates_bps, weights=weights)),
        min_bps=float(rates_bps.min()),
        max_bps=float(rates_bps.max()),
    )
