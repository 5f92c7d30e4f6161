"""What the commands for labs that stay share: they run here, since a guest ends with its command."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import click

from netlab.cli.command import NetlabCommand
from netlab.engine_request import EngineRequest
from netlab.errors import SpecError
from netlab.machine import inside_guest

if TYPE_CHECKING:
    from netlab.engines import Engine

__all__ = ["StayingLabCommand", "StayingLabUpCommand"]


class StayingLabCommand(NetlabCommand):
    """A command about labs that stay; it asks their holders and makes nothing itself, wherever they run."""

    def choose(self, ctx: click.Context, request: EngineRequest) -> Engine | None:
        """Return nothing but this process; see ``NetlabCommand.choose``."""
        _refuse_guests(request)
        return None

    def elsewhere(self, request: EngineRequest) -> str:
        """Return what hints say for the guest's kernel; see ``NetlabCommand.elsewhere``."""
        return "a lab made with --on relay"


class StayingLabUpCommand(NetlabCommand):
    """The command that makes such a lab, on this kernel or through a relay."""

    engines: ClassVar[tuple[str, ...]] = ("host", "guest", "relay")
    makes_labs = True

    def choose(self, ctx: click.Context, request: EngineRequest) -> Engine | None:
        """Return this kernel or a relay; see ``NetlabCommand.choose``."""
        _refuse_guests(request)
        return super().choose(ctx, request._replace(engine=request.engine or "host"))

    def elsewhere(self, request: EngineRequest) -> str:
        """Return what hints say for the guest's kernel; see ``NetlabCommand.elsewhere``."""
        return "--on host" if request.engine == "relay" else "--on relay"


def _refuse_guests(request: EngineRequest) -> None:
    """Refuse to look for a lab that stays where nothing stays.

    Raises:
        SpecError: A guest is asked for, or we are in one and were not told that this is meant.
    """
    virtual = request.virtual_time or request.check
    if virtual or request.engine == "guest" or (request.engine is None and inside_guest()):
        hint = "--on relay, or --on host where this machine's kernel has netem; in a guest, netlab lab run"
        raise SpecError("a guest is for commands that end, and takes its labs along", key="--on", hint=hint)
