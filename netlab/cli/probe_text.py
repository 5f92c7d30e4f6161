"""What ``netlab probe run`` says to a person."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from netlab.cli.command import say
from netlab.units import format_duration

if TYPE_CHECKING:
    from netlab.probe.probe_summary import PathSummary, ProbeSummary

__all__ = ["print_summary"]


def print_summary(summary: ProbeSummary) -> None:
    """Print a measurement; what a reader must know besides goes to stderr."""
    size_bytes, rate_hz = summary.plan.size_bytes, summary.rate_hz
    click.echo(f"{summary.sent} probes of {size_bytes} bytes to {summary.peer}, {rate_hz:.1f} a second")
    for path in summary.paths:
        _print_path(path)
    click.echo(f"clocks      {summary.clocks.verdict.value}: {summary.clocks.words}")
    for note in summary.notes:
        say(note)


def _print_path(path: PathSummary) -> None:
    lost = "unknown"
    if path.loss_ratio is not None and path.loss_low is not None and path.loss_high is not None:
        low, high = 100 * path.loss_low, 100 * path.loss_high
        lost = f"{path.lost} of {path.judged} = {100 * path.loss_ratio:.2f}% ({low:.2f} .. {high:.2f}%)"
    click.echo(
        f"{path.path:11} lost {lost}, {path.duplicates} duplicates, {path.reordered} reordered, {path.late} late"
    )
    if path.delay is None:
        return
    delay = path.delay
    quantiles = " ".join(f"p{float(share) * 100:g} {_short(value)}" for share, value in delay.quantiles_s.items())
    click.echo(
        f"{'':11} mean {_short(delay.mean_s)} sd {_short(delay.sd_s)} min {_short(delay.min_s)} {quantiles}"
    )


def _short(duration_s: float) -> str:
    """Return a duration in four digits, whole nanoseconds."""
    return format_duration(round(float(f"{duration_s:.4g}"), 9))
