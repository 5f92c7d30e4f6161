"""``netlab table parity``: shipped policies as real services, and in the wrapper they were trained in."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from netlab.cli.command import ResultOption, echo_json, json_option, say
from netlab.cli.computing_command import ComputingCommand
from netlab.cli.progress_line import ProgressLine
from netlab.cli.table_folder import CellProgress, make_folder
from netlab.errors import SpecError

if TYPE_CHECKING:
    from netlab.engine_request import EngineRequest
    from netlab.engines import Engine
    from netlab.tables.parity_plan import ParityRow
    from netlab.tables.parity_table import ParityTable

__all__ = ["parity"]

_REAL = ("guest", "relay", "host")
_DEFAULT_REAL = ("guest", "relay")


class ParityCommand(ComputingCommand):
    """Starts guests and labs itself, each row's by what the row says."""

    def choose(self, ctx: click.Context, request: EngineRequest) -> Engine | None:
        """Return nothing: it runs here; see ``NetlabCommand.choose``."""
        if request.asks:
            problem = "each row says itself what carries its packets, and by which clock"
            hint = "leave it out; --real says what is played in real time too"
            raise SpecError(problem, key=f"table parity {request.words}", hint=hint)
        return None


@click.command("parity", cls=ParityCommand)
@click.option(
    "-o", "--output", "folder", cls=ResultOption,
    type=click.Path(file_okay=False, path_type=Path), required=True,
    help="Folder for parity.md, parity.json and the store of finished cells, cells.sqlite.",
)  # fmt: skip
@click.option("--quick", is_flag=True, help="Ten episodes on the worst network, in virtual time alone.")
@click.option(
    "--real",
    "real",
    type=click.Choice(_REAL),
    multiple=True,
    help="In real time too, on this; may be given often  [default: guest, relay].",
)
@click.option("--jobs", type=click.IntRange(1, 1024), help="Processes, in virtual time  [default: one a CPU].")
@json_option
def parity(folder: Path, quick: bool, real: tuple[str, ...], jobs: int | None, as_json: bool) -> None:
    """Play shipped policies as services in labs and in the training wrapper, and test that they score the same.

    A run that was ended goes on where it was: the same command plays what is not finished.

    \b
    Example:
      netlab table parity --quick -o quick
    """  # noqa: D301
    from netlab.tables.cell_runner import default_workers
    from netlab.tables.cell_store import STORE_NAME, CellStore
    from netlab.tables.parity_run import parity_document, play_parity

    rows = _plan(quick, real)
    make_folder(folder)
    with CellStore(folder / STORE_NAME) as store, ProgressLine() as line:
        try:
            table = play_parity(rows, store, jobs or default_workers(), CellProgress(line))
        except KeyboardInterrupt:
            say(f"what is finished is kept in {folder / STORE_NAME}; the same command goes on from there")
            raise
    command = _command(folder, quick, real)
    document = parity_document(table, command)
    _write(folder, table, document, command)
    if as_json:
        echo_json(document)
    else:
        click.echo(_summary(folder, table))


def _plan(quick: bool, real: tuple[str, ...]) -> list[ParityRow]:
    """Return the rows; what they run on is looked for here, before anything is played."""
    from netlab.tables.parity_engines import REAL, engine_kernel
    from netlab.tables.parity_plan import FULL, QUICK, plan_parity

    if quick and real:
        words = " ".join(f"--real {name}" for name in real)
        raise SpecError("--quick plays in virtual time alone", key=words, hint="leave one of the two out")
    engines = () if quick else tuple(REAL[name] for name in dict.fromkeys(real or _DEFAULT_REAL))
    return plan_parity(QUICK if quick else FULL, engines, lambda engine: engine_kernel(engine, say))


def _command(folder: Path, quick: bool, real: tuple[str, ...]) -> str:
    """Return what makes the same again."""
    words = ["netlab table parity", f"-o {folder}", *(["--quick"] if quick else [])]
    return " ".join([*words, *(f"--real {name}" for name in dict.fromkeys(real))])


def _write(folder: Path, table: ParityTable, document: dict[str, object], command: str) -> None:
    import msgspec

    from netlab.documents import write_document
    from netlab.tables.parity_page import parity_page

    write_document(folder / "parity.md", parity_page(table, command).encode())
    write_document(folder / "parity.json", msgspec.json.format(msgspec.json.encode(document), indent=1) + b"\n")


def _summary(folder: Path, table: ParityTable) -> str:
    from netlab.tables.parity_page import largest, verdict_words

    line = largest(table)
    return (
        f"{folder}: parity.md, parity.json; {len(table.lines)} lines: {verdict_words(list(table.lines))}; largest "
        f"difference {line.share:.2%} of the range ({line.policy} on {line.network}, {line.engine})"
    )
