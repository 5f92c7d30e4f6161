"""``netlab trace``: measured networks, from a file in whatever format to what a link can be asked to be."""

from __future__ import annotations

import click

from netlab.cli.lazy_group import LazyGroup, Place

__all__ = ["trace"]

_COMMANDS = {
    "import": Place("netlab.cli.trace_import:import_", "Read a measurement in any known format as a trace."),
    "formats": Place("netlab.cli.trace_import:formats", "List the formats that can be imported."),
    "show": Place("netlab.cli.trace_show:show", "Say what a trace holds."),
    "fit": Place("netlab.cli.trace_fit:fit", "Fit a link profile to a trace."),
    "schedule": Place("netlab.cli.trace_fit:schedule", "Make a schedule of a trace, which keeps its times."),
    "generate": Place("netlab.cli.trace_generate:generate", "Make a schedule from a model of a network, by seed."),
    "plot": Place("netlab.cli.trace_plot:plot", "Draw a trace, alone or against what a link delivers."),
}


@click.group(cls=LazyGroup, places=_COMMANDS)
def trace() -> None:
    """Import, look at, fit and plot measured networks.

    \b
    Example:
      netlab trace import ping.txt -o wifi.csv
      netlab trace fit wifi.csv -o wifi.toml
    """  # noqa: D301
