"""trace_series: what a picture of traces shows, as numbers: thinned to what can be seen, and nothing else.

::

    Trace --delay_series, rate_series--> points, or a band of low, median and high a pixel column
          --loss_marks, outages -------> where packets were lost
          --delay_distribution --------> steps of the distribution
          --runs_by_length ------------> how many were lost in a row

Pure numpy, no loop a row: a million rows take a fraction of a second. Knows no drawing.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from netlab.traces.loss_run import loss_runs, runs_of
from netlab.traces.trace import UNKNOWN, Trace

__all__ = [
    "Outage",
    "RunBin",
    "Series",
    "delay_distribution",
    "delay_series",
    "loss_marks",
    "outages",
    "rate_series",
    "run_bins",
    "runs_by_length",
]

Numbers = NDArray[np.float64]

POINTS_A_COLUMN = 4
"""More than these in a pixel column run into one another: a band says more."""
OUTAGE_PACKETS = 3
"""Fewer lost in a row are losses, not an outage."""
_SINGLE_LENGTHS = 4
"""Run lengths that have a bin of their own; longer ones share bins that double."""


class Series(NamedTuple):
    """Values over time, ``[points]`` each.

    Attributes:
        t_s: When.
        low: Smallest value there.
        middle: Median there.
        high: Greatest value there.
        is_band: Whether several values share a point; if not, the three are one.
    """

    t_s: Numbers
    low: Numbers
    middle: Numbers
    high: Numbers
    is_band: bool


class Outage(NamedTuple):
    """From the first packet lost in a row to the next that is not known to be lost as well."""

    begin_s: float
    end_s: float


class RunBin(NamedTuple):
    """Run lengths that are counted together, both ends included."""

    shortest: int
    longest: int

    @property
    def name(self) -> str:
        """Return it as it stands below a bar."""
        one_length = self.shortest == self.longest
        return str(self.shortest) if one_length else f"{self.shortest}\N{EN DASH}{self.longest}"


def delay_series(trace: Trace, columns: int) -> Series:
    """Return the delays that are known, over time.

    Args:
        trace: Of whatever length.
        columns: How many pixels wide they are to be drawn.
    """
    return _series(trace.t_s, trace.delay_s, trace.duration_s, columns)


def rate_series(trace: Trace, columns: int) -> Series:
    """Return the rates that are known, over time; arguments as for ``delay_series``."""
    return _series(trace.t_s, trace.rate_bps, trace.duration_s, columns)


def loss_marks(trace: Trace, columns: int) -> Numbers:
    """Return when packets were lost, at most one a pixel column, ``[marks]``.

    Of losses that are spread over a stretch of time, the marks are spread over it, too.
    """
    lost_s = trace.t_s[trace.lost == 1]
    column = _columns(lost_s, trace.duration_s, columns)
    marks: Numbers = lost_s[np.flatnonzero(np.diff(column, prepend=-1))]
    return marks


def outages(trace: Trace, least_s: float) -> list[Outage]:
    """Return the stretches in which packet after packet was lost; none where nobody knows which were.

    Args:
        trace: Of one flow.
        least_s: Shorter ones are left out, as are those of fewer than three packets.
    """
    if not trace.has_loss_runs:
        return []
    begins, ends = runs_of(trace.lost == 1)
    # To the next packet, or as far as the trace goes.
    after_s = np.append(trace.t_s, trace.duration_s)[ends]
    before_s = trace.t_s[begins]
    long = (ends - begins >= OUTAGE_PACKETS) & (after_s - before_s >= least_s)
    return [Outage(*pair) for pair in zip(before_s[long].tolist(), after_s[long].tolist(), strict=True)]


def delay_distribution(trace: Trace, points: int) -> tuple[Numbers, Numbers]:
    """Return the delays in ascending order and the share of the known ones that none of them exceeds.

    Args:
        trace: With at least one delay.
        points: How many steps at most; the shortest and the longest delay are among them.

    Returns:
        Delays in s and shares, ``[points]`` each.
    """
    ordered = np.sort(trace.delays_s)
    places = np.arange(ordered.size)
    if ordered.size > points:
        places = np.unique(np.rint(np.linspace(0, ordered.size - 1, points)).astype(np.int64))
    # Equal delays are one step, as high as the last of them.
    places = np.unique(np.searchsorted(ordered, ordered[places], side="right")) - 1
    return ordered[places], (places + 1.0) / ordered.size


def run_bins(longest: int) -> list[RunBin]:
    """Return the bins for runs of up to so many packets: 1, 2, 3, 4, 5 to 8, 9 to 16 and so on."""
    bins = [RunBin(length, length) for length in range(1, _SINGLE_LENGTHS + 1)]
    while bins[-1].longest < longest:
        bins.append(RunBin(bins[-1].longest + 1, 2 * bins[-1].longest))
    return bins


def runs_by_length(trace: Trace, bins: list[RunBin]) -> Numbers:
    """Return how many runs of each bin there are among ten thousand packets, ``[bins]``."""
    packets = int((trace.lost != UNKNOWN).sum())
    edges = [*(one.shortest for one in bins), bins[-1].longest + 1]
    counts = np.histogram(loss_runs(trace), edges)[0]
    return counts * (1e4 / max(packets, 1))


def _columns(t_s: Numbers, span_s: float, columns: int) -> NDArray[np.int64]:
    """Return the pixel column of each time, ``[n]``."""
    scaled = t_s * (columns / span_s) if span_s > 0.0 else np.zeros(t_s.size)
    return np.minimum(scaled.astype(np.int64), columns - 1)


def _series(t_s: Numbers, values: Numbers, span_s: float, columns: int) -> Series:
    known = ~np.isnan(values)
    t_s, values = t_s[known], values[known]
    if t_s.size <= POINTS_A_COLUMN * columns:
        return Series(t_s, values, values, values, False)
    column = _columns(t_s, span_s, columns)
    begins = np.flatnonzero(np.diff(column, prepend=-1))
    sizes = np.diff(np.append(begins, t_s.size))
    ordered = values[np.lexsort((values, column))]
    return Series(
        (column[begins].astype(np.float64) + 0.5) * (span_s / columns),
        ordered[begins],
        ordered[begins + sizes // 2],
        ordered[begins + sizes - 1],
        True,
    )
