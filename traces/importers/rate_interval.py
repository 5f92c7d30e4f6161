"""RateInterval: what a tool reports of a stretch of time, and a series of them as a trace. Knows no format."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from netlab.traces.trace import UNKNOWN, ClockVerdict, LossTimes, Trace, TracedPath
from netlab.traces.trace_source import TraceSource

__all__ = ["RateInterval", "interval_trace", "without_late"]

MAX_PACKETS = 5_000_000
"""Of more packets the rows would be too many: the rates are kept, and nothing is said of losses."""

SHORT_RATIO = 0.1
"""A last interval shorter than this share of the usual one is what was left when the test ended: its rate is of so
few packets that it says nothing, and belongs to the interval before."""


Counts = NDArray[np.int64]


class RateInterval(NamedTuple):
    """A stretch of time.

    Attributes:
        start_s: Its beginning.
        end_s: Its end, later.
        rate_bps: Bits a second in it.
        packets: How many packets were sent to come in it; None where nobody counted.
        lost: How many of them were lost.
    """

    start_s: float
    end_s: float
    rate_bps: float
    packets: int | None = None
    lost: int = 0

    @property
    def length_s(self) -> float:
        """Return how long it is."""
        return self.end_s - self.start_s

    def joined(self, after: RateInterval) -> RateInterval:
        """Return this and the next as one."""
        bits = self.rate_bps * self.length_s + after.rate_bps * after.length_s
        packets = None if self.packets is None or after.packets is None else self.packets + after.packets
        length_s = self.length_s + after.length_s
        return RateInterval(self.start_s, after.end_s, bits / length_s, packets, self.lost + after.lost)


def without_late(intervals: list[RateInterval]) -> list[RateInterval]:
    """Return intervals without the losses that later ones take back.

    A packet that comes over an interval's edge, behind later ones, is counted as lost in the one and as -1 lost in
    the next: of 5 and -5, none was lost. No more are lost up to an interval than up to the end of any later one.
    What is taken back of a time before the first interval (``-O``) takes nothing from the intervals.
    """
    up_to = np.cumsum([one.lost for one in intervals], dtype=np.int64)
    up_to -= np.minimum(np.minimum.accumulate(up_to), 0)
    lost = np.diff(np.minimum.accumulate(up_to[::-1])[::-1], prepend=0).tolist()
    return [one._replace(lost=min(n, one.packets or 0)) for one, n in zip(intervals, lost, strict=True)]


def interval_trace(source: TraceSource, intervals: list[RateInterval], path: TracedPath, words: str) -> Trace:
    """Return intervals, at least one, as a trace: a row a packet where packets were counted, else an interval.

    Of an interval's packets it is known how many were lost, not which: they are ``LossTimes.SPREAD``, unless none
    was.

    Raises:
        TraceError: The intervals go back in time.
    """
    start_s = np.array([one.start_s for one in intervals])
    if (np.diff(start_s) < 0.0).any():
        place = int(np.argmax(np.diff(start_s) < 0.0)) + 1
        raise source.refuse(f"interval {place + 1} begins before the one before it", hint="was it edited?")
    intervals = _with_remnant(intervals)
    start_s = start_s[: len(intervals)]
    length_s = np.array([one.length_s for one in intervals])
    rate_bps = np.array([one.rate_bps for one in intervals])
    packets = np.array([one.packets or 0 for one in intervals], dtype=np.int64)
    t_s, lost = start_s - start_s[0], None
    if int(packets.sum()) > MAX_PACKETS:
        words += f"; losses left out, as there are more than {MAX_PACKETS} packets"
    elif packets.any():
        words += "; the losses of an interval are spread evenly over it"
        rows = np.maximum(packets, 1)  # an interval without a packet still has its rate
        place = np.arange(rows.sum()) - np.repeat(np.cumsum(rows) - rows, rows)
        lost = _spread(np.array([one.lost for one in intervals]), packets, rows, place)
        t_s = np.repeat(t_s, rows) + place * np.repeat(length_s / rows, rows)
        rate_bps = np.repeat(rate_bps, rows)
    return Trace.of(
        t_s,
        path=path,
        clocks=ClockVerdict.UNKNOWN,
        rate_bps=rate_bps,
        lost=lost,
        losses=LossTimes.SPREAD if lost is not None and (lost == 1).any() else LossTimes.COUNTED,
        source=words,
        source_sha256=source.sha256,
    )


def _with_remnant(intervals: list[RateInterval]) -> list[RateInterval]:
    """Return intervals with a short last one joined to the one before."""
    usual_s = float(np.median([one.length_s for one in intervals]))
    if len(intervals) < 2 or intervals[-1].length_s >= SHORT_RATIO * usual_s:
        return intervals
    return [*intervals[:-2], intervals[-2].joined(intervals[-1])]


def _spread(lost: Counts, packets: Counts, rows: Counts, place: Counts) -> NDArray[np.int8]:
    """Return which packets count as lost: of an interval's, as evenly as whole packets can be."""
    of, lost_of = np.repeat(rows, rows), np.repeat(lost, rows)
    is_lost = ((place + 1) * lost_of // of > place * lost_of // of).astype(np.int8)
    is_lost[np.repeat(packets == 0, rows)] = UNKNOWN
    return is_lost
