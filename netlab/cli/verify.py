"""``netlab verify``: whether a link delivers what a profile asks for, on any engine and clock."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from netlab.cli.command import echo_json, json_option, output_option, say, the_engine
from netlab.cli.flow_options import flow_options, flow_plan
from netlab.cli.modelled_command import ModelledCommand, on_model
from netlab.cli.types import DURATION, SEED
from netlab.cli.verify_result import give_result, prepare_traces, traces_option, write_report
from netlab.engine_request import EngineRequest
from netlab.errors import SpecError

if TYPE_CHECKING:
    from netlab.engines import Engine
    from netlab.probe.probe_plan import ProbePlan
    from netlab.traces.conformance.allowance import Allowance
    from netlab.traces.pair import ProfilePair
    from netlab.traces.seed import Direction
    from netlab.traces.trace import Trace
    from netlab.verification.measurement import MeasuredFlow
    from netlab.verification.report import VerificationReport

__all__ = ["verify"]

_WARNINGS_SHOWN = 3
"""A schedule has one a step."""


class VerifyCommand(ModelledCommand):
    """Runs as any ``ModelledCommand``; with ``--all-engines`` on each of them, one by one."""

    def choose(self, ctx: click.Context, request: EngineRequest) -> Engine | None:
        """Return what carries the packets; nothing for the model and for all engines, which run elsewhere."""
        if not ctx.params["all_engines"]:
            return super().choose(ctx, request)
        if request.asks:
            hint = "leave one of them out"
            raise SpecError("--all-engines runs on all of them", key=request.words or "--check", hint=hint)
        return None


@click.command(cls=VerifyCommand)
@click.argument("profile")
@flow_options
@click.option("--seed", type=SEED, default=7, show_default=True, help="Of link and simulations.")
@click.option(
    "--allowance",
    "later_s",
    type=DURATION,
    help="How late every packet may be: 1ms in real time, 10us in virtual time.",
)
@click.option(
    "--data",
    type=click.Path(path_type=Path, dir_okay=False),
    multiple=True,
    help="Measurement that PROFILE was made from, in any format: how near does the link come?",
)
@output_option
@traces_option
@click.option("--all-engines", is_flag=True, help="On every engine and clock there is here, side by side.")
@json_option
@click.pass_context
def verify(
    ctx: click.Context,
    /,
    profile: str,
    seed: int,
    later_s: float | None,
    data: tuple[Path, ...],
    output: Path | None,
    traces: Path | None,
    all_engines: bool,
    as_json: bool,
    **flow: Any,
) -> None:
    """Measure whether a link delivers what PROFILE asks for; exit status 1 where it does not.

    A steady flow each way through a lab of two hosts; each statistic with bounds computed from the model for these
    very packets (docs/conformance.md). Of links that are as asked, one in a hundred fails. Unless told otherwise,
    a fitted profile gets packets at the rate it was fitted for, and in virtual time a schedule a whole pass.

    \b
    Example:
      netlab verify wifi-degraded --virtual-time
      netlab verify delay=30ms,jitter=5ms,loss=2% --count 1000 --on relay --output result.json
      netlab verify wifi-normal --for 10s --all-engines
      netlab verify wifi.toml --data wifi.csv --virtual-time
    """  # noqa: D301
    from netlab.documents import require_writable
    from netlab.traces.importers.catalogue import import_trace
    from netlab.traces.presets import parse_preset

    pair = parse_preset(profile)
    plan, allowed = _plan(ctx, pair, flow), _allowance(later_s)
    traces_of_data = [one for path in data for one in import_trace(path)]
    if traces is not None and not all_engines:
        prepare_traces(traces)
    if output is not None:
        require_writable("--output", output)
    if all_engines:
        ctx.exit(_verify_everywhere(output, traces, as_json))
    measured, report = _verify(ctx, profile, pair, plan, seed, allowed, traces_of_data)
    give_result(measured, report, output, traces, as_json)
    if not report.holds:
        sys.exit(1)


def _plan(ctx: click.Context, pair: ProfilePair, flow: dict[str, Any]) -> ProbePlan:
    """Return what is sent: as a person says, and where nobody does, what suits the profile and the clock."""
    from netlab.clock_name import in_virtual_time
    from netlab.verification.default_plan import default_count, default_rate_hz

    if ctx.get_parameter_source("rate_hz") is ParameterSource.DEFAULT:
        flow["rate_hz"] = default_rate_hz(pair)
    if flow["count"] is None and flow["duration_s"] is None:
        flow["count"] = default_count(pair, flow["rate_hz"], virtual=on_model(ctx) or in_virtual_time())
    return flow_plan(**flow)


def _allowance(later_s: float | None) -> Allowance:
    """Return the allowance of this process's clock, with what a person has said of it."""
    import msgspec

    from netlab.clock_name import in_virtual_time
    from netlab.traces.conformance.allowance import default_allowance

    default = default_allowance(virtual=in_virtual_time())
    return default if later_s is None else msgspec.structs.replace(default, later_s=later_s)


def _verify(
    ctx: click.Context,
    profile: str,
    pair: ProfilePair,
    plan: ProbePlan,
    seed: int,
    allowed: Allowance,
    data: Sequence[Trace],
) -> tuple[dict[Direction, MeasuredFlow], VerificationReport]:
    from netlab.verification.verify import verify_in_lab, verify_on_model

    warnings = pair.warnings()
    for text in warnings[:_WARNINGS_SHOWN]:
        say(text)
    if len(warnings) > _WARNINGS_SHOWN:
        say(f"and {len(warnings) - _WARNINGS_SHOWN} more of that kind: netlab profile show {profile}")
    if on_model(ctx):
        return verify_on_model(profile, pair, plan, seed, data=data, say=say)
    from netlab.cli.progress_line import ProgressLine
    from netlab.clock_name import in_virtual_time
    from netlab.verification.stage import asked_of
    from netlab.verification.tail import Tail

    engine = the_engine(ctx)
    lasts_s = plan.duration_s + Tail.of(asked_of(pair).values(), plan).duration_s
    clock = " by its clock, computed as fast as this machine can" if in_virtual_time() else ""
    say(f"the lab runs {engine.reason}; about {lasts_s:.0f} s{clock}")
    with ProgressLine() as line:
        return verify_in_lab(
            profile,
            pair,
            plan,
            seed,
            engine.wiring,
            allowed,
            data=data,
            watch=lambda share: line.count(f"measuring: {share:.0%}"),
            say=line.say,
        )


def _verify_everywhere(output: Path | None, traces: Path | None, as_json: bool) -> int:
    """Run this command on every engine and clock, one after the other; return the exit status."""
    from netlab.verification.everywhere import comparison_lines, verify_everywhere

    if traces is not None:
        hint = "give it to a run on one engine: --on guest"
        raise SpecError("each engine delivers traces of its own", key="--traces", hint=hint)
    found = verify_everywhere(_arguments_without(("--all-engines", "--json"), "--output"), say)
    if output is not None:
        write_report(output, found)
    if as_json:
        echo_json(found)
    else:
        for line in comparison_lines(found):
            click.echo(line)
    return 0 if found.holds else 1


def _arguments_without(flags: tuple[str, ...], option: str) -> list[str]:
    """Return what the command was given, without some flags and without one option and its value."""
    kept: list[str] = []
    arguments = iter(sys.argv[1:])
    for word in arguments:
        if word == option:
            next(arguments, None)
        elif word not in flags and not word.startswith(f"{option}="):
            kept.append(word)
    return kept
