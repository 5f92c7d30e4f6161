"""The statistics that conformance judges, one line each: how it is measured, on which scale, what is allowed.

::

    value --scale--> something nearly normal --over simulated flows--> Spread(middle, above, below)

Scales make tails alike: counts and distances are judged by roots of a kind, mean bursts by their logarithms.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import NamedTuple

from netlab.traces.conformance import measures
from netlab.traces.conformance.allowance import Allowance
from netlab.traces.conformance.flow import RESOLUTION_S, Flow
from netlab.traces.conformance.reference import Reference

__all__ = ["STATISTICS", "Bounds", "Circumstance", "Scale", "Statistic"]


class Scale(NamedTuple):
    """What a statistic is judged on.

    Attributes:
        of: From a value.
        back: To a value.
        least: The least spread that is taken for real, where simulated flows hardly differ.
    """

    of: Callable[[float], float]
    back: Callable[[float], float]
    least: float


class Bounds(NamedTuple):
    """Between what a statistic may lie."""

    low: float
    high: float


class Circumstance(NamedTuple):
    """What an allowance depends on.

    Attributes:
        allowed: The allowance.
        reference: What the simulated flows have in common.
        sd_s: Standard deviation of the delay that was asked for; NaN where nothing arrives.
        duration_s: From the first packet to the last.
    """

    allowed: Allowance
    reference: Reference
    sd_s: float
    duration_s: float


class Statistic(NamedTuple):
    """One statistic.

    Attributes:
        name: What reports call it.
        unit: Of its values: ``s``, ``bit/s``, ``packets``, or empty for a bare number.
        measure: Its value of a flow.
        scale: What it is judged on, for so many packets sent.
        widen: Adds what is allowed to the bounds that chance gives.
        is_distance: Whether only too much of it is wrong.
        is_share: Whether it counts packets, and is told as a share of those sent.
    """

    name: str
    unit: str
    measure: Callable[[Flow, Reference, Allowance], float]
    scale: Callable[[int], Scale]
    widen: Callable[[Bounds, Circumstance], Bounds]
    is_distance: bool = False
    is_share: bool = False


def _linear(least: float) -> Callable[[int], Scale]:
    scale = Scale(lambda value: value, lambda value: value, least)
    return lambda n: scale


def _root(least: float) -> Callable[[int], Scale]:
    scale = Scale(math.sqrt, lambda value: max(value, 0.0) ** 2, least)
    return lambda n: scale


def _log(least: float) -> Callable[[int], Scale]:
    scale = Scale(math.log, math.exp, least)
    return lambda n: scale


def _counted(n: int) -> Scale:
    """Return the scale of a count out of ``n``, whose variance hardly depends on the count (Anscombe 1948)."""
    turn, all_of_it = math.sqrt(n + 0.5), n + 0.75

    def of(value: float) -> float:
        return turn * math.asin(math.sqrt((value + 0.375) / all_of_it))

    def back(value: float) -> float:
        angle = min(max(value / turn, 0.0), math.pi / 2)
        return min(max(math.sin(angle) ** 2 * all_of_it - 0.375, 0.0), float(n))

    return Scale(of, back, 0.1)


def _as_it_is(bounds: Bounds, at: Circumstance) -> Bounds:
    return bounds


def _later(bounds: Bounds, at: Circumstance) -> Bounds:
    return Bounds(bounds.low - _early_s(at), bounds.high + at.allowed.later_s)


def _mean_later(bounds: Bounds, at: Circumstance) -> Bounds:
    low, high = _later(bounds, at)
    return Bounds(low, high + at.reference.straggling.mean_up_s)


def _quantile_later(q: float, bounds: Bounds, at: Circumstance) -> Bounds:
    """Allow for lateness, and for stragglers, which move others up by as many places, and at the end anywhere."""
    low, high = _later(bounds, at)
    place = q + at.allowed.stragglers
    if place >= 1.0:
        return Bounds(low, math.inf)
    return Bounds(low, high + at.reference.quantile_s(place) - at.reference.quantile_s(q))


def _sd_wider(bounds: Bounds, at: Circumstance) -> Bounds:
    """Allow for what is added: its own deviation at most, which is half of it for what lies in [0, later_s]."""
    straggling, half_s = at.reference.straggling, at.allowed.later_s / 2.0 + _early_s(at)
    low_s = bounds.low - half_s - straggling.sd_down_s
    return Bounds(max(low_s, 0.0), bounds.high + half_s + straggling.sd_up_s)


def _further_w1(bounds: Bounds, at: Circumstance) -> Bounds:
    return Bounds(bounds.low, bounds.high + at.allowed.later_s + at.reference.straggling.mean_up_s)


def _lag_1_wider(bounds: Bounds, at: Circumstance) -> Bounds:
    """Allow for lateness whatever it follows, and for stragglers that are not among the latest.

    A correlation is the cosine of an angle, between what precedes and what follows. Lateness of a deviation of
    half the allowance turns each of the two by an angle whose sine is that half over the delay's deviation.
    A straggler is in two pairs, and counts in each what the furthest of those kept does, squared, at most.
    """
    half_sds = at.allowed.later_s / 2.0 / at.sd_s if at.sd_s > 0.0 else 1.0
    turn = 2.0 * math.asin(min(half_sds, 1.0))
    astray = 2.0 * at.allowed.stragglers * at.reference.straggling.furthest_sds**2
    low, high = (math.acos(min(max(value, -1.0), 1.0)) for value in bounds)
    return Bounds(
        max(math.cos(min(low + turn, math.pi)) - astray, -1.0),
        min(math.cos(max(high - turn, 0.0)) + astray, 1.0),
    )


def _slower(bounds: Bounds, at: Circumstance) -> Bounds:
    """Allow for a last packet that is late, and for stragglers in whose place later packets count."""
    later_s = at.allowed.later_s + at.reference.tail_s
    part = at.duration_s / (at.duration_s + later_s) if at.duration_s > 0.0 else 0.0 if later_s else 1.0
    sooner = 1.0 + _early_s(at) / at.duration_s if at.duration_s > 0.0 else 1.0
    return Bounds(bounds.low * part, bounds.high * sooner)


def _early_s(at: Circumstance) -> float:
    return RESOLUTION_S if at.allowed.later_s else 0.0


def _of_flow(measure: Callable[[Flow], float]) -> Callable[[Flow, Reference, Allowance], float]:
    return lambda flow, reference, allowed: measure(flow)


def _of_prompt(measure: Callable[[Flow], float]) -> Callable[[Flow, Reference, Allowance], float]:
    """Measure what a single packet could spoil without those that may be late however much."""
    return lambda flow, reference, allowed: measure(flow.prompt(reference.stragglers))


def _quantile(name: str, q: float) -> Statistic:
    return Statistic(
        name,
        "s",
        _of_flow(functools.partial(measures.delay_quantile_s, q=q)),
        _linear(1e-9),
        functools.partial(_quantile_later, q),
    )


def _share(name: str, measure: Callable[[Flow], float]) -> Statistic:
    return Statistic(name, "", _of_flow(measure), _counted, _as_it_is, is_share=True)


STATISTICS: tuple[Statistic, ...] = (
    Statistic(
        "ks",
        "",
        lambda flow, reference, allowed: reference.kolmogorov_smirnov(flow, allowed),
        _root(0.005),
        _as_it_is,
        is_distance=True,
    ),
    Statistic(
        "wasserstein-1",
        "s",
        lambda flow, reference, allowed: reference.wasserstein_1(flow),
        _root(1e-5),
        _further_w1,
        is_distance=True,
    ),
    Statistic("mean", "s", _of_prompt(measures.delay_mean_s), _linear(1e-9), _mean_later),
    Statistic("sd", "s", _of_prompt(measures.delay_sd_s), _linear(1e-9), _sd_wider),
    _quantile("p5", 0.05),
    _quantile("p50", 0.50),
    _quantile("p95", 0.95),
    _quantile("p99", 0.99),
    Statistic("lag-1", "", _of_prompt(measures.lag_1), _linear(1e-3), _lag_1_wider),
    _share("loss", measures.lost),
    Statistic("loss-burst", "packets", _of_flow(measures.loss_burst), _log(0.02), _as_it_is),
    Statistic(
        "loss-runs",
        "",
        lambda flow, reference, allowed: reference.loss_run_distance(flow),
        _root(0.05),
        _as_it_is,
        is_distance=True,
    ),
    _share("reordered", measures.reordered),
    _share("duplicated", measures.duplicated),
    Statistic(
        "throughput",
        "bit/s",
        lambda flow, reference, allowed: measures.throughput_bps(flow, reference.stragglers),
        _linear(1.0),
        _slower,
    ),
)
"""In the order of reports. Bursts and runs say nothing of a flow without losses, and are then not judged."""
