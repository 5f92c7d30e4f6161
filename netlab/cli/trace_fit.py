"""``netlab trace fit`` and ``schedule``: from a measurement to a link that does the same."""

from __future__ import annotations

import math
import shlex
from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from msgspec import structs

from netlab.cli.command import NetlabCommand, ResultOption, echo_json, say
from netlab.cli.profile_output import require_profile
from netlab.cli.types import DURATION

if TYPE_CHECKING:
    from netlab.traces.fit.agreement import Agreement
    from netlab.traces.pair import ProfilePair
    from netlab.traces.trace import Trace

__all__ = ["fit", "schedule"]

MOST_STEPS = 20_000
"""Of both directions: so many are read, checked and made ready in about five seconds."""

_TRACE = click.argument("trace", type=click.Path(path_type=Path))
_BACK = click.argument("back", type=click.Path(path_type=Path), required=False)
_OUTPUT = click.option(
    "-o",
    "--output",
    cls=ResultOption,
    required=True,
    type=click.Path(path_type=Path),
    help="The profile to write; its name ends in .toml.",
)
_SPLIT = click.option(
    "--split", default="50:50", show_default=True, help="How a round trip is divided, FORWARD:BACK."
)
_BASE = click.option(
    "--base-delay",
    "base_delay_s",
    type=DURATION,
    help="Shortest delay of each direction, where clocks out of step do not say it.",
)
_NAME = click.option("--name", default="", help="What to call it  [default: the trace's file name].")
_FORMAT = click.option("--format", "format_name", default="", help="Format of the files  [default: by content].")
_JSON = click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")


@click.command(cls=NetlabCommand)
@_TRACE
@_BACK
@_OUTPUT
@_SPLIT
@click.option(
    "--packet-rate",
    "packet_rate_hz",
    type=click.FloatRange(1e-3, 1e6),
    default=50.0,
    show_default=True,
    help="Packets a second of the flow that the link is for; to another one it delivers other delays.",
)
@_BASE
@_NAME
@_FORMAT
@_JSON
def fit(
    trace: Path,
    back: Path | None,
    output: Path,
    split: str,
    packet_rate_hz: float,
    base_delay_s: float | None,
    name: str,
    format_name: str,
    as_json: bool,
) -> None:
    """Fit a profile to a trace, or to one of each direction: delays as a table, losses as a chain, a rate.

    TRACE and BACK are traces, or measurements in any format that can be imported. Each packet's delay is drawn on
    its own; `netlab trace schedule` keeps when things happened.

    \b
    Example:
      ping -c 20 -i 0.2 127.0.0.1 > ping.txt
      netlab trace fit ping.txt -o loopback.toml
    """  # noqa: D301
    from netlab.cli.fit_text import (
        coarse_lines,
        far_lines,
        loss_lines,
        origin_lines,
        rate_lines,
        rest_lines,
        unlike_lines,
    )
    from netlab.traces.fit.pair_fit import fit_pair
    from netlab.traces.fit.split import Split
    from netlab.traces.toml_profile import write_profile

    require_profile(output)
    traces = _read(trace, back, format_name)
    found = fit_pair(
        traces,
        split=Split.parse(split),
        packet_rate_hz=packet_rate_hz,
        base_delay_s=base_delay_s,
        name=name or trace.stem,
    )
    write_profile(found.pair, output)
    cautions = [*far_lines(found.agreements, "a schedule keeps what a table loses"), *unlike_lines(found.losses)]
    cautions += [*coarse_lines(found), *found.pair.warnings()]
    if as_json:
        document = _document(output, found.pair, found.agreements, cautions)
        named = zip(("forward", "back"), found.losses, found.rates, strict=True)
        document["directions"] = {way: {"loss": loss, "rate": rate} for way, loss, rate in named}
        echo_json(document)
        return
    lines = (
        origin_lines(output, found.pair, found.agreements),
        loss_lines(found.losses),
        rate_lines(found.rates),
        rest_lines(output, found.pair, cautions),
    )
    for line in chain.from_iterable(lines):
        click.echo(line)
    say(_next(output, trace, back))


