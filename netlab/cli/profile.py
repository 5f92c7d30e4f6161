"""``netlab profile``: what links can be asked to be."""

from __future__ import annotations

import click

from netlab.cli.command import NetlabCommand, echo_json

__all__ = ["profile"]


@click.group()
def profile() -> None:
    """List and show link profiles."""
