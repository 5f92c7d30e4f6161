"""What ``netlab env run`` tells a person: lines on stderr while it runs, the result on stdout."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

import click

from netlab.cli.command import printable

if TYPE_CHECKING:
    from netlab.envs.result import RunResult
    from netlab.envs.service import Progress

__all__ = ["ProgressText", "print_result", "say_line"]

_BUSY = "   (is the machine busy? End what runs beside it; a lab can have --virtual-time)"
_BUSY_RATIO = 0.01
"""A share of late ticks that a machine with time to spare does not have."""


def say_line(line: str) -> None:
    """Print a line on stderr; a stderr that takes no more costs the line and not the run."""
    with contextlib.suppress(OSError):
        click.echo(printable(line), err=True)  # a peer may have worded it


class ProgressText:
    """Prints a line on stderr after each episode."""

    def __init__(self) -> None:
        self._episodes_done = 0

    def __call__(self, progress: Progress) -> None:
        """Print the last return where an episode has ended."""
        if len(progress.returns) > self._episodes_done:
            self._episodes_done = len(progress.returns)
            missing = progress.disconnected_ticks
            say_line(
                f"episode {self._episodes_done}/{progress.episodes}: return {progress.returns[-1]:g}"
                + (f"   ({missing} tick{'s' * (missing != 1)} without agent)" if missing else "")
            )


def _describe_return(result: RunResult) -> str:
    count = len(result.returns)
    if not count:
        return "none: no episode came to its end"
    if count == 1:
        return f"{result.return_mean:.1f}   (1 episode)"
    return f"{result.return_mean:.1f} +- {result.return_sem:.1f}   ({count} episodes)"


def _print_deadlines(result: RunResult, ticks: int) -> None:
    misses = result.deadline_misses
    if misses is None:
        click.echo(f"not claimable   {result.not_claimable}")
        return
    click.echo(
        f"deadline misses {misses} ticks over 2 ms late ({misses / ticks:.2%}), {result.skipped_ticks} skipped"
        + (_BUSY if misses > _BUSY_RATIO * ticks else "")
    )


def print_result(result: RunResult) -> None:
    """Print a result on stdout."""
    counters = result.counters
    if not result.episodes:
        click.echo("interrupted: no episode was played")
        return
    ticks = max(counters.ticks, 1)
    click.echo(f"return          {_describe_return(result)}")
    if result.latency.p50_ms is not None:
        click.echo(f"obs -> action   p50 {result.latency.p50_ms:.1f} ms, p99 {result.latency.p99_ms:.1f} ms")
    click.echo(
        f"action misses   {counters.missed} of {counters.ticks} ticks ({counters.missed / ticks:.1%}): "
        f"{counters.missed_neutral} neutral, {counters.missed_hold} held, {counters.missed_local} local"
        + (f", {counters.missed_failed} for want of a fallback" if counters.missed_failed else "")
    )
    _print_deadlines(result, ticks)
    if result.disconnected_ticks:
        click.echo(f"without agent   {result.disconnected_ticks} ticks; {printable(result.last_loss)}")
    for fault in result.faults:
        click.echo(f"fault           {printable(fault)}")
    if not result.complete:
        click.echo(f"incomplete      {result.stopped_by}")
