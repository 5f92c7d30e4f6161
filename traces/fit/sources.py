"""Sources: which trace says what of which direction, and what has to be assumed where none does.

::

    forward, back --delays of both, clocks good for it--.
    forward, back + round trip (its least delay)  ------+-->  a source a direction, of delay, loss and rate
    round trip  --split--------------------------------'

What two traces of the directions say themselves goes before what has to be split. Knows no method of fitting.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from netlab.errors import TraceError
from netlab.traces.bound import bounded_duration_s
from netlab.traces.fit.split import Split
from netlab.traces.trace import ClockVerdict, Trace, TracedPath

__all__ = ["OVERTAKES", "DelaySource", "LossSource", "RateSource", "Sources", "find_sources"]

OVERTAKES = 0.01
"""From so large a share of packets that arrived before the one sent before them on, the path keeps no order."""


class DelaySource(NamedTuple):
    """Delays of one direction.

    Attributes:
        trace: Where they stand.
        base_s: What has to be added to each, where they are above the shortest one alone.
        share: The direction's share where they are round trips; None where they are the direction's own.
    """

    trace: Trace
    base_s: float = 0.0
    share: float | None = None

    @property
    def delay_s(self) -> NDArray[np.float64]:
        """Return the delay of each row, the round trip's where it is one; NaN where unknown, ``[n]``."""
        return self.trace.delay_s + self.base_s

    @property
    def overtaking_ratio(self) -> float:
        """Return the share of packets that arrived before the one sent before them, lost ones passed over."""
        arrived = ~np.isnan(self.trace.delay_s)
        sent_s = self.trace.t_s[arrived]
        later = np.diff(sent_s) > 0.0
        return float((np.diff(sent_s + self.trace.delay_s[arrived])[later] < -1e-9).mean()) if later.any() else 0.0

    @property
    def keeps_order(self) -> bool:
        """Tell whether the path does not let packets overtake, but for stray ones."""
        return self.overtaking_ratio < OVERTAKES


class LossSource(NamedTuple):
    """Losses of one direction; of the round trip where there is a share."""

    trace: Trace
    share: float | None = None


class RateSource(NamedTuple):
    """Rates of one direction."""

    trace: Trace


class Sources(NamedTuple):
    """What is known of both directions, forward first.

    Attributes:
        delay: Sources of delays; None where nothing is known.
        loss: Sources of losses; None likewise.
        rate: Sources of rates; None likewise.
        assumptions: What was taken for granted, a sentence each.
    """

    delay: tuple[DelaySource | None, DelaySource | None]
    loss: tuple[LossSource | None, LossSource | None]
    rate: tuple[RateSource | None, RateSource | None]
    assumptions: tuple[str, ...]

    @property
    def are_split(self) -> bool:
        """Tell whether the delays are a round trip's."""
        return any(source is not None and source.share is not None for source in self.delay)


def find_sources(traces: Sequence[Trace], split: Split, base_delay_s: float | None = None) -> Sources:
    """Return which trace says what of which direction.

    Args:
        traces: One to three: a round trip, forward, back, each at most once.
        split: How a round trip is divided.
        base_delay_s: Shortest delay of each direction, where clocks out of step do not say it.

    Raises:
        TraceError: No trace, two of one path, nothing in them, or no absolute delay and no base.
        ProfileError: The base is no delay.
    """
    by_path = _by_path(traces)
    there, back = by_path.get(TracedPath.FORWARD), by_path.get(TracedPath.BACK)
    whole = by_path.get(TracedPath.ROUND_TRIP)
    assumptions: list[str] = []
    sources = Sources(
        delay=_delays(there, back, whole, split, base_delay_s, assumptions),
        loss=_losses(there, back, whole, split, assumptions),
        rate=_rates(there, back, whole, assumptions),
        assumptions=(),
    )
    if not any((*sources.delay, *sources.loss, *sources.rate)):
        raise TraceError(
            "knows neither a delay, nor a loss, nor a rate: there is nothing to fit",
            traces[0].source or "trace",
            hint="netlab trace show says what a trace holds",
        )
    return sources._replace(assumptions=tuple(assumptions))


def _by_path(traces: Sequence[Trace]) -> dict[TracedPath, Trace]:
    if not traces:
        raise TraceError("there is no trace", "fit", hint="give one: a round trip, or forward and back")
    by_path: dict[TracedPath, Trace] = {}
    for trace in traces:
        if trace.path in by_path:
            raise TraceError(
                f"is of the path {trace.path.value}, and so is {by_path[trace.path].source or 'another trace'}",
                trace.source or "trace",
                hint="give one round trip, or one trace forward and one back",
            )
        by_path[trace.path] = trace
    return by_path


