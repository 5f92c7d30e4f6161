"""``netlab lab up``, ``list``, ``down`` and ``gc``: begin and end of labs that stay."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from netlab.cli.command import echo_json, the_request
from netlab.cli.lab_command import StayingLabCommand, StayingLabUpCommand

if TYPE_CHECKING:
    from netlab.holder.directory import LabEntry

__all__ = ["down", "gc", "list_", "up"]


@click.command(cls=StayingLabUpCommand)
@click.argument("spec", type=click.Path(path_type=Path, dir_okay=False))
@click.option("--name", default="", help="In place of the spec's name.")
@click.option("--seed", type=click.IntRange(0, 2**64 - 1), help="Of its links, in place of the spec's.")
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
        click.echo(f"netlab: {text}", err=True)
    record = published.record
    if as_json:
        echo_json(record)
        return
    click.echo(f"netlab: lab {record.name} is up (id {record.id}, held by process {record.holder.pid})", err=True)


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

    rows = [_row(entry) for entry in LabDirectory.of_this_user().entries()]
    if as_json:
        echo_json({"labs": rows})
        return
    if not rows:
        click.echo("netlab: no labs", err=True)
        return
    click.echo(f"{'NAME':<20} {'ID':<6} {'STATE':<10} {'ON':<5} {'HOLDER':>7} {'AGE':>8}  SPEC")
    for row in rows:
        age = "-" if row["age_s"] is None else _age(row["age_s"])
        click.echo(
            f"{row['name'] or '?':<20} {row['id']:<6} {row['state']:<10} {row['engine'] or '?':<5} "
            f"{row['holder_pid'] or '?':>7} {age:>8}  {row['spec'] or row['problem']}"
        )


def _row(entry: LabEntry) -> dict[str, Any]:
    record = entry.record
    return {
        "name": entry.name,
        "id": entry.id,
        "state": _state(entry),
        "engine": record.engine if record else None,
        "holder_pid": record.holder.pid if record else None,
        "age_s": time.time() - record.made_s if record else None,
        "spec": record.spec if record else None,
        "problem": entry.problem,
    }


def _state(entry: LabEntry) -> str:
    from netlab.holder.record import SOCKET_FILE

    if not entry.alive:
        return "dead"
    if entry.record is None:
        return "unreadable"
    return "up" if (entry.path / SOCKET_FILE).exists() else "starting"


def _age(age_s: float) -> str:
    minutes, seconds = divmod(int(max(0.0, age_s)), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}h{minutes:02}m" if hours else f"{minutes}m{seconds:02}s"


@click.command(cls=StayingLabCommand)
@click.argument("name", required=False)
@click.option("--all", "every", is_flag=True, help="All labs of this user.")
@click.option("--json", "as_json", is_flag=True, help="Print what was ended as one JSON document.")
def down(name: str | None, every: bool, as_json: bool) -> None:
    """End a lab and wait until its holder, its processes and all it had in the kernel are gone.

    \b
    Example:
      netlab lab down field
      netlab lab down --all
    """  # noqa: D301
    from netlab.errors import NetlabError
    from netlab.holder.client import end_lab
    from netlab.holder.directory import LabDirectory

    if bool(name) == every:
        raise click.UsageError("give the name of one lab, or --all")
    directory = LabDirectory.of_this_user()
    ended, problems = [], []
    for entry in directory.entries() if every else [directory.find(name or "")]:
        try:
            was_alive = end_lab(directory, entry)
        except NetlabError as error:  # the others are to end all the same
            if not every:
                raise
            problems.append(error)
            continue
        ended.append({"name": entry.name, "id": entry.id, "was_alive": was_alive})
        if not as_json:
            how = "is down" if was_alive else "was dead; what it left is removed"
            click.echo(f"netlab: lab {entry.name or entry.id} {how}", err=True)
    if as_json:
        echo_json({"ended": ended, "problems": [str(error) for error in problems]})
    if problems:
        raise problems[0]


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
        click.echo(f"netlab: removed what {len(removed)} dead labs left {' '.join(removed)}".rstrip(), err=True)
