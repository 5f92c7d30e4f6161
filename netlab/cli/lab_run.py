"""``netlab lab run`` and ``netlab lab compare``: one spec on any corner, and how two corners differ."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from netlab.cli.command import NetlabCommand, echo_json, json_option, output_option, result_option, say, the_engine
from netlab.cli.episode_text import control_words, way_line
from netlab.cli.modelled_command import ModelledCommand, on_model
from netlab.cli.types import SEED
from netlab.errors import SpecError

if TYPE_CHECKING:
    from netlab.episode.corner import Corner
    from netlab.episode.report import EpisodeDifference, EpisodeReport
    from netlab.lab_spec import LabSpec

__all__ = ["compare", "run"]


@click.command(cls=ModelledCommand)
@click.argument("spec", type=click.Path(path_type=Path, dir_okay=False))
@click.option("--seed", type=SEED, help="Of links and episodes, in place of the spec's.")
@output_option
@result_option("--packets", "Write a line a packet there: its fate.")
@result_option("--ticks", "Write a line of JSON a tick there.")
@json_option
@click.pass_context
def run(
    ctx: click.Context,
    spec: Path,
    seed: int | None,
    output: Path | None,
    packets: Path | None,
    ticks: Path | None,
    as_json: bool,
) -> None:
    """Play the episode of a lab's SPEC (TOML), or run the commands of its hosts until they have ended.

    \b
    Example:
      netlab lab run examples/cartpole.toml
      netlab lab run examples/cartpole.toml --on model --output model.json
      netlab lab run examples/cartpole.toml --virtual-time --check --packets packets.txt
    """  # noqa: D301
    from netlab.documents import require_writable
    from netlab.lab_spec import read_lab_spec

    named = {"--output": output, "--packets": packets, "--ticks": ticks}
    written = {option: path for option, path in named.items() if path is not None}
    for option, path in written.items():
        require_writable(option, path)
    lab = read_lab_spec(spec)
    _refuse_to_run(lab, spec, written)
    corner = _corner(ctx)
    if lab.episode is None:
        _refuse_without_episode(spec, {"--output": output, "--ticks": ticks, "--json": as_json})
        ctx.exit(_run_commands(corner, lab, spec, seed, packets))
    report = _play(corner, lab, spec, seed)
    try:
        if as_json:
            echo_json(report)
        else:
            _print_report(report)
    finally:  # a closed stdout does not keep the result from its files
        _write(report, output, packets, ticks)
    if not report.run.complete:
        ctx.exit(1)


def _corner(ctx: click.Context) -> Corner:
    from netlab.episode.corner import LabCorner, ModelCorner

    if on_model(ctx):
        return ModelCorner()
    engine = the_engine(ctx)
    return LabCorner(engine.wiring, engine.reason)


def _play(corner: Corner, lab: LabSpec, spec: Path, seed: int | None) -> EpisodeReport:
    from netlab.episode.report import EpisodeReport
    from netlab.episode.run import EpisodePlan

    plan = EpisodePlan.of(lab, str(spec), seed)
    for text in plan.pair.warnings() if plan.pair is not None else ():
        say(text)
    begin_s = time.monotonic()
    played = corner.play(plan, say)
    say(f"took {time.monotonic() - begin_s:.2f} s")
    if "early" in played.packets.header:
        early = played.packets.header["early"]
        say(f"{early}: they took draws that were meant for others; corners will not agree")
    return EpisodeReport.of(plan, played)


def _refuse_to_run(lab: LabSpec, spec: Path, written: dict[str, Path]) -> None:
    """Refuse a lab with nothing to do, and results that would overwrite what one of its commands prints."""
    from netlab.documents import refuse_shared_files

    if lab.episode is None and not any(host.command for host in lab.hosts.values()):
        hint = "add an [episode] table (docs/four-corners.md) or a command to a host; netlab lab up lets it stay"
        raise SpecError("there is nothing to run: no episode and no command", spec, hint=hint)
    printed = {
        f"hosts.{name}.output": spec.parent / host.output for name, host in lab.hosts.items() if host.output
    }
    refuse_shared_files(written, printed)


def _refuse_without_episode(spec: Path, asked: dict[str, object]) -> None:
    for option, value in asked.items():
        if value:
            hint = "add an [episode] table (docs/four-corners.md), or leave the option out"
            raise SpecError(f"{option}: without an episode there is no result", spec, "episode", hint)


def _run_commands(corner: Corner, lab: LabSpec, spec: Path, seed: int | None, packets: Path | None) -> int:
    from netlab.cli.packet_file import write_packets

    ended = corner.run_commands(lab, str(spec), seed, say, is_recorded=packets is not None)
    if packets is not None and ended.packets is not None:
        write_packets(packets, ended.packets)
    for line in ended.lines:
        click.echo(line)
    return ended.status


def _write(report: EpisodeReport, output: Path | None, packets: Path | None, ticks: Path | None) -> None:
    import msgspec

    from netlab.cli.packet_file import write_packets
    from netlab.documents import write_document

    if output is not None:
        write_document(output, msgspec.json.format(msgspec.json.encode(report), indent=1) + b"\n")
    if packets is not None:
        write_packets(packets, report.packet_log)
    if ticks is not None:
        write_document(ticks, msgspec.json.Encoder().encode_lines(report.ticks))


def _print_report(report: EpisodeReport) -> None:
    """Print a few lines that a person reads and that a second run in virtual time prints as well."""
    episode, run = report.episode, report.run
    click.echo(
        f"{report.lab or 'lab'}: {episode.task}, policy {episode.policy}, "
        f"{control_words(episode.actuator, report.horizon_ticks)}, {report.profile or 'a clean link'}"
    )
    click.echo(f"engine {report.engine}, {report.clock} time, kernel {report.kernel}, seed {report.seed}")
    returns = " ".join(f"{value:g}" for value in run.returns)
    counters = run.counters
    click.echo(
        f"return {returns or '-'} in {counters.ticks} ticks, {counters.played_remote} of them played as decided"
    )
    for way in report.ways:
        click.echo(way_line(way))
    if run.stopped_by:
        click.echo(f"stopped by {run.stopped_by}")


@click.command(cls=NetlabCommand)
@click.argument("here", type=click.Path(path_type=Path, dir_okay=False))
@click.argument("there", type=click.Path(path_type=Path, dir_okay=False))
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def compare(here: Path, there: Path, as_json: bool) -> None:
    """Say where two corners differ that have played one spec: two files of `netlab lab run --output`.

    Exit status 1 where a tick or the fate of a packet differs.

    \b
    Example:
      netlab lab compare model.json virtual.json
    """  # noqa: D301
    from netlab.episode.report import compare_reports, read_report

    difference = compare_reports(read_report(here), read_report(there))
    if as_json:
        echo_json(difference)
    else:
        _print_difference(difference)
    if not difference.is_same:
        sys.exit(1)


def _print_difference(difference: EpisodeDifference) -> None:
    alone = _beyond(difference.only_here, difference.only_there)
    ticks, actions = _first(difference.first_tick), _first(difference.first_action)
    click.echo(f"ticks   {difference.ticks} compared, {ticks} ({difference.ticks_differ} do){alone}")
    click.echo(f"actions {actions}")
    returns = (" ".join(f"{value:g}" for value in values) or "-" for values in difference.returns)
    click.echo(f"return  {' | '.join(returns)}")
    for one in difference.packets:
        where = "" if one.first_fate is None else f", the first is packet {one.first_fate}"
        beyond = _beyond(one.only_here, one.only_there)
        unknown = f", {one.pending} of unknown fate" if one.pending else ""
        click.echo(
            f"{one.direction:7} {one.compared} packets compared, {one.fates} fates differ{where}{beyond}{unknown}"
        )
        click.echo(
            f"        {one.lengths} lengths differ; delays of {one.delays}: "
            f"{one.delay_mean_ns / 1e3:.3f} us apart in the mean, {one.delay_max_ns / 1e3:.3f} us at most"
        )


def _beyond(here: int, there: int) -> str:
    return f", beyond those {here} | {there}" if here or there else ""


def _first(tick: int | None) -> str:
    return "none differs" if tick is None else f"tick {tick} is the first to differ"
