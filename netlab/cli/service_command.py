"""ServiceCommand: a command that talks with another host, so that a guest kernel of its own is no place for it."""

from __future__ import annotations

from typing import Any, ClassVar

import click

from netlab.cli.command import NetlabCommand
from netlab.errors import SpecError

__all__ = ["ServiceCommand"]


class ServiceCommand(NetlabCommand):
    """A service that needs this machine's network; within a guest it runs where it is, as a lab starts it."""

    engine_help: ClassVar[str] = "Only on this machine's kernel: into a guest kernel no other service can reach."

    def _invoke_on_engine(self, ctx: click.Context) -> Any:
        from netlab.machine import inside_guest

        asked = "--virtual-time" if ctx.meta["netlab.virtual_time"] else f"--on {ctx.meta['netlab.engine']}"
        if asked in ("--on guest", "--virtual-time") and not inside_guest():
            raise SpecError(
                "a service would be alone in there: a guest kernel's network reaches no other",
                key=asked,
                hint="`netlab demo` runs both services in one guest; "
                "`netlab exec --on guest -- COMMAND` runs a program behind a link there",
            )
        return super()._invoke_on_engine(ctx)
