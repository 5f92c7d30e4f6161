"""``netlab lab exec``, ``set`` and ``show``: what is asked of a lab that stays."""

from __future__ import annotations

import sys
from typing import Any

import click

from netlab.cli.command import echo_json, say
from netlab.cli.lab_command import StayingLabCommand

__all__ = ["exec_", "set_", "show"]


@click.command("exec", cls=StayingLabCommand, context_settings={"allow_interspersed_args": False})
@click.argument("name")
@click.argument("host")
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED)
def exec_(name: str, host: str, command: tuple[str, ...]) -> None:
    """Run COMMAND in a HOST of lab NAME, with our terminal, streams, folder and environment.

    Its exit status becomes ours. It ends with the lab, and with us.

    \b
    Example:
      netlab lab exec field client -- bash
      netlab lab exec field client -- sh -c 'ping -c 5 $NETLAB_PEER'
    """  # noqa: D301
    from netlab.holder.execution import run_in_lab

    words = command[1:] if command[0] == "--" else command
    if not words:
        raise click.UsageError("name a command to run in the host")
    if not words[0]:
        raise click.BadParameter("a program's name is empty", param_hint="COMMAND")
    sys.exit(run_in_lab(name, host, words))


@click.command("set", cls=StayingLabCommand)
@click.argument("name")
@click.argument("wishes", nargs=-1, required=True, metavar="LINK PROFILE | LINK=PROFILE...")
@click.option("--direction", type=click.Choice(["forward", "back"]), help="Change this direction alone.")
@click.option("--stop-playing", is_flag=True, help="Stop the lab's schedules first.")
@click.option("--json", "as_json", is_flag=True, help="Print the changes as one JSON document.")
def set_(name: str, wishes: tuple[str, ...], direction: Any, stop_playing: bool, as_json: bool) -> None:
    """Change links of lab NAME while they carry packets; those in flight stay in flight.

    Several links change at one moment. What is in force afterwards is read back. A shared medium is changed as
    medium:NAME, its rate, its queue or both.

    \b
    Example:
      netlab lab set field radio wifi-degraded
      netlab lab set field radio delay=30ms,loss=2% --direction forward
      netlab lab set field a-b=wifi-normal c-d=loss=100%
      netlab lab set field medium:ap rate=10mbit,queue=100
    """  # noqa: D301
    from netlab.holder.client import ask
    from netlab.holder.messages import LinksSet, SetLinks
    from netlab.holder.report_text import change_line
    from netlab.holder.set_words import parse_wishes

    request = SetLinks(wishes=parse_wishes(wishes), direction=direction, stop_playing=stop_playing)
    done = ask(name, request, LinksSet)
    for text in done.warnings:
        say(text)
    if as_json:
        echo_json(done.changes)
        return
    for change in done.changes:
        click.echo(change_line(change))


@click.command(cls=StayingLabCommand)
@click.argument("name")
@click.option("--json", "as_json", is_flag=True, help="Print it as one JSON document.")
def show(name: str, as_json: bool) -> None:
    """Show lab NAME as it is now, read back from the kernel: links, hosts, processes, what was changed.

    \b
    Example:
      netlab lab show field
      netlab lab show field --json
    """  # noqa: D301
    from netlab.holder.client import ask
    from netlab.holder.messages import ShowLab
    from netlab.holder.report import LabReport
    from netlab.holder.report_text import report_lines

    report = ask(name, ShowLab(), LabReport)
    if as_json:
        echo_json(report)
        return
    for line in report_lines(report):
        click.echo(line)
