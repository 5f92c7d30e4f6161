"""The results of ``netlab verify`` and ``netlab probe lab``: a document, traces, a table."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from netlab.traces.seed import Direction
    from netlab.verification.measurement import MeasuredFlow
    from netlab.verification.report import VerificationReport

__all__ = ["print_report", "write_report", "write_traces"]


def write_traces(folder: Path, measured: Mapping[Direction, MeasuredFlow]) -> None:
    """Write what each direction delivered into a folder, which is made.

    Raises:
        SpecError: There can be no such folder.
        NetlabError: A file cannot be written.
    """
    from netlab.errors import SpecError
    from netlab.traces.trace_file import write_trace

    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        hint = "name a folder you may write to"
        raise SpecError(f"cannot make {folder}: {error.strerror}", key="--traces", hint=hint) from error
    for direction, flow in measured.items():
        write_trace(flow.trace, folder / f"{direction}.csv")


def write_report(path: Path, report: object) -> None:
    """Write a result document.

    Raises:
        NetlabError: It cannot be written.
    """
    import msgspec

    from netlab.documents import write_document

    write_document(path, msgspec.json.format(msgspec.json.encode(report), indent=1) + b"\n")


def print_report(report: VerificationReport) -> None:
    """Print the table for people."""
    from netlab.verification.report_text import report_lines

    for line in report_lines(report):
        click.echo(line)
