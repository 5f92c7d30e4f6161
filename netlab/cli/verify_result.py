"""The results of ``netlab verify`` and ``netlab probe lab``: a document, traces, a table."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click

from netlab.cli.command import echo_json, result_option

if TYPE_CHECKING:
    from netlab.traces.seed import Direction
    from netlab.verification.measurement import MeasuredFlow
    from netlab.verification.report import VerificationReport

__all__ = ["give_result", "prepare_traces", "traces_option", "write_report"]

traces_option = result_option(
    "--traces", "Write what was delivered into this folder: forward.csv, back.csv.", is_folder=True
)


def give_result(
    measured: Mapping[Direction, MeasuredFlow],
    report: VerificationReport,
    output: Path | None,
    traces: Path | None,
    as_json: bool,
) -> None:
    """Write what was measured and found where that is wanted, and print it.

    Args:
        measured: What each direction delivered.
        report: What was found.
        output: The document's file, if wanted.
        traces: The traces' folder, if wanted.
        as_json: Print the document, not the table.
    """
    if traces is not None:
        _write_traces(traces, measured)
    if output is not None:
        write_report(output, report)
    if as_json:
        echo_json(report)
    else:
        _print_report(report)


def prepare_traces(folder: Path) -> None:
    """Make the folder for traces, before anything is measured.

    Raises:
        SpecError: There can be no such folder, or its files could not be written.
    """
    from netlab.documents import require_writable
    from netlab.errors import SpecError
    from netlab.traces.seed import DIRECTIONS

    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        hint = "name a folder you may write to"
        raise SpecError(f"cannot make {folder}: {error.strerror}", key="--traces", hint=hint) from error
    for direction in DIRECTIONS:
        require_writable("--traces", _trace_file(folder, direction))


def _trace_file(folder: Path, direction: Direction) -> Path:
    return folder / f"{direction}.csv"


def _write_traces(folder: Path, measured: Mapping[Direction, MeasuredFlow]) -> None:
    """Write what each direction delivered into a folder that ``prepare_traces`` has made.

    Raises:
        NetlabError: A file cannot be written.
    """
    from netlab.traces.trace_file import write_trace

    for direction, flow in measured.items():
        write_trace(flow.trace, _trace_file(folder, direction))


def write_report(path: Path, report: object) -> None:
    """Write a result document.

    Raises:
        NetlabError: It cannot be written.
    """
    import msgspec

    from netlab.documents import write_document

    write_document(path, msgspec.json.format(msgspec.json.encode(report), indent=1) + b"\n")


def _print_report(report: VerificationReport) -> None:
    """Print the table for people."""
    from netlab.verification.report_text import report_lines

    for line in report_lines(report):
        click.echo(line)
