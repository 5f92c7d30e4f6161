"""``netlab trace import`` and ``formats``: a measurement in any known format as a trace file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from netlab.cli.command import NetlabCommand, ResultOption, echo_json, say
from netlab.cli.types import DURATION
from netlab.errors import TraceError

if TYPE_CHECKING:
    from netlab.traces.trace import Trace

__all__ = ["formats", "import_"]

_LONG_FILE_BYTES = 20 << 20


@click.command("import", cls=NetlabCommand)
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "-o",
    "--output",
    cls=ResultOption,
    type=click.Path(path_type=Path),
    help="The trace file to write, packed if it ends in .gz; of two directions OUT.forward.csv and OUT.back.csv.",
)
@click.option("--format", "format_name", default="", help="The file's format  [default: recognised by content].")
@click.option(
    "--interval", "interval_s", type=DURATION, help="From sample to sample, instead of the file's times."
)
@click.option("--bin", "bin_s", type=DURATION, help="Over which packets are counted for a rate.")
@click.option("--column", "columns", multiple=True, metavar="NAME=MEANING", help="Of a CSV: rtt=delay_ms.")
@click.option(
    "--kind",
    type=click.Choice(("tcp", "icmp", "wifi")),
    help="Of a packet capture, what to take  [default: what it has most of].",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def import_(
    file: Path,
    output: Path | None,
    format_name: str,
    interval_s: float | None,
    bin_s: float | None,
    columns: tuple[str, ...],
    kind: str | None,
    as_json: bool,
) -> None:
    """Read a measurement in any known format and write it as a trace file; say what it holds.

    Without --output nothing is written.

    \b
    Example:
      ping -c 3 -i 0.2 127.0.0.1 > ping.txt
      netlab trace import ping.txt -o loopback.csv
    """  # noqa: D301
    from netlab.cli.progress_line import ProgressLine
    from netlab.traces.importers.catalogue import import_trace
    from netlab.traces.importers.importer import ImportOptions
    from netlab.traces.trace_figures import trace_figures

    with ProgressLine() as progress:
        if file.is_file() and file.stat().st_size > _LONG_FILE_BYTES:
            progress.say(f"reading {file}, {file.stat().st_size >> 20} MiB")
        options = ImportOptions(
            interval_s=interval_s,
            bin_s=bin_s,
            columns=_columns(columns),
            kind=kind or "",
            progress=progress.count,
        )
        traces = import_trace(file, format_name, options)
    written = _write(traces, output, file) if output is not None else [None] * len(traces)
    figures = [trace_figures(trace) for trace in traces]
    if as_json:
        echo_json([{"file": path and str(path), "trace": one} for path, one in zip(written, figures, strict=True)])
        return
    from netlab.cli.trace_text import figures_line

    for path, one in zip(written, figures, strict=True):
        click.echo(f"{click.format_filename(path or file)}: {figures_line(one)}")
    if output is None:
        say("nothing is written; -o OUT.csv writes the trace")


def _columns(texts: tuple[str, ...]) -> dict[str, str]:
    columns: dict[str, str] = {}
    for text in texts:
        name, equals, meaning = text.rpartition("=")
        if not equals or not name or not meaning:
            hint = "NAME=MEANING: the file's column, and t_s, delay_ms, lost, copies, rate_mbps, ..."
            raise TraceError(f"{text[:80]!r} names no column and its meaning", "--column", hint=hint)
        if name in columns:
            raise TraceError(f"{name[:80]!r} is given two meanings", "--column", hint="leave one out")
        columns[name] = meaning
    return columns


def _write(traces: list[Trace], output: Path, read: Path) -> list[Path]:
    """Write each trace into a file of its own; nothing where one of them cannot be written."""
    from netlab.documents import refuse_shared_files, require_writable
    from netlab.traces.trace_file import write_traces

    if str(output) == "-":
        hint = "name a file: -o OUT.csv; what it holds, in numbers, is printed by --json"
        raise TraceError("-: a trace is not written to standard output", "--output", hint=hint)

    files = _names([trace.path for trace in traces], output)
    refuse_shared_files({f"--output ({file.name})": file for file in files}, {"FILE": read})
    for file in files:
        require_writable("--output", file)
    write_traces(dict(zip(files, traces, strict=True)))
    return files


def _names(paths: list[Any], output: Path) -> list[Path]:
    """Return a file's name for each trace: a round trip, or whatever is alone, has the one that was asked for."""
    if len(paths) == 1:
        return [output]
    packed = ".gz" if output.suffix == ".gz" else ""
    plain = Path(output.name.removesuffix(packed))
    stem, suffix = plain.stem, (plain.suffix or ".csv") + packed
    return [
        output.with_name(f"{stem}{suffix}" if path == "round-trip" else f"{stem}.{path.value}{suffix}")
        for path in paths
    ]


@click.command(cls=NetlabCommand)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def formats(as_json: bool) -> None:
    """List the formats that can be imported, in the order in which a file's content is compared with them.

    \b
    Example:
      netlab trace formats
    """  # noqa: D301
    from netlab.traces.importers.catalogue import IMPORTERS

    if as_json:
        echo_json([{"name": name, "about": IMPORTERS[name].about} for name in IMPORTERS])
        return
    for name, importer in IMPORTERS.items():
        click.echo(f"{name:10} {importer.about}")
