"""A verification as a table for people: asked, delivered, bounds, a line a statistic."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from netlab.clock_name import REAL
from netlab.namespaces.play_log import PlayerCounts
from netlab.traces.conformance.allowance import Allowance, default_allowance
from netlab.traces.conformance.likeness import Likeness
from netlab.traces.conformance.report import DirectionConformance, StatisticConformance
from netlab.verification.report import VerificationReport

__all__ = ["delivered_text", "report_lines", "value_text"]

_NOTHING = "-"
_UNBOUNDED = "unbounded"
"""At most: of a quantile that stragglers alone can make any value."""
_COARSE = 0.1
"""An allowance of more than this share of the delays hides what they are like."""
_SHARES = ("loss", "reordered", "duplicated", "ks")


def report_lines(report: VerificationReport) -> Iterator[str]:
    """Yield the lines of a report."""
    found = report.conformance
    allowed = found.allowance
    yield f"{report.profile}: engine {found.engine}, {found.clock} time, seed {report.seed}"
    yield from _allowance_lines(allowed)
    yield f"a link that is exactly as asked fails this by chance once in {1.0 / found.level:.0f} times"
    if report.changes is not None:
        yield _changes_text(report.changes)
    if report.pass_s is not None:
        yield f"measured: {min(report.plan.duration_s, report.pass_s):g} s of a pass of {report.pass_s:g} s"
    for direction in found.directions:
        yield ""
        yield from _direction_lines(direction)
    if report.likeness:
        yield ""
    for like in report.likeness:
        yield from _likeness_lines(like, found.clock)
    yield ""
    yield "pass: delivered as asked" if report.verdict == "pass" else report.verdict


def _likeness_lines(like: Likeness, clock: str) -> Iterator[str]:
    verdict = "as near as a link as asked comes" if like.holds else "FURTHER than a link as asked comes"
    yield f"{like.source}, {like.path}: {like.delivered} delays beside {like.measured} measured: {verdict}"
    beyond = f", of which {like.ks_beyond:.3f} beyond the lateness allowed" if like.ks_beyond != like.ks else ""
    ks = (like.expected_ks, like.most_ks, like.predicted_ks)
    yield f"  Kolmogorov-Smirnov {like.ks:.3f}{beyond}: {_beside_text(ks, _ratio_text)}"
    w1_s = (like.expected_w1_s, like.most_w1_s, like.predicted_w1_s)
    yield f"  Wasserstein {_ms_text(like.w1_s)}: {_beside_text(w1_s, _ms_text)}"
    if like.allowed_s > _COARSE * like.median_s:
        allowed, median = _ms_text(like.allowed_s), _ms_text(like.median_s)
        yield f"  {allowed} of lateness are allowed beside a median of {median}: little can be seen"
        if clock == REAL:
            finest_ms = default_allowance(virtual=True).later_s * 1e3
            yield f"  of such short delays in real time; --virtual-time allows {finest_ms:g} ms a way"
        else:
            yield "  of such short delays"


def _ratio_text(value: float) -> str:
    return f"{value:.3f}"


def _ms_text(value_s: float) -> str:
    return f"{value_s * 1e3:.3f} ms"


def _beside_text(values: Sequence[float | None], text: Callable[[float], str]) -> str:
    expected, most, predicted = ("" if value is None else text(value) for value in values)
    beside = f"expected {expected}, at most {most}"
    return f"{beside}; the fit predicted {predicted}" if predicted else beside


def _allowance_lines(allowed: Allowance) -> Iterator[str]:
    yield f"allowed beside chance: every packet up to {allowed.later_s * 1e3:g} ms later"
    if allowed.stragglers:
        share = f"{allowed.stragglers * 100:g} %"
        yield f"  and {share} of the packets however much: mean, sd, wasserstein-1, lag-1 and throughput leave the"
        yield f"  latest {share} out"


def _changes_text(changes: PlayerCounts) -> str:
    return (
        f"schedule: {changes.applied} steps put in force, {changes.late_max_s * 1e3:.3g} ms late at most; "
        f"{changes.superseded} superseded, {changes.failed} refused"
    )


def _direction_lines(direction: DirectionConformance) -> Iterator[str]:
    yield (
        f"{direction.direction}: {direction.arrived} of {direction.packets} packets of "
        f"{direction.length_bytes} bytes arrived, sent over {direction.duration_s:.2f} s"
    )
    if direction.left_out:
        yield f"  {direction.left_out} more were sent right after a step, which may have missed them: not compared"
    yield f"  {'':14}{'asked':>15}{'delivered':>15}{'at least':>15}{'at most':>15}"
    for one in direction.statistics:
        verdict = {True: "pass", False: "FAIL", None: "not judged"}[one.holds]
        cells = [value_text(one, value) for value in (one.asked, one.delivered, one.low, one.high)]
        if one.high is None and one.low is not None:
            cells[-1] = _UNBOUNDED
        yield f"  {one.name:14}{''.join(f'{cell:>15}' for cell in cells)}  {verdict}"


def delivered_text(one: StatisticConformance) -> str:
    """Return what was delivered in a cell, marked where it fails."""
    return value_text(one, one.delivered) + ("!" if one.holds is False else "")


def value_text(one: StatisticConformance, value: float | None) -> str:
    """Return a value in the unit that people use for it."""
    if value is None:
        return _NOTHING
    if one.unit == "s":
        return f"{value * 1e3:.3f} ms"
    if one.unit == "bit/s":
        return f"{value / 1e3:.2f} kbit/s"
    if one.name in _SHARES:
        return f"{value:.2%}"
    return f"{value:.3f}"
