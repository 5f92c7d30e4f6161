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


def _quantile_later(q: float, bounds: Bounds, at: Circumstance) -> Bounds:
    """Allow for lateness, and for stragglers, which move the others up by as many places."""
    up_s = at.reference.quantile_s(min(q + at.allowed.stragglers, 1.0)) - at.reference.quantile_s(q)
    low, high = _later(bounds, at)
    return Bounds(low, high + up_s)


def _sd_wider(bounds: Bounds, at: Circumstance) -> Bounds:
    """Allow for what lateness does to a spread at most: as much as it is spread itself, whatever it follows."""
    low_s = bounds.low - at.allowed.later_s / 2 - _early_s(at)
    return Bounds(max(low_s, 0.0), bounds.high + at.allowed.later_s)


def _further_w1(bounds: Bounds, at: Circumstance) -> Bounds:
    return Bounds(bounds.low, bounds.high + at.allowed.later_s)


def _further_ks(bounds: Bounds, at: Circumstance) -> Bounds:
    return Bounds(bounds.low, bounds.high + at.allowed.stragglers)


def _lag_1_wider(bounds: Bounds, at: Circumstance) -> Bounds:
    """Allow for what a lateness of any correlation of its own does, that has nothing to do with the delay."""
    share = (at.allowed.later_s / at.sd_s) ** 2 if at.sd_s > 0.0 else math.inf
    return Bounds(max(bounds.low - 2.0 * share, -1.0), min(bounds.high + 2.0 * share, 1.0))


def _slower(bounds: Bounds, at: Circumstance) -> Bounds:
    """Allow for a last packet that is late."""
    part = at.allowed.later_s / at.duration_s if at.duration_s > 0.0 else 1.0
    low = bounds.low * (1.0 - min(part + at.allowed.stragglers, 1.0))
    return Bounds(low, bounds.high * (1.0 + part))


def _early_s(at: Circumstance) -> float:
    return RESOLUTION_S if at.allowed.later_s else 0.0


def _of_flow(measure: Callable[[Flow], float]) -> Callable[[Flow, Reference, Allowance], float]:
    return lambda flow, reference, allowed: measure(flow)


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
        _further_ks,
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
    Statistic("mean", "s", _of_flow(measures.delay_mean_s), _linear(1e-9), _later),
    Statistic("sd", "s", _of_flow(measures.delay_sd_s), _linear(1e-9), _sd_wider),
    _quantile("p5", 0.05),
    _quantile("p50", 0.50),
    _quantile("p95", 0.95),
    _quantile("p99", 0.99),
    Statistic("lag-1", "", _of_flow(measures.lag_1), _linear(1e-3), _lag_1_wider),
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
    Statistic("throughput", "bit/s", _of_flow(measures.throughput_bps), _linear(1.0), _slower),
)
"""In the order of reports. Bursts and runs say nothing of a flow without losses, and are then not judged."""
