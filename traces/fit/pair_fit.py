"""From traces to a pair of profiles: one law of delay, one way of losing and one rate a direction.

::

    delays --split, quantiles--> law, changed by what keeping the order adds --.
    losses --runs in time------> ratio, or a chain at the flow's packet rate --+--> LinkProfile --delivers--.
    rates  --mean--------------> rate -----------------------------------------'                            |
       '------------------------- Kolmogorov-Smirnov, Wasserstein against the trace ------------------------'

When things happened is lost: each packet's delay is drawn on its own. ``schedule_fit.py`` keeps it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from netlab.traces.autocorrelation import lag_1
from netlab.traces.bound import MAX_DURATION_S, bounded_number
from netlab.traces.delivery import sent_delays_s
from netlab.traces.fit.agreement import Agreement, origins_of
from netlab.traces.fit.counted import counted
from netlab.traces.fit.delivered_rate import RateFit, fit_rate
from netlab.traces.fit.loss_runs import LEVEL, LossFit, fit_loss
from netlab.traces.fit.order_cost import compensate_order
from netlab.traces.fit.quantile_table import delay_fields, within_reach
from netlab.traces.fit.round_trip_split import split_round_trip
from netlab.traces.fit.schedule_fit import profile_name
from netlab.traces.fit.sending import mean_interval_s
from netlab.traces.fit.sources import OVERTAKES, DelaySource, Sources, find_sources
from netlab.traces.fit.split import SYMMETRIC, Split
from netlab.traces.pair import ProfilePair
from netlab.traces.profile import LinkProfile
from netlab.traces.provenance import PACKET_RATES_HZ, Provenance
from netlab.traces.trace import Trace, TracedPath
from netlab.units import format_duration

__all__ = ["PairFit", "fit_pair"]

PACKET_RATE_HZ = 50.0
SIMULATED = 100_000
COARSE = 2.0
"""From so many of the flow's packets to one of the trace's on, what happens between those goes unseen."""


class PairFit(NamedTuple):
    """A pair, and what it was made of.

    Attributes:
        pair: The profiles, with their provenance.
        losses: How each direction loses, forward first; None where nothing is known.
        rates: The rate of each; None likewise.
        agreements: What is predicted beside what was measured, for each trace whose delays are used.
        packet_rate_hz: Of the flow that it is for.
        interval_s: How far apart the packets of the traces were on average, the widest of those used.
    """

    pair: ProfilePair
    losses: tuple[LossFit | None, LossFit | None]
    rates: tuple[RateFit | None, RateFit | None]
    agreements: list[Agreement]
    packet_rate_hz: float
    interval_s: float

    @property
    def is_coarse(self) -> bool:
        """Tell whether the flow's packets come closer than the traces can tell of."""
        return self.packet_rate_hz * self.interval_s > COARSE


def fit_pair(
    traces: Sequence[Trace],
    *,
    split: Split = SYMMETRIC,
    packet_rate_hz: float = PACKET_RATE_HZ,
    base_delay_s: float | None = None,
    name: str = "",
) -> PairFit:
    """Return the pair of profiles that delivers, to a flow, what traces saw.

    Args:
        traces: One to three: a round trip, forward, back, each at most once.
        split: How a round trip is divided.
        packet_rate_hz: Packets a second of the flow: loss chains count them, and what order costs hangs on it.
        base_delay_s: Shortest delay of each direction, where clocks out of step do not say it.
        name: What to call it; after the first trace's source unless given.

    Raises:
        TraceError: The traces do not say what is needed.
        ProfileError: A number is out of range.
    """
    bounded_number("packet_rate_hz", packet_rate_hz, *PACKET_RATES_HZ)
    sources = find_sources(traces, split, base_delay_s)
    assumptions = list(sources.assumptions)
    losses = _losses(sources, packet_rate_hz, assumptions)
    rates = _rates(sources, assumptions)
    fields, method = _delays(sources, split, packet_rate_hz, losses, rates, assumptions)
    forward, back = (
        LinkProfile(
            **fields[way],
            loss=0.0 if (loss := losses[way]) is None else loss.at_rate(packet_rate_hz),
            rate_bps=None if (rate := rates[way]) is None else rate.rate_bps,
        )
        for way in range(2)
    )
    agreements = _agreements(sources, forward, back, packet_rate_hz)
    samples = sum(trace.n for trace in traces)
    pair = ProfilePair(
        name or profile_name(traces),
        forward,
        back,
        "rtt" if sources.are_split else "oneway",
        f"fitted to {counted(samples, 'sample')}, for {packet_rate_hz:g} packets a second",
        Provenance(
            method=method,
            origins=origins_of(traces, agreements),
            assumptions=tuple(dict.fromkeys(assumptions)),
            packet_rate_hz=packet_rate_hz,
        ),
    )
    intervals_s = [mean_interval_s(source.trace.t_s) for source in (*sources.delay, *sources.loss) if source]
    return PairFit(pair, losses, rates, agreements, packet_rate_hz, max(intervals_s, default=0.0))


def _losses(
    sources: Sources, packet_rate_hz: float, assumptions: list[str]
) -> tuple[LossFit | None, LossFit | None]:
    there, back = sources.loss
    first = None if there is None else fit_loss(there)
    if there is not None and back is not None and there.trace is back.trace:
        fits = first, None if first is None else first.for_direction(back.share)
    else:
        fits = first, None if back is None else fit_loss(back)
    if any(fit is not None and fit.lost and fit.runs is None for fit in fits):
        assumptions.append(
            "losses are taken as independent: it is known how many packets were lost, not which, so that bursts "
            "cannot be seen"
        )
    if any(fit is not None and fit.outage_s is not None for fit in fits):
        assumptions.append(
            f"losses come in bursts that last a time: the chain is for {packet_rate_hz:g} packets/s"
        )
    elif alone := [fit for fit in fits if fit is not None and fit.lost and fit.runs is not None]:
        interval = format_duration(float(f"{max(fit.interval_s for fit in alone):.3g}"))
        assumptions.append(
            f"losses are independent at the trace's interval of {interval} (their runs are as chance has them, "
            f"level {LEVEL:.0%}); shorter bursts cannot be seen"
        )
    return fits


