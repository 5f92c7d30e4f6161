"""What ``netlab trace fit`` and ``schedule`` say of what they made, as text for a person."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from netlab.traces.fit.counted import counted
from netlab.units import format_rate

if TYPE_CHECKING:
    from netlab.traces.fit.agreement import Agreement
    from netlab.traces.fit.delivered_rate import RateFit
    from netlab.traces.fit.loss_runs import Interval, LossFit
    from netlab.traces.fit.pair_fit import PairFit
    from netlab.traces.pair import ProfilePair

__all__ = ["coarse_lines", "far_lines", "loss_lines", "origin_lines", "rate_lines", "rest_lines", "unlike_lines"]

_WAYS = ("forward", "back")
_CAUTIONS = 5


def far_lines(agreements: Sequence[Agreement], remedy: str) -> list[str]:
    """Return a caution for each path on which what is predicted is no picture of what was measured.

    Args:
        agreements: Of the paths.
        remedy: What would be nearer; empty where nothing would.
    """
    end = f"; {remedy}" if remedy else ""
    return [f"{one.path.value}: {_far(one)}{end}" for one in agreements if one.is_far]


def _far(one: Agreement) -> str:
    """Return in what a prediction is far from the data: the plainest of it alone."""
    if one.has_other_mean:
        return f"the mean delivered is {_ms(one.predicted_mean_s)} where {_ms(one.measured_mean_s)} were measured"
    if one.has_other_tail:
        return (
            f"99 % of the packets are delivered within {_ms(one.predicted_p99_s)} where {_ms(one.measured_p99_s)} "
            "were measured"
        )
    return (
        f"what is delivered is {_ms(one.w1_s)} from the data on average, much beside their deviation of "
        f"{_ms(one.measured_sd_s)}"
    )


def coarse_lines(found: PairFit) -> list[str]:
    """Return a caution where the flow's packets come closer than those of the traces."""
    if not found.is_coarse:
        return []
    return [
        f"the trace's packets are {_ms(found.interval_s)} apart, the flow's {_ms(1 / found.packet_rate_hz)}: "
        "bursts of loss and delays that last for less than the trace's interval cannot be seen; measure at the "
        "flow's rate"
    ]


def unlike_lines(losses: Sequence[LossFit | None]) -> list[str]:
    """Return a caution for each direction whose longest run of losses is of another kind than the rest."""
    return [
        f"{way}: the longest run of losses, {_ms(loss.longest_s)}, is none that what was fitted makes (one so "
        f"long comes in {loss.longest_chance:.2g} of such traces): a schedule keeps it"
        for way, loss in zip(_WAYS, losses, strict=True)
        if loss is not None and loss.is_unlike
    ]


def origin_lines(output: Path, pair: ProfilePair, agreements: Sequence[Agreement]) -> Iterator[str]:
    """Yield what was made of what, and how the delays agree."""
    assert pair.provenance is not None
    yield f"{output}: {pair.description}"
    for origin in pair.provenance.origins:
        yield f"trace     {origin.path}: {origin.source}, {counted(origin.n, 'row')}, clocks {origin.clocks}"
    yield f"method    {pair.provenance.method}"
    for one in agreements:
        path = one.path.value
        yield (
            f"measured  {path}: {_ms(one.measured_mean_s)} +- {_ms(one.measured_sd_s)}, "
            f"99 % {_ms(one.measured_p99_s)}"
        )
        yield (
            f"delivers  {path}: {_ms(one.predicted_mean_s)} +- {_ms(one.predicted_sd_s)}, "
            f"99 % {_ms(one.predicted_p99_s)} (predicted)"
        )
        far = f"KS {one.ks:.3g}, Wasserstein {_ms(one.w1_s)}"
        yield f"distance  {path}: {far} (predicted, to the data it was made from)"
        yield f"memory    {path}: lag-1 {_lag(one.measured_lag_1)}, predicted {_lag(one.predicted_lag_1)}"


def loss_lines(losses: Sequence[LossFit | None]) -> Iterator[str]:
    """Yield how each direction loses."""
    for way, loss in zip(_WAYS, losses, strict=True):
        if loss is None:
            continue
        of = "" if loss.share is None else f", of the round trip {_share(loss.ratio)}"
        own = f"{loss.direction_ratio:.2%}" if of else _share(loss.ratio)
        runs = "in runs that nobody counted" if loss.runs is None else f"in {counted(loss.runs, 'run')}"
        yield f"loss      {way}: {own}{of}; {loss.lost} of {loss.packets} {runs}"
        if loss.outage_s is not None and loss.gap_s is not None and loss.loss_in_bad is not None:
            times = f"bad for {_span(loss.outage_s)}, good for {_span(loss.gap_s)}"
            yield f"bursts    {way}: {times}, lost while bad {_share(loss.loss_in_bad)}"
        elif loss.lost and loss.runs is not None:
            apart = f"at packets {_ms(loss.interval_s)} apart"
            by_chance = f"so few runs, or fewer, come by chance in {100.0 * loss.chance:.3g} % of such traces"
            yield f"bursts    {way}: none beyond chance {apart} ({by_chance})"


def rate_lines(rates: Sequence[RateFit | None]) -> Iterator[str]:
    """Yield the rate of each direction that has one."""
    for way, rate in zip(_WAYS, rates, strict=True):
        if rate is not None:
            swing = f"{_rate(rate.low_bps)} .. {_rate(rate.high_bps)} for 90 % of the time"
            yield f"rate      {way}: {_rate(rate.rate_bps)}, in the trace {swing}"


def rest_lines(output: Path, pair: ProfilePair, cautions: Sequence[str]) -> Iterator[str]:
    """Yield what was assumed, and what is to be known of it."""
    assert pair.provenance is not None
    for text in pair.provenance.assumptions:
        yield f"assumed   {text}"
    for text in cautions[:_CAUTIONS]:
        yield f"caution   {text}"
    if len(cautions) > _CAUTIONS:
        yield f"caution   and {len(cautions) - _CAUTIONS} more: netlab profile show {output}"


def _ms(duration_s: float) -> str:
    # Less than the kernel's nanosecond is what floating point leaves of nothing.
    return f"{(0.0 if abs(duration_s) < 0.5e-9 else duration_s) * 1e3:.4g} ms"


def _lag(correlation: float | None) -> str:
    return "unknown" if correlation is None else f"{round(correlation, 2) + 0.0:.2f}"


def _rate(rate_bps: float) -> str:
    return format_rate(float(f"{rate_bps:.3g}"))


def _share(interval: Interval) -> str:
    return f"{interval.value:.2%} ({interval.low:.2%} .. {interval.high:.2%})"


def _span(interval: Interval) -> str:
    return f"{_ms(interval.value)} ({_ms(interval.low)} .. {_ms(interval.high)})"
