"""``netlab table parity``: shipped policies as real services, and in the wrapper they were trained in."""

from __future__ import annotations

from pathlib import Path

import click

from netlab.cli.command import ResultOption, echo_json, json_option, say
from netlab.cli.computing_command import ComputingCommand
from netlab.cli.progress_line import ProgressLine

__all__ = ["parity"]

_REAL = {"guest": "guest, real time", "relay": "relay, real time", "host": "host, real time"}


@click.command("parity", cls=ComputingCommand)
@click.option(
    "-o", "--output", "folder", cls=ResultOption,
    type=click.Path(file_okay=False, path_type=Path), required=True,
    help="Folder for parity.md, parity.json and the store of finished cells, cells.sqlite.",
)  # fmt: skip
@click.option("--quick", is_flag=True, help="Ten episodes on the worst network, in virtual time alone.")
@click.option(
    "--real",
    "real",
    type=click.Choice(list(_REAL)),
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
    import msgspec

    from netlab.cli.table_folder import CellProgress, make_folder
    from netlab.documents import write_document
    from netlab.tables.cell_runner import default_workers
    from netlab.tables.cell_store import STORE_NAME, CellStore
    from netlab.tables.parity_page import largest, parity_page
    from netlab.tables.parity_plan import FULL, QUICK, plan_parity
    from netlab.tables.parity_run import play_parity

    make_folder(folder)
    engines = tuple(_REAL[name] for name in real or ("guest", "relay"))
    rows = plan_parity(QUICK if quick else FULL, engines)
    with CellStore(folder / STORE_NAME) as store, ProgressLine() as line:
        try:
            table = play_parity(rows, store, jobs or default_workers(), CellProgress(line))
        except KeyboardInterrupt:
            say(f"what is finished is kept in {folder / STORE_NAME}; the same command goes on from there")
            raise
    command = " ".join(
        [
            "netlab table parity",
            f"-o {folder}",
            *(["--quick"] if quick else []),
            *(f"--real {name}" for name in real),
        ]
    )
    document = {"command": command, **msgspec.to_builtins(table)}
    write_document(folder / "parity.md", parity_page(table, command).encode())
    write_document(folder / "parity.json", msgspec.json.format(msgspec.json.encode(document), indent=1) + b"\n")
    if as_json:
        echo_json(document)
        return
    line_ = largest(table)
    click.echo(
        f"{folder}: parity.md, parity.json; {len(table.lines)} lines, "
        f"{sum(one.verdict == 'equivalent' for one in table.lines)} equivalent; largest difference "
        f"{line_.share:.2%} of the range ({line_.policy} on {line_.network}, {line_.engine})"
    )
