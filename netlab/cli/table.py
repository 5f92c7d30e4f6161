"""``netlab table``: many scores at once, as pages that can be made again."""

from __future__ import annotations

import click

from netlab.cli.lazy_group import LazyGroup, Place

__all__ = ["table"]

_COMMANDS = {
    "calf": Place("netlab.cli.table_calf:calf", "Score policies on the networks of the CALF paper."),
    "parity": Place("netlab.cli.table_parity:parity", "Compare services with the wrapper that trained."),
}


@click.group(cls=LazyGroup, places=_COMMANDS)
def table() -> None:
    """Make tables of many scores, over all cores, resumable.

    \b
    Example:
      netlab table calf --quick -o quick
    """  # noqa: D301
