"""``netlab table calf``: policies x networks, beside the CALF paper's figures."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import click

from netlab.cli.command import ResultOption, echo_json, json_option, say
from netlab.cli.computing_command import ComputingCommand
from netlab.cli.progress_line import ProgressLine
from netlab.cli.table_folder import CellProgress, make_folder

if TYPE_CHECKING:
    from netlab.tables.calf_plan import TableSize
    from netlab.tables.calf_table import CalfTable

__all__ = ["calf"]

_FOLDER = click.Path(file_okay=False, path_type=Path)


@click.command("calf", cls=ComputingCommand)
@click.option(
    "-o", "--output", "folder", cls=ResultOption, type=_FOLDER, required=True,
    help="Folder for calf.md, calf.json, calf.png and the store of finished cells, cells.sqlite.",
)  # fmt: skip
@click.option("--quick", is_flag=True, help="Fewer episodes and training seeds: about a minute on two cores.")
@click.option("--episodes", type=click.IntRange(2, 10_000), help="A cell  [default: 100].")
@click.option("--training-seeds", type=click.IntRange(1, 5), help="The most a policy  [default: 5].")
@click.option("--jobs", type=click.IntRange(1, 1024), help="Processes  [default: one a CPU].")
@click.option(
    "--policies",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Folder of policy files NAME-SEED.safetensors, before those that are shipped.",
)
@click.option("--no-picture", is_flag=True, help="Leave calf.png out, as where matplotlib is missing.")
@json_option
def calf(
    folder: Path,
    quick: bool,
    episodes: int | None,
    training_seeds: int | None,
    jobs: int | None,
    policies: Path | None,
    no_picture: bool,
    as_json: bool,
) -> None:
    """Score policies on the CALF paper's networks, and write a page of tables beside its figures.

    A run that was ended goes on where it was: the same command plays what is not finished.

    \b
    Example:
      netlab table calf --quick -o quick
      netlab table calf --episodes 2 --training-seeds 1 -o small --json
    """  # noqa: D301
    from netlab.tables.calf_plan import plan_calf
    from netlab.tables.calf_run import calf_document, play_calf
    from netlab.tables.cell_runner import default_workers
    from netlab.tables.cell_store import STORE_NAME, CellStore

    with_picture = not no_picture and _can_draw()
    size = _size(quick, episodes, training_seeds)
    plan = plan_calf(size, policies)
    for policy in plan.missing:
        say(f"there is no policy {policy}: its row stays empty; netlab train {policy} makes one")
    make_folder(folder)
    command = _command(folder, size, policies)
    with CellStore(folder / STORE_NAME) as store, ProgressLine() as line:
        try:
            table = play_calf(plan, store, jobs or default_workers(), CellProgress(line))
        except KeyboardInterrupt:
            say(f"what is finished is kept in {folder / STORE_NAME}; the same command goes on from there")
            raise
    document = calf_document(table, command)
    _write(folder, table, document, command, with_picture=with_picture)
    if as_json:
        echo_json(document)
    else:
        names = "calf.md, calf.json" + (", calf.png" if with_picture else "")
        click.echo(f"{folder}: {names}; {table.cells} cells of {table.episodes} episodes")


def _can_draw() -> bool:
    """Return whether the picture can be drawn; say how to get it where it cannot."""
    from netlab.errors import FeatureMissing
    from netlab.tables.calf_figure import require_picture

    try:
        require_picture()
    except FeatureMissing as missing:
        say(f"calf.png is left out: {missing}; {missing.hint}; then the same command again draws it")
        return False
    return True


def _size(quick: bool, episodes: int | None, training_seeds: int | None) -> TableSize:
    from netlab.tables.calf_plan import QUICK, TableSize

    size = QUICK if quick else TableSize()
    return TableSize(
        episodes=size.episodes if episodes is None else episodes,
        training_seeds=size.training_seeds if training_seeds is None else training_seeds,
    )


def _command(folder: Path, size: TableSize, policies: Path | None) -> str:
    """Return what makes the same again."""
    from netlab.tables.calf_plan import TableSize

    words = ["netlab", "table", "calf", "-o", str(folder)]
    if size.episodes != TableSize().episodes:
        words += ["--episodes", str(size.episodes)]
    if size.training_seeds != TableSize().training_seeds:
        words += ["--training-seeds", str(size.training_seeds)]
    if policies is not None:
        words += ["--policies", str(policies)]
    return shlex.join(words)


def _write(
    folder: Path, table: CalfTable, document: dict[str, object], command: str, *, with_picture: bool
) -> None:
    import msgspec

    from netlab.documents import write_document
    from netlab.tables.calf_page import PICTURE, calf_page

    write_document(folder / "calf.md", calf_page(table, command, with_picture=with_picture).encode())
    write_document(folder / "calf.json", msgspec.json.format(msgspec.json.encode(document), indent=1) + b"\n")
    if with_picture:
        from netlab.tables.calf_figure import draw_calf

        write_document(folder / PICTURE, draw_calf(table))
