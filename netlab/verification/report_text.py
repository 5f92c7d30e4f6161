"""A verification as a table for people: asked, delivered, bounds, a line a statistic."""

from __future__ import annotations

from collections.abc import Iterator

from netlab.traces.conformance.report import DirectionConformance, StatisticConformance
from netlab.verification.report import VerificationReport

__all__ = ["delivered_text", "report_lines", "value_text"]

_NOTHING = "-"
_SHARES = ("loss", "reordered", "duplicated", "ks")


def report_lines(report: VerificationReport) -> Iterator[str]:
    """Yield the lines of a report."""
    found = report.conformance
    allowed = found.allowance
    yield f"{report.profile}: engine {found.engine}, {found.clock} time, seed {report.seed}"
    stragglers = f" and {allowed.stragglers:.1%} of the packets more" if allowed.stragglers else ""
    yield (
        f"allowed beside chance: {allowed.later_s * 1e3:g} ms later{stragglers}; "
        f"of links as asked {found.level:.2%} fail"
    )
    for direction in found.directions:
        yield ""
        yield from _direction_lines(direction)
    yield ""
    failed = [f"{one.direction} {name}" for one in found.directions for name in one.failed]
    yield "pass: delivered as asked" if found.holds else f"FAIL: {', '.join(failed)}"


def _direction_lines(direction: DirectionConformance) -> Iterator[str]:
    yield (
        f"{direction.direction}: {direction.arrived} of {direction.packets} packets of "
        f"{direction.length_bytes} bytes arrived, sent over {direction.duration_s:.2f} s"
    )
    yield f"  {'':14}{'asked':>15}{'delivered':>15}{'at least':>15}{'at most':>15}"
    for one in direction.statistics:
        verdict = {True: "pass", False: "FAIL", None: "not judged"}[one.holds]
        cells = (value_text(one, value) for value in (one.asked, one.delivered, one.low, one.high))
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
