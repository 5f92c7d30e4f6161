"""From traces to a schedule a direction, which keeps when things happened.

::

    trace --grid of steps--> level, spread, loss, rate a step --.
      '---runs of losses---> outages as windows of 100 % -------+--> equal neighbours merged --> Schedule
                                                                '--> what it delivers, against the trace

An outage begins and ends when it did, on the grid or not. The round trip's outage is both directions' at one
time: a packet is lost when it meets it there or on its way back, so it begins later than the first packet that
was lost was sent, by the way there. Knows no file.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePath
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from netlab.errors import ProfileError, TraceError
from netlab.traces.bound import bounded_number
from netlab.traces.fit.agreement import Agreement, origins_of
from netlab.traces.fit.changed_levels import changed_words
from netlab.traces.fit.counted import counted
from netlab.traces.fit.outages import find_outages
from netlab.traces.fit.schedule_steps import Direction, Window, WindowedSteps, joint_steps, to_schedule
from netlab.traces.fit.scheduled_delivery import scheduled_agreements
from netlab.traces.fit.sending import mean_interval_s
from netlab.traces.fit.sources import OVERTAKES, LossSource, Sources, find_sources
from netlab.traces.fit.split import SYMMETRIC, Split
from netlab.traces.fit.step_levels import DelayLevels, Grid, delay_levels, loss_levels, rate_levels
from netlab.traces.pair import MAX_NAME, ProfilePair
from netlab.traces.provenance import PACKET_RATES_HZ, Provenance
from netlab.traces.schedule import MAX_SCHEDULE_S, MAX_STEPS
from netlab.traces.trace import Trace
from netlab.units import format_duration

__all__ = ["ScheduleFit", "fit_schedule", "profile_name"]

LEAST_STEP_S = 1e-3
MAX_GRID = 2_000_000
OUTAGE_STEPS = 0.5
"""Losses in a row for at least so many steps become a window; shorter ones count in their step's loss ratio."""


class _Losses(NamedTuple):
    """Windows of a direction, and which rows of its source lie outside of all windows."""

    windows: Window
    outside: NDArray[np.bool_] | None


class ScheduleFit(NamedTuple):
    """A pair of schedules, and what is predicted of it beside what was measured."""

    pair: ProfilePair
    agreements: list[Agreement]


def fit_schedule(
    traces: Sequence[Trace],
    step_s: float,
    *,
    loop: bool = False,
    name: str = "",
    split: Split = SYMMETRIC,
    packet_rate_hz: float | None = None,
    base_delay_s: float | None = None,
    outage_s: float | None = None,
    lasts_s: float | None = None,
) -> ScheduleFit:
    """Return a schedule a direction that does over time what traces saw.

    Each step has the mean delay of its packets and their deviation, the mean rate, and the share of packets
    lost outside of outages. A step without packets holds the last one's delay.

    Args:
        traces: One to three: a round trip, forward, back, each at most once.
        step_s: Length of a step.
        loop: Begin again after the end.
        name: What to call it; after the first trace's source unless given.
        split: How a round trip is divided.
        packet_rate_hz: Packets a second of the flow that the prediction is for; the trace's own unless given.
        base_delay_s: Shortest delay of each direction, where clocks out of step do not say it.
        outage_s: How long packets have to be lost in a row for an outage; half a step unless given.
        lasts_s: Length of the schedule; as long as the traces last unless given, their last packet included.

    Returns:
        The pair, with its provenance: assumptions, and predicted distances to each trace.

    Raises:
        TraceError: The traces do not say what is needed.
        ProfileError: A number is out of range, or more steps than a schedule may have.
    """
    bounded_number("step_s", step_s, LEAST_STEP_S, 3600.0)
    if packet_rate_hz is not None:
        bounded_number("packet_rate_hz", packet_rate_hz, *PACKET_RATES_HZ)
    outage_s = OUTAGE_STEPS * step_s if outage_s is None else bounded_number("outage_s", outage_s, 0.0, 1e9)
    sources = find_sources(traces, split, base_delay_s)
    assumptions = list(sources.assumptions)
    duration_s, grid = _grid(traces, step_s, lasts_s)
    steps = _steps(sources, grid, duration_s, outage_s, assumptions)
    forward = back = to_schedule(steps, 0, duration_s, loop, packet_rate_hz)
    if steps.ordered[0] != steps.ordered[1] or not np.array_equal(*steps.states):
        back = to_schedule(steps, 1, duration_s, loop, packet_rate_hz)
    agreements = scheduled_agreements(sources, steps, duration_s, packet_rate_hz)
    step = format_duration(step_s)
    pair = ProfilePair(
        name or profile_name(traces),
        forward,
        back,
        "rtt" if sources.are_split else "oneway",
        f"{counted(steps.starts_s.size, 'step')} of {step} and outages, as they were measured",
        Provenance(
            method=f"schedule: level and spread of the delay, rate and loss in steps of {step}",
            origins=origins_of(traces, agreements),
            assumptions=tuple(assumptions),
            packet_rate_hz=packet_rate_hz,
        ),
    )
    return ScheduleFit(pair, agreements)


def profile_name(traces: Sequence[Trace]) -> str:
    """Return what to call what was made of traces: the file's name without its ending."""
    words = traces[0].source.split(",")[0].strip()
    stem = "".join(letter if letter.isprintable() else "?" for letter in PurePath(words).stem)
    return stem[:MAX_NAME] or "trace"


