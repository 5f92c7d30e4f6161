"""``netlab run``: one policy in four places: in this process, on the model, in a lab, on two hosts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from netlab.cli.command import KernelCommand, echo_json, json_option, output_option, result_option, say, the_engine
from netlab.cli.control_options import control_options
from netlab.cli.env import incomplete_status
from netlab.cli.types import SEED, TASK_OPTION
from netlab.errors import SpecError

if TYPE_CHECKING:
    from netlab.engine_request import EngineRequest
    from netlab.engines import Engine
    from netlab.messages import ActuatorName, FallbackName
    from netlab.modes.mode import Mode
    from netlab.modes.report import RunReport

__all__ = ["run"]


class _Place(NamedTuple):
    """What a mode takes, beside what all take.

    Attributes:
        make: Makes it, of the context and its options.
        link: What is between environment and policy, where nobody has chosen a network.
        makes_labs: Whether it needs an engine.
        has_network: Whether a network can be chosen.
        has_agent: Whether there is an agent elsewhere.
    """

    make: Callable[[click.Context], Mode]
    link: str
    makes_labs: bool = False
    has_network: bool = False
    has_agent: bool = False


def _local(ctx: click.Context) -> Mode:
    from netlab.modes.local import LocalMode

    return LocalMode()


def _model(ctx: click.Context) -> Mode:
    from netlab.episode.corner import ModelCorner
    from netlab.modes.corner import CornerMode

    return CornerMode("model", ModelCorner())


def _lab(ctx: click.Context) -> Mode:
    from netlab.episode.corner import LabCorner
    from netlab.modes.corner import CornerMode

    engine = the_engine(ctx)
    return CornerMode("lab", LabCorner(engine.wiring, engine.reason))


def _remote(ctx: click.Context) -> Mode:
    from netlab.cli.env_text import ProgressText
    from netlab.modes.remote import RemoteMode

    return RemoteMode(ctx.params["address"], ctx.params["key_path"], ProgressText())


_PLACES: Mapping[str, _Place] = {
    "local": _Place(_local, "no network"),
    "model": _Place(_model, "a clean link", has_network=True),
    "lab": _Place(_lab, "a clean link", makes_labs=True, has_network=True),
    "remote": _Place(_remote, "a real network", has_agent=True),
}


class RunCommand(KernelCommand):
    """A command that makes labs in one of its modes, and runs in this process in the others."""

    engine_help = "With --mode lab: this machine's kernel, the guest's, or links by a relay."

    def choose(self, ctx: click.Context, request: EngineRequest) -> Engine | None:
        """Return what carries a lab's packets, nothing where no lab is made; see ``NetlabCommand.choose``."""
        mode = ctx.params["mode"]
        _refuse_distribution(ctx.params["network"])  # before a guest is started for it
        if _PLACES[mode].makes_labs:
            return super().choose(ctx, request)
        if request.asks:
            problem = f"mode {mode} makes no lab that could run on something"
            raise SpecError(problem, key=request.words, hint="--mode lab, or leave it out")
        return None


