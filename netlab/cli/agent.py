"""``netlab agent``: a policy that environments elsewhere ask."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from netlab.cli.command import NetlabCommand, echo_json, say, the_request
from netlab.cli.service_command import ServiceCommand
from netlab.cli.types import DURATION

if TYPE_CHECKING:
    from netlab.scoring.listed_policy import ListedPolicy

__all__ = ["agent"]


@click.group()
def agent() -> None:
    """Serve a policy to environments on other hosts."""


@agent.command(cls=ServiceCommand)
@click.option(
    "--bind",
    "address",
    default="127.0.0.1:7447",
    show_default=True,
    metavar="HOST:PORT",
    help="Where to listen; off loopback a key is needed.",
)
@click.option(
    "--policy",
    default="linear-predict",
    show_default=True,
    help="A name or a file.safetensors; netlab agent policies lists the names.",
)
@click.option("--key-file", "key_path", default="", type=click.Path(), help="The shared key (netlab key new).")
@click.option(
    "--transport",
    type=click.Choice(["datagram", "stream"]),
    default="datagram",
    show_default=True,
    help="UDP or TCP.",
)
@click.option(
    "--ready-file",
    "ready_path",
    default="",
    type=click.Path(dir_okay=False),
    help="Write the bound address there once edges may dial.",
)
@click.option(
    "--inference",
    "inference_s",
    type=DURATION,
    default=0.0,
    help="Declared cost of one decision, spent in virtual time (where computing is free) alone.",
)
@click.option("--json", "as_json", is_flag=True, help="At the end, print the counters as one JSON document.")
def serve(as_json: bool, **options: Any) -> None:
    """Answer the observations of any number of environments until Ctrl-C or SIGTERM.

    \b
    Example:
      netlab agent serve
      netlab agent serve --bind 0.0.0.0:7447 --key-file robot.key --policy cartpole-predictor
    """  # noqa: D301
    from netlab.agents.serve import AgentConfig, serve_agent

    counters = serve_agent(
        AgentConfig(**options),
        on_ready=lambda bound: say(f"{options['policy']} listens at {bound}"),
        report=say,
        verbose=the_request(click.get_current_context()).debug,
    )
    if as_json:
        echo_json(counters)
    else:
        remote = counters.remote
        say(f"{counters.sessions_opened} sessions, {remote.observations} observations, {remote.answered} answered")


@agent.command(cls=NetlabCommand)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document, in which each seed has its entry.")
def policies(as_json: bool) -> None:
    """List the policies that can be named: what they do, how they are played, what trained them.

    A trained one was trained with several seeds: NAME-3 is seed 3's, and NAME seed 1's.

    \b
    Example:
      netlab agent policies
      netlab run --mode model cartpole-predictor-3 --network wifi-degraded
    """  # noqa: D301
    from netlab.agents.shipped_policies import kind_of
    from netlab.scoring.listed_policy import list_policies

    listed = list(list_policies())
    if as_json:
        echo_json(listed)
        return
    kinds: dict[str, list[ListedPolicy]] = {}
    for one in listed:
        kinds.setdefault(one.name if one.training is None else kind_of(one.name), []).append(one)
    for name, policies_of_kind in kinds.items():
        _print_kind(name, policies_of_kind)


def _print_kind(name: str, policies: list[ListedPolicy]) -> None:
    """Print what all seeds of a policy have in common, and which there are."""
    from netlab.cli.episode_text import control_words

    policy = policies[0]
    seeds = [one.training.seed for one in policies if one.training is not None]
    ahead = policy.horizon_ticks
    played: str = policy.actuator if ahead is None else control_words(policy.actuator, ahead)
    click.echo(f"{name:19} {policy.summary}")
    click.echo(f"{'':19} {policy.task}, {played}")
    if policy.training is not None:
        training = policy.training
        others = f", seeds {', '.join(map(str, seeds))}" if len(seeds) > 1 else f", seed {seeds[0]}"
        click.echo(f"{'':19} {training.command}; {training.steps} steps, network {training.network}{others}")
