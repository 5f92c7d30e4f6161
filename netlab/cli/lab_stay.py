"""``netlab lab up``, ``list``, ``down`` and ``gc``: begin and end of labs that stay."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import click

from netlab.cli.command import echo_error, echo_json, say, the_request
from netlab.cli.lab_command import StayingLabCommand, StayingLabUpCommand
from netlab.cli.types import SEED

__all__ = ["down", "gc", "list_", "up"]


@click.command(cls=StayingLabUpCommand)
@click.argument("spec", type=click.Path(path_type=Path, dir_okay=False))
@click.option("--name", default="", help="In place of the spec's name.")
@click.option("--seed", type=SEED, help="Of its links, in place of the spec's.")
@click.option("--json", "as_json", is_flag=True, help="Print what is written down of it as one JSON document.")
@click.pass_context
def up(ctx: click.Context, spec: Path, name: str, seed: int | None, as_json: bool) -> None:
    """Make the lab of a TOML file and let it stay: its hosts' commands run, its schedules play.

    It lives until netlab lab down, in a process of its own. Ctrl-C before it is up leaves nothing.

    \b
    Example:
      netlab lab up lab.toml --name field --on relay
      netlab lab exec field client -- bash
      netlab lab down field
    """  # noqa: D301
    from netlab.holder.client import start_lab
    from netlab.holder.messages import LabOrder
    from netlab.working_folder import absolute_path

    engine: Literal["host", "relay"] = "relay" if the_request(ctx).engine == "relay" else "host"
    # Absolute, links in it unresolved: the spec's relative paths are relative to the folder it was named in.
    published = start_lab(LabOrder(spec=absolute_path(spec), name=name, seed=seed, engine=engine))
    for text in published.warnings:
        say(text)
    record = published.record
    if as_json:
        echo_json(record)
        return
    say(f"lab {record.name} is up (id {record.id}, held by process {record.holder.pid})")


@click.command("list", cls=StayingLabCommand)
@click.option("--json", "as_json", is_flag=True, help="Print them as one JSON document.")
def list_(as_json: bool) -> None:
    """List this user's labs that stay, the dead ones too, whose rests wait for netlab lab gc.

    \b
    Example:
      netlab lab list
      netlab lab list --json
    """  # noqa: D301
    from netlab.holder.directory import LabDirectory
    from netlab.holder.listing import list_labs, row_lines

    rows = list_labs(LabDirectory.of_this_user())
    if as_json:
        echo_json({"labs": rows})
        return
    if not rows:
        say("no labs")
        return
    for line in row_lines(rows):
        click.echo(line)


@click.command(cls=StayingLabCommand)
@click.argument("name", required=False)
@click.option("--all", "every", is_flag=True, help="All labs of this user.")
@click.option("--json", "as_json", is_flag=True, help="Print what was ended as one JSON document.")
@click.pass_context
def down(ctx: click.Context, name: str | None, every: bool, as_json: bool) -> None:
    """End a lab and wait until its holder, its processes and all it had in the kernel are gone.

    What fails on the way, or is not seen to go, is told, and the exit status is then 1.

    \b
    Example:
      netlab lab down field
      netlab lab down --all
    """  # noqa: D301
    from netlab.holder.directory import LabDirectory
    from netlab.holder.ending import end_labs

    if bool(name) == every:
        raise click.UsageError("give the name of one lab, or --all")
    directory = LabDirectory.of_this_user()
    ends = []
    for end in end_labs(directory, directory.entries() if every else [directory.find(name or "")]):
        ends.append(end)
        if not as_json:
            say(end.sentence())
        for error in end.errors():
            echo_error(error)
    if as_json:
        echo_json(
            {
                "ended": [end for end in ends if end.is_gone],
                "problems": [problem for end in ends for problem in end.problems],
            }
        )
    if any(end.problems for end in ends):
        ctx.exit(1)


@click.command(cls=StayingLabCommand)
@click.option("--json", "as_json", is_flag=True, help="Print what was removed as one JSON document.")
def gc(as_json: bool) -> None:
    """Remove what dead labs have left: their folder in the runtime folder and their control groups.

    Nothing that does not bear a dead lab's id is touched. The rest of a lab the kernel takes back by itself.

    \b
    Example:
      netlab lab gc
    """  # noqa: D301
    from netlab.holder.directory import LabDirectory

    removed = LabDirectory.of_this_user().tidy_up()
    if as_json:
        echo_json({"removed": removed})
    else:
        say(f"removed what {len(removed)} dead labs left {' '.join(removed)}".rstrip())