def _grid(traces: Sequence[Trace], step_s: float, lasts_s: float | None) -> tuple[float, Grid]:
    """Return how long the schedule lasts, at least a step, and the steps that cover it."""
    if lasts_s is None:
        lasts_s = max(_lasts_s(trace) for trace in traces)
    if lasts_s > MAX_SCHEDULE_S:
        raise TraceError(
            f"lasts {lasts_s / 86400:.3g} days: a schedule lasts at most {MAX_SCHEDULE_S / 86400:g}",
            traces[0].source or "trace",
            hint="take a part of it, or check the unit of its times",
        )
    if lasts_s / step_s > MAX_GRID:
        raise ProfileError(
            f"{lasts_s:g} s in steps of {step_s * 1e3:g} ms: more than {MAX_GRID} steps are not looked at",
            hint="take longer steps, or a part of the trace",
        )
    duration_s = max(round(lasts_s, 6), step_s)
    return duration_s, Grid(step_s, max(int(np.ceil(duration_s / step_s - 1e-6)), 1))


def _lasts_s(trace: Trace) -> float:
    """Return how long a trace lasts, its last packet included: else an outage before that would never end."""
    if trace.n < 2 or trace.duration_s > float(trace.t_s[-1]):
        return trace.duration_s
    return trace.duration_s + mean_interval_s(trace.t_s)


def _steps(
    sources: Sources, grid: Grid, duration_s: float, outage_s: float, assumptions: list[str]
) -> WindowedSteps:
    """Return the steps of both directions.

    Raises:
        ProfileError: There are more than a schedule may have.
    """
    levels = [delay_levels(source, grid) for source in sources.delay]
    rates = [rate_levels(source, grid) for source in sources.rate]
    losses = _windows(sources, levels, grid, outage_s)
    directions = []
    for way in range(2):
        loss = np.where(rates[way].dead, 1.0, loss_levels(sources.loss[way], grid, losses[way].outside))
        level_s, spread_s, _ = levels[way]
        directions.append(Direction(level_s, spread_s, loss, rates[way].rate_bps, losses[way].windows))
    assumptions += changed_words(levels, rates)
    if any(source is not None and not source.trace.has_loss_runs for source in sources.loss):
        assumptions.append(
            "losses of a step are taken as independent: it is known how many packets were lost, not which, so "
            "that outages cannot be seen"
        )
    if any(source is not None and source.trace.has_loss_runs for source in sources.loss):
        assumptions.append(
            f"packets lost in a row for {outage_s * 1e3:g} ms or longer are outages: all is lost then"
        )
    steps = joint_steps(directions[0], directions[1], grid, duration_s)
    if steps.starts_s.size > MAX_STEPS:
        raise ProfileError(
            f"{steps.starts_s.size} steps over {duration_s:g} s: a schedule has at most {MAX_STEPS}",
            hint=f"take longer steps than {grid.step_s * 1e3:g} ms, or a part of the trace",
        )
    # Through a rate packets never overtake, whatever they did in the trace.
    there, back = (
        rate is not None or source is None or source.keeps_order
        for rate, source in zip(sources.rate, sources.delay, strict=True)
    )
    if not (there and back):
        assumptions.append(f"{OVERTAKES:.0%} or more of the packets overtook another: the link keeps no order")
    return steps._replace(ordered=(there, back))


def _windows(sources: Sources, levels: Sequence[DelayLevels], grid: Grid, outage_s: float) -> list[_Losses]:
    """Return the outages of both directions as windows."""
    there, back = sources.loss
    if there is not None and back is not None and there.share is not None:
        return _round_trip_windows(there, back, levels[0], grid, outage_s)
    return [_one_way_windows(source, outage_s) for source in (there, back)]


def _one_way_windows(source: LossSource | None, outage_s: float) -> _Losses:
    if source is None:
        return _Losses(Window.none(), None)
    begin_s, end_s = _long_runs(source.trace, outage_s)
    return _Losses(Window(begin_s, end_s), _outside(source.trace, begin_s, end_s))


def _round_trip_windows(
    there: LossSource, back: LossSource, levels: DelayLevels, grid: Grid, outage_s: float
) -> list[_Losses]:
    """Return windows by which as many round trips are lost as were.

    Both directions are out from when the first lost packet met the outage on its way back (or at its end)
    until packets arrive again. An outage shorter than both ways is put into one direction: there is no
    moment at which it could hold in both. So it is where the split gives one direction all the losses.
    """
    begin_s, end_s = _long_runs(there.trace, outage_s)
    outside = _outside(there.trace, begin_s, end_s)
    later_s = levels.level_s[grid.step_of(begin_s)] if begin_s.size else np.empty(0)
    both = end_s - begin_s >= 2.0 * later_s
    if there.share in (0.0, 1.0):
        both = np.zeros(begin_s.size, dtype=bool)
    one_way = Window(np.where(both, begin_s + later_s, begin_s), end_s)
    shared = Window(begin_s[both] + later_s[both], end_s[both])
    if there.share == 0.0:
        return [_Losses(Window.none(), outside), _Losses(one_way, outside)]
    return [_Losses(one_way, outside), _Losses(shared, outside)]


def _long_runs(trace: Trace, outage_s: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    outages = find_outages(trace)
    long = (outages.length_s >= outage_s - 1e-9) & (outages.length_s > 0.0)
    return outages.begin_s[long], outages.end_s[long]


def _outside(trace: Trace, begin_s: NDArray[np.float64], end_s: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Tell of each row whether it lies outside of all windows, ``[n]``."""
    begun = np.searchsorted(begin_s, trace.t_s, side="right")
    ended = np.searchsorted(end_s, trace.t_s, side="right")
    outside: NDArray[np.bool_] = begun == ended
    return outside