@click.command(cls=RunCommand)
@click.argument("policy")
@click.option(
    "--mode",
    type=click.Choice(list(_PLACES)),
    required=True,
    help="No network; netem's model; services in a lab; the agent on another host.",
)
@click.option("--network", default="", help="Of model and lab: preset, file or options  [default: a clean link].")
@click.option("--agent", "address", default="", metavar="HOST:PORT", help="Of remote: where the agent listens.")
@click.option(
    "--key-file",
    "--key",
    "key_path",
    default="",
    type=click.Path(),
    help="Of remote: the shared key, off loopback.",
)
@click.option("--task", default="", help="What is controlled  [default: what the policy was made for].")
@click.option(
    "--option",
    "options",
    type=TASK_OPTION,
    multiple=True,
    metavar="NAME=NUMBER",
    help="A number that changes the task, such as push_n=3; may be repeated.",
)
@control_options
@click.option(
    "--episodes", type=click.IntRange(1, 100_000), default=1, show_default=True, help="How many to play."
)
@click.option("--seed", type=SEED, default=0, show_default=True, help="Of links and episodes.")
@output_option
@result_option("--ticks", "Write a line of JSON a tick there.")
@json_option
@click.pass_context
def run(
    ctx: click.Context,
    policy: str,
    mode: str,
    network: str,
    address: str,
    key_path: str,
    task: str,
    options: tuple[tuple[str, float], ...],
    actuator: ActuatorName | None,
    horizon_ticks: int | None,
    fallback: FallbackName | None,
    episodes: int,
    seed: int,
    output: Path | None,
    ticks: Path | None,
    as_json: bool,
) -> None:
    """Play POLICY, a name or a file.safetensors, in one of four places; docs/modes.md compares them.

    \b
    Example:
      netlab run --mode local linear-predict
      netlab run --mode model linear-predict --network wifi-degraded --episodes 20
      netlab run --mode lab linear-predict --network wifi-degraded --virtual-time
      netlab run --mode remote linear-predict --agent 192.168.1.20:7447 --key-file robot.key
    """  # noqa: D301
    from netlab.modes.plan import RunPlan
    from netlab.modes.report import RunReport
    from netlab.modes.request import RunRequest

    _refuse_options(mode, network, address, key_path)
    _check_files({"POLICY": policy, "--network": network}, {"--output": output, "--ticks": ticks})
    request = RunRequest(
        policy=policy,
        task=task,
        options=dict(options),
        network=network,
        actuator=actuator,
        horizon_ticks=horizon_ticks,
        fallback=fallback,
        episodes=episodes,
        seed=seed,
    )
    place = _PLACES[mode].make(ctx)
    plan = RunPlan.of(request, place.between)
    for text in plan.pair.warnings() if plan.pair is not None else ():
        say(text)
    report = RunReport.of(place, plan, place.play(plan, ticks, say))
    try:
        if as_json:
            echo_json(report)
        else:
            _print_report(report)
    finally:  # a closed stdout does not keep the result from its file
        _write(report, output)
    if not report.run.complete:
        ctx.exit(incomplete_status(report.run.stopped_by))


def _refuse_options(mode: str, network: str, address: str, key_path: str) -> None:
    """Refuse what has no effect in a mode, and say in which one it has."""
    place = _PLACES[mode]
    if network and not place.has_network:
        hint = "--mode model or --mode lab, or leave it out"
        problem = f"{network[:80]!r}: in mode {mode} there is {place.link}, and none to choose"
        raise SpecError(problem, key="--network", hint=hint)
    for option, value in (("--agent", address), ("--key-file", key_path)):
        if value and not place.has_agent:
            hint = "--mode remote, or leave it out"
            raise SpecError(f"{value[:80]!r}: in mode {mode} no agent is elsewhere", key=option, hint=hint)
    if place.has_agent and not address:
        hint = "netlab agent serve --policy POLICY --bind HOST:PORT there, and --agent HOST:PORT here"
        raise SpecError(f"mode {mode} needs an agent on another host", key="--agent", hint=hint)


def _refuse_distribution(network: str) -> None:
    """Refuse what is no one network but a distribution of them, and say what to do with one."""
    from netlab.traces.toml_network import is_distribution

    if is_distribution(network):
        problem = f"{network[:80]!r} is a distribution of networks, and run plays one network"
        hint = (
            f"netlab eval POLICY --network {network[:80]} draws one for each episode; here name one: a preset "
            "(netlab profile list), a profile's file, options such as delay=30ms,loss=2%; nothing is a clean link"
        )
        raise SpecError(problem, key="--network", hint=hint)


def _check_files(read: Mapping[str, str], written: Mapping[str, Path | None]) -> None:
    """Refuse results that cannot be written, or that would overwrite what is read."""
    from netlab.documents import refuse_shared_files, require_writable

    results = {option: path for option, path in written.items() if path is not None}
    for option, path in results.items():
        require_writable(option, path)
    refuse_shared_files(results, {name: Path(words) for name, words in read.items() if "." in words})


def _write(report: RunReport, output: Path | None) -> None:
    import msgspec

    from netlab.documents import write_document

    if output is not None:
        write_document(output, msgspec.json.format(msgspec.json.encode(report), indent=1) + b"\n")


def _print_report(report: RunReport) -> None:
    from netlab.cli.env_text import print_result
    from netlab.cli.episode_text import control_words, way_line

    played = report.run
    link = report.network or _PLACES[report.mode].link
    click.echo(
        f"{report.mode}: {played.task}, policy {report.policy}, "
        f"{control_words(played.actuator, played.horizon_ticks)}, {link}"
    )
    click.echo(f"engine {report.engine}, {report.clock} time, seed {report.seed}")
    print_result(played)
    for way in report.delivered:
        click.echo(way_line(way))
