"""``netlab env``: an environment that a policy elsewhere controls."""

from __future__ import annotations

import signal
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import click

from netlab.cli.command import ResultOption, echo_json, json_option, output_option
from netlab.cli.control_options import ACTUATOR
from netlab.cli.env_text import ProgressText, print_result, say_line
from netlab.cli.service_command import ServiceCommand
from netlab.cli.types import DURATION, HORIZON, SEED, TASK_OPTION
from netlab.envs.config import DEFAULT_HOLD_LIMIT_TICKS, EnvConfig
from netlab.messages import FallbackName

if TYPE_CHECKING:
    from netlab.control.policy import Policy
    from netlab.envs.service import Progress
    from netlab.messages import TaskDescription

__all__ = ["env", "incomplete_status"]

_ASKED = EnvConfig(address="")
"""Every default, from the one table that has them."""


@click.group()
def env() -> None:
    """Run an environment that a remote policy controls."""


@env.command(cls=ServiceCommand)
@click.argument("task", default=_ASKED.task)
@click.option("--agent", "address", required=True, metavar="HOST:PORT", help="Where `netlab agent serve` listens.")
@click.option(
    "--key-file",
    "key_path",
    default="",
    type=click.Path(),
    help="The shared key (netlab key new); needed off loopback.",
)
@click.option(
    "--transport",
    type=click.Choice(["datagram", "stream"]),
    default=_ASKED.transport,
    show_default=True,
    help="UDP or TCP.",
)
@click.option(
    "--actuator",
    type=ACTUATOR,
    default=_ASKED.actuator,
    show_default=True,
    help="Play what came last, or each decision on the tick it was made for (planned: and what was foreseen "
    "beyond it), or one decision a turn, repeated until it was played.",
)
@click.option(
    "--horizon",
    "horizon_ticks",
    type=HORIZON,
    default=_ASKED.horizon_ticks,
    metavar="TICKS|adaptive",
    help="Needed with scheduled and planned: a decision on tick k is for tick k + TICKS (netlab profile show "
    "prints it). With adaptive the agent chooses, by what the edge measures.",
)
@click.option(
    "--fallback",
    type=click.Choice([*get_args(FallbackName), "local"]),
    default=_ASKED.fallback,
    show_default=True,
    help="What a tick does when nothing is there to play.",
)
@click.option(
    "--hold-limit",
    "hold_limit_ticks",
    type=click.IntRange(1),
    default=_ASKED.hold_limit_ticks,
    show_default=str(DEFAULT_HOLD_LIMIT_TICKS),
    help="The most ticks in a row that hold holds.",
)
@click.option(
    "--local-policy", default=_ASKED.local_policy, metavar="POLICY", help="Policy of the local fallback."
)
@click.option(
    "--option",
    "options",
    type=TASK_OPTION,
    multiple=True,
    metavar="NAME=NUMBER",
    help="A number that changes the task, for example limit_ticks of DoorKey; may be repeated.",
)
@click.option(
    "--rate",
    "rate_hz",
    type=click.FloatRange(0.1, 10_000),
    default=_ASKED.rate_hz,
    show_default="the task's own",
    help="Ticks a second.",
)
@click.option(
    "--episodes", type=click.IntRange(1), default=_ASKED.episodes, show_default=True, help="How many to play."
)
@click.option(
    "--seed",
    type=SEED,
    default=_ASKED.seed,
    show_default=True,
    help="Seed of the episodes' seeds.",
)
@click.option(
    "--wait",
    "wait_s",
    type=DURATION,
    default=f"{_ASKED.wait_s:g}s",
    show_default=True,
    help="How long to wait for the agent at first.",
)
@click.option("--without-agent", is_flag=True, help="Begin after --wait even if no agent has come.")
@click.option(
    "--start-when",
    "start_path",
    default="",
    metavar="FILE",
    help="With the agent there, begin when FILE appears; a number in it lets so many episodes begin.",
)
@click.option(
    "--start-delay",
    "start_delay_s",
    type=DURATION,
    default=_ASKED.start_delay_s,
    help="Then wait this long, so that several need not tick in the same instant.",
)
@click.option(
    "--tick-log",
    cls=ResultOption,
    default="",
    type=click.Path(dir_okay=False),
    help="Write a line of JSON a tick.",
)
@output_option
@click.option(
    "--progress-file",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Append a line of JSON about once a second.",
)
@json_option
def run(
    without_agent: bool,
    output: Path | None,
    progress_file: Path | None,
    as_json: bool,
    **options: Any,
) -> None:
    """Run TASK at a fixed rate; the policy at the agent decides, the network never holds up a tick.

    \b
    Example:
      netlab env run CartPole-v1 --agent 192.168.1.20:7447 --key-file robot.key --episodes 5
      netlab env run --agent 127.0.0.1:7447 --actuator scheduled --horizon adaptive
    """  # noqa: D301
    from netlab.documents import require_writable, write_document
    from netlab.envs.result import encode_result

    asked = options | {"options": dict(options["options"])}
    config = EnvConfig(require_connection=not without_agent, **asked)
    config.check()
    for option, name in (
        ("--tick-log", config.tick_log),
        ("--output", output),
        ("--progress-file", progress_file),
    ):
        if name:
            require_writable(option, Path(name))
    from netlab.envs.run import run_env_service
    from netlab.machine import machine

    reporter = ProgressLines(progress_file) if progress_file else ProgressText()
    result = run_env_service(
        config,
        make_local_policy=_maker(config.local_policy),
        progress=reporter,
        say=say_line,
        machine=machine(),
    )
    try:
        if as_json:
            echo_json(result)
        else:
            print_result(result)
    finally:  # neither a closed stdout nor a full disk keeps the result from the other one
        if output is not None:
            write_document(output, encode_result(result))
    if not result.complete:
        click.get_current_context().exit(incomplete_status(result.stopped_by))


def incomplete_status(stopped_by: str) -> int:
    """Return what a shell expects of a program that a signal has ended; 1 where it was none."""
    number = getattr(signal, stopped_by, None)
    return 128 + number if isinstance(number, signal.Signals) else 1


def _maker(policy: str) -> Callable[[TaskDescription], Policy] | None:
    """Return what makes the local fallback's policy: here the two rooms meet that do not know each other."""
    if not policy:
        return None
    from netlab.agents.policy import make_policy

    return lambda task: make_policy(policy, task)[0]


class ProgressLines:
    """Appends progress as lines of JSON; one write each, since it is called within a tick."""

    def __init__(self, path: Path) -> None:
        import msgspec

        self._file = path.open("ab", buffering=0)
        self._is_broken = False
        self._encode: Callable[[object], bytes] = msgspec.json.Encoder().encode

    def __call__(self, progress: Progress) -> None:
        """Append one line; a disk that takes no more ends the lines and not the run."""
        if self._is_broken:
            return
        try:
            self._file.write(self._encode(progress) + b"\n")
        except OSError as error:
            self._is_broken = True
            click.echo(f"netlab: --progress-file: {error.strerror}: no more lines", err=True)