def _delays(
    there: Trace | None,
    back: Trace | None,
    whole: Trace | None,
    split: Split,
    base_delay_s: float | None,
    assumptions: list[str],
) -> tuple[DelaySource | None, DelaySource | None]:
    ways = [trace if trace is not None and trace.has_delays else None for trace in (there, back)]
    round_trip = whole if whole is not None and whole.has_delays else None
    if base_delay_s is not None:
        bounded_duration_s("base_delay_s", base_delay_s)
        if not any(way is not None and way.clocks is ClockVerdict.VARIATION_ONLY for way in ways):
            raise TraceError(
                f"a base delay of {base_delay_s:g} s is given, but its delays are absolute already",
                _name(there, back, whole),
                hint="leave --base-delay out",
            )
    if round_trip is not None and (None in ways or not _usable(ways, round_trip)):
        assumptions.append(_split_words(split))
        return DelaySource(round_trip, share=split.shares[0]), DelaySource(round_trip, share=split.shares[1])
    found = [_one_way(way, base_delay_s, round_trip, share) for way, share in zip(ways, split.shares, strict=True)]
    assumptions += _one_way_words(found, base_delay_s, round_trip, split)
    return found[0], found[1]


def _usable(ways: Sequence[Trace | None], round_trip: Trace) -> bool:
    """Tell whether one-way delays are good for more than the round trip split."""
    return all(way is not None and way.clocks is not ClockVerdict.UNKNOWN for way in ways)


def _one_way(
    way: Trace | None, base_delay_s: float | None, round_trip: Trace | None, share: float
) -> DelaySource | None:
    if way is None:
        return None
    if way.clocks is not ClockVerdict.VARIATION_ONLY:
        return DelaySource(way)
    if base_delay_s is not None:
        return DelaySource(way, base_delay_s)
    if round_trip is not None:
        return DelaySource(way, share * float(round_trip.delays_s.min()))
    raise TraceError(
        "its clocks are out of step: the delays are above the shortest one, which nobody knows",
        way.source or "trace",
        hint="declare the shortest one: --base-delay 20ms (half of a ping's shortest round trip, for one)",
    )


def _one_way_words(
    found: Sequence[DelaySource | None], base_delay_s: float | None, round_trip: Trace | None, split: Split
) -> list[str]:
    words = []
    known = [source for source in found if source is not None]
    if any(source.trace.clocks is ClockVerdict.VARIATION_ONLY for source in known):
        if base_delay_s is not None:
            words.append(f"the clocks are out of step: the shortest delay is declared, {base_delay_s * 1e3:g} ms")
        elif round_trip is not None:
            words.append(
                "the clocks are out of step: the shortest delays share the shortest round trip, "
                f"{split.words} (forward:back)"
            )
    if any(source.trace.clocks is ClockVerdict.CORRECTED for source in known):
        words.append("the clocks were corrected: the shortest delays of both directions are taken to be alike")
    if any(source.trace.clocks is ClockVerdict.UNKNOWN for source in known):
        words.append("nothing is known of the clocks: the delays are taken as they are")
    if len(known) == 1:
        missing = "back" if found[1] is None else "forward"
        words.append(f"no delay of the direction {missing} was measured: it is left without")
    return words


def _losses(
    there: Trace | None, back: Trace | None, whole: Trace | None, split: Split, assumptions: list[str]
) -> tuple[LossSource | None, LossSource | None]:
    ways = [trace if trace is not None and trace.has_losses else None for trace in (there, back)]
    if whole is not None and whole.has_losses and None in ways:
        if whole.loss_ratio:
            assumptions.append(
                f"losses of the round trip split {split.words} (forward:back): each way on its own, "
                "(1 - lost there)(1 - lost back) = 1 - lost"
            )
        return LossSource(whole, split.shares[0]), LossSource(whole, split.shares[1])
    found = [None if way is None else LossSource(way) for way in ways]
    return found[0], found[1]


def _rates(
    there: Trace | None, back: Trace | None, whole: Trace | None, assumptions: list[str]
) -> tuple[RateSource | None, RateSource | None]:
    ways = [RateSource(trace) if trace is not None and trace.has_rates else None for trace in (there, back)]
    if ways == [None, None] and whole is not None and whole.has_rates:
        assumptions.append("the rate is not of one direction: both have it")
        return RateSource(whole), RateSource(whole)
    return ways[0], ways[1]


def _split_words(split: Split) -> str:
    if split.is_symmetric:
        return "the round trip split in two equal, independent directions (deviation of each: its / sqrt 2)"
    return f"the round trip split {split.words} (forward:back), as declared: means and variances in these parts"


def _name(*traces: Trace | None) -> str:
    """Return what to call traces in a message."""
    return ", ".join(trace.source for trace in traces if trace is not None and trace.source) or "trace"
