"""``netlab trace show``: what a trace holds, in numbers."""

from __future__ import annotations

from pathlib import Path

import click

from netlab.cli.command import NetlabCommand, echo_json

__all__ = ["show"]


@click.command(cls=NetlabCommand)
@click.argument("trace", type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def show(trace: Path, as_json: bool) -> None:
    """Say what a trace file holds: its delays, losses and rates.

    \b
    Example:
      ping -c 3 -i 0.2 127.0.0.1 > ping.txt
      netlab trace import ping.txt -o loopback.csv
      netlab trace show loopback.csv
    """  # noqa: D301
    from netlab.cli.trace_text import figures_lines
    from netlab.traces.trace_figures import trace_figures
    from netlab.traces.trace_file import read_trace

    figures = trace_figures(read_trace(trace))
    if as_json:
        echo_json(figures)
        return
    for line in figures_lines(figures):
        click.echo(line)
