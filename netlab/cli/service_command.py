"""ServiceCommand: a command that talks with another host, so that a guest kernel of its own is no place for it."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import click

from netlab.cli.command import NetlabCommand
from netlab.engine_request import EngineRequest
from netlab.errors import SpecError

if TYPE_CHECKING:
    from netlab.engines import Engine

__all__ = ["ServiceCommand"]


class ServiceCommand(NetlabCommand):
    """A service that needs this machine's network; within a guest it runs where it is, as a lab starts it."""

    engine_help: ClassVar[str] = "Only on this machine's kernel: into a guest kernel no other service can reach."

    def choose(self, ctx: click.Context, request: EngineRequest) -> Engine | None:
        """Return nothing but this process; see ``NetlabCommand.choose``."""
        from netlab.machine import inside_guest

        if (request.virtual_time or request.engine == "guest") and not inside_guest():
            raise SpecError(
                "a service would be alone in there: a guest kernel's network reaches no other",
                key=request.words,
                hint="`netlab demo` runs both services in one guest; "
                "`netlab exec --on guest -- COMMAND` runs a program behind a link there",
            )
        return super().choose(ctx, request)
