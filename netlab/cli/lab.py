"""``netlab lab``: labs from TOML files: played to their end, or staying until they are taken down."""

from __future__ import annotations

import click

from netlab.cli.lab_ask import exec_, set_, show
from netlab.cli.lab_run import compare, run
from netlab.cli.lab_stay import down, gc, list_, up

__all__ = ["lab"]


@click.group()
def lab() -> None:
    """Play a lab's TOML file, or let it stay and work in it."""


for _command in (run, compare, up, list_, exec_, set_, show, down, gc):
    lab.add_command(_command)
