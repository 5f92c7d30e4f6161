"""LazyGroup: a command group that finds the command asked for and imports only that.

::

    netlab NAME ...  ->  LazyGroup  ->  the module that COMMANDS names  ->  one library function
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any, NamedTuple

import click

__all__ = ["LazyGroup", "Place"]


class Place(NamedTuple):
    """Where a command lives, and its line in ``--help``.

    Attributes:
        where: ``module:attribute``.
        line: What it does.
    """

    where: str
    line: str


class LazyGroup(click.Group):
    """A group whose commands are imported when they are used.

    Args:
        places: Its commands by name, in the order a newcomer meets them.
        settings: As for ``click.Group``.
    """

    def __init__(self, *, places: Mapping[str, Place], **settings: Any) -> None:
        super().__init__(**settings)
        self._places = places

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the commands in the order a newcomer meets them."""
        return list(self._places)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return one command."""
        if cmd_name not in self._places:
            return None
        module, _, attribute = self._places[cmd_name].where.partition(":")
        command = getattr(import_module(module), attribute)
        assert isinstance(command, click.Command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command, or say which was probably meant."""
        if args and args[0] not in self._places and not args[0].startswith("-"):
            from netlab.did_you_mean import closest

            close = closest(args[0], self._places)
            meant = f" Did you mean {close!r}?" if close else ""
            raise click.UsageError(f"No such command {args[0]!r}.{meant}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands without importing any."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, place.line) for name, place in self._places.items()])
