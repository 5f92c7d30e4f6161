"""``netlab agent``: a policy that environments elsewhere ask."""

from __future__ import annotations

from typing import Any

import click

from netlab.cli.command import NetlabCommand, echo_json, say, the_request
from netlab.cli.service_command import ServiceCommand
from netlab.cli.types import DURATION

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
      netlab agent serve --bind 0.0.0.0:7447 --key-file robot.key --policy linear-predict
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
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def policies(as_json: bool) -> None:
    """List the policies that can be served.

    \b
    Example:
      netlab agent policies
    """  # noqa: D301
    from netlab.agents.policy import RECIPES

    if as_json:
        echo_json([{"name": recipe.name, "summary": recipe.summary} for recipe in RECIPES.values()])
        return
    for recipe in RECIPES.values():
        click.echo(f"{recipe.name:16} {recipe.summary}")