@click.command(cls=NetlabCommand)
@_TRACE
@_BACK
@_OUTPUT
@click.option("--step", "step_s", type=DURATION, default="100ms", show_default=True, help="Length of a step.")
@click.option("--loop", is_flag=True, help="Begin again after the end.")
@click.option(
    "--outage",
    "outage_s",
    type=DURATION,
    help="Losses in a row for so long are an outage, a window of its own  [default: half a step].",
)
@_SPLIT
@click.option(
    "--packet-rate",
    "packet_rate_hz",
    type=click.FloatRange(1e-3, 1e6),
    help="Packets a second of the flow that is predicted for  [default: the trace's].",
)
@_BASE
@_NAME
@_FORMAT
@_JSON
def schedule(
    trace: Path,
    back: Path | None,
    output: Path,
    step_s: float,
    loop: bool,
    outage_s: float | None,
    split: str,
    packet_rate_hz: float | None,
    base_delay_s: float | None,
    name: str,
    format_name: str,
    as_json: bool,
) -> None:
    """Make a schedule of a trace, or of one of each direction: delay, loss and rate when they were.

    TRACE and BACK are traces, or measurements in any format that can be imported. Losses in a row become outages
    with the times they had.

    \b
    Example:
      ping -c 20 -i 0.2 127.0.0.1 > ping.txt
      netlab trace schedule ping.txt --step 200ms --loop -o loopback.toml
    """  # noqa: D301
    from netlab.cli.fit_text import far_lines, origin_lines, rest_lines
    from netlab.traces.fit.schedule_fit import fit_schedule
    from netlab.traces.fit.split import Split
    from netlab.traces.toml_profile import write_profile

    require_profile(output)
    traces = _read(trace, back, format_name)
    found = fit_schedule(
        traces,
        step_s,
        loop=loop,
        name=name or trace.stem,
        split=Split.parse(split),
        packet_rate_hz=packet_rate_hz,
        base_delay_s=base_delay_s,
        outage_s=outage_s,
    )
    _require_usable(found.pair, step_s)
    write_profile(found.pair, output)
    cautions = [*far_lines(found.agreements, _remedy(traces, step_s)), *found.pair.warnings()]
    if as_json:
        echo_json(_document(output, found.pair, found.agreements, cautions))
        return
    for line in origin_lines(output, found.pair, found.agreements):
        click.echo(line)
    for way, direction in (("forward", found.pair.forward), ("back", found.pair.back)):
        if direction.loss_ratio_mean:
            click.echo(f"loss      {way}: {direction.loss_ratio_mean:.2%} of the time")
    for line in rest_lines(output, found.pair, cautions):
        click.echo(line)
    say(_next(output, trace, back))


def _next(output: Path, trace: Path, back: Path | None) -> str:
    data = "".join(f" --data {shlex.quote(str(file))}" for file in (trace, back) if file is not None)
    return f"next: netlab verify {shlex.quote(str(output))}{data}"


def _read(trace: Path, back: Path | None, format_name: str) -> list[Trace]:
    from netlab.traces.importers.catalogue import import_trace

    files = [trace] if back is None else [trace, back]
    return [_named(one, file) for file in files for one in import_trace(file, format_name)]


def _named(trace: Trace, file: Path) -> Trace:
    """Return a trace that is called by its file where it does not say where it comes from."""
    if trace.source:
        return trace
    return structs.replace(trace, source="".join(one if one.isprintable() else "?" for one in file.name))


def _remedy(traces: Sequence[Trace], step_s: float) -> str:
    """Return what would keep more of a trace: nothing where a step is no longer than from packet to packet."""
    intervals_s = [trace.interval_s for trace in traces if trace.has_delays]
    return "a shorter step keeps more of it" if step_s > 1.001 * min(intervals_s, default=step_s) else ""


def _require_usable(pair: ProfilePair, step_s: float) -> None:
    """Refuse a schedule that commands would take long to read.

    Raises:
        ProfileError: It has too many steps; the hint says with which there are few enough.
    """
    from netlab.errors import ProfileError
    from netlab.units import format_duration

    directions = [pair.forward] if pair.back is pair.forward else [pair.forward, pair.back]
    steps = sum(len(one.segments()) for one in directions)
    if steps <= MOST_STEPS:
        return
    longer_s = math.ceil(step_s * 1e3 * steps / MOST_STEPS) / 1e3
    raise ProfileError(
        f"{steps} steps in the file: at most {MOST_STEPS}, since each command reads them all before it begins",
        hint=f"--step {format_duration(longer_s)}, or a part of the trace",
    )


def _document(
    output: Path, pair: ProfilePair, agreements: Sequence[Agreement], cautions: list[str]
) -> dict[str, Any]:
    return {
        "file": str(output),
        "name": pair.name,
        "description": pair.description,
        "reading": pair.reading,
        "agreements": agreements,
        "loss_ratio": {"forward": pair.forward.loss_ratio_mean, "back": pair.back.loss_ratio_mean},
        "provenance": pair.provenance,
        "warnings": cautions,
    }