def _rates(sources: Sources, assumptions: list[str]) -> tuple[RateFit | None, RateFit | None]:
    there, back = (None if source is None else fit_rate(source) for source in sources.rate)
    if there is not None or back is not None:
        assumptions.append("the rate is its mean over time; how it swung is lost")
    return there, back


def _delays(
    sources: Sources,
    split: Split,
    packet_rate_hz: float,
    losses: Sequence[LossFit | None],
    rates: Sequence[RateFit | None],
    assumptions: list[str],
) -> tuple[list[dict[str, Any]], str]:
    """Return the fields of both directions' delays, and how they were found."""
    if not any(sources.delay):
        return [{}, {}], "mean of the rate, losses; no delay was measured"
    ways, method = _measured(sources, split, assumptions)
    assumptions.append(_memory_words(sources))
    fields: list[dict[str, Any]] = []
    for way, delay_s in enumerate(ways):
        if way and ways[0] is delay_s and losses[0] == losses[1] and rates[0] == rates[1]:
            fields.append(fields[0])
            continue
        source, loss = sources.delay[way], losses[way]
        if delay_s is None or source is None:
            fields.append({})
        elif rates[way] is None and not source.keeps_order:
            fields.append({**delay_fields(_in_reach(delay_s, way, assumptions)), "ordered": False})
            assumptions.append(f"{OVERTAKES:.0%} or more of the packets overtook another: the link keeps no order")
        else:
            changed = compensate_order(delay_s, packet_rate_hz, 0.0 if loss is None else loss.direction_ratio)
            fields.append(delay_fields(_in_reach(changed.delay_s, way, assumptions)))
            if changed.is_changed:
                assumptions.append(f"what keeping the order adds is taken off, for {packet_rate_hz:g} packets/s")
    return fields, method


def _measured(
    sources: Sources, split: Split, assumptions: list[str]
) -> tuple[list[NDArray[np.float64] | None], str]:
    """Return the delays of both directions, one array where they are alike, and how they were found."""
    there, back = sources.delay
    if there is not None and back is not None and there.share is not None:
        whole_s = _known(there, assumptions)
        parts = split_round_trip(whole_s, split)
        if parts.clipped_ratio:
            assumptions.append(f"{parts.clipped_ratio:.2%} of the split delays would be below zero: put at zero")
        same = np.array_equal(parts.forward_s, parts.back_s)
        return [parts.forward_s, parts.forward_s if same else parts.back_s], parts.method
    found = [None if source is None else _known(source, assumptions) for source in (there, back)]
    return found, "quantiles of the delays of each direction"


def _known(source: DelaySource, assumptions: list[str]) -> NDArray[np.float64]:
    delay_s, cut = within_reach(source.delay_s[~np.isnan(source.delay_s)])
    if cut:
        assumptions.append(f"{_were(cut)} cut to {float(delay_s.max()):.3g} s, as far as netem's tables reach")
    return delay_s


def _in_reach(delay_s: NDArray[np.float64], way: int, assumptions: list[str]) -> NDArray[np.float64]:
    """Return a direction's law without what is too long for it, or moved out of reach by split or order's cost."""
    near_s, _ = within_reach(np.minimum(delay_s, MAX_DURATION_S))
    if cut := int((delay_s > near_s).sum()):
        assumptions.append(
            f"{('forward', 'back')[way]}: {cut / delay_s.size:.2%} of the fitted delays cut to "
            f"{float(near_s.max()):.3g} s, as far as netem's tables reach"
        )
    return near_s


def _were(cut: int) -> str:
    return f"{counted(cut, 'delay')} {'was' if cut == 1 else 'were'}"


def _memory_words(sources: Sources) -> str:
    source = next(source for source in sources.delay if source is not None)
    memory = lag_1(source.trace.delay_s)
    alike = "nothing can be said of neighbours"
    if memory is not None:
        interval = format_duration(float(f"{mean_interval_s(source.trace.t_s):.3g}"))
        alike = f"neighbours, {interval} apart, are correlated by {memory:.2f}"
    return f"each packet's delay is drawn on its own; in the trace {alike}"


def _agreements(
    sources: Sources, forward: LinkProfile, back: LinkProfile, packet_rate_hz: float
) -> list[Agreement]:
    """Return how what is delivered agrees with each trace whose delays are used.

    Of a round trip each packet is sent both ways at once, and its delays are added: two even flows, as
    ``compensate_order`` and ``netlab verify`` have them. An echo, sent when the way there is over, waits a little
    longer on a link that keeps order.
    """
    agreements: dict[TracedPath, Agreement] = {}
    for way, source in enumerate(sources.delay):
        if source is None or source.trace.path in agreements:
            continue
        delivered_s = [
            sent_delays_s(profile, packet_rate_hz, seed=seed, n=SIMULATED)
            for seed, profile in enumerate((forward, back))
        ]
        got_s = delivered_s[way] if source.share is None else delivered_s[0] + delivered_s[1]
        if not np.isnan(got_s).all():
            agreements[source.trace.path] = Agreement.of(source.trace.path, source.delay_s, got_s)
    return list(agreements.values())
