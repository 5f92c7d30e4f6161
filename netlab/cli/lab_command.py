"""What the commands for labs that stay share: they run here, since a guest ends with its command."""

from __future__ import annotations

import os
from typing import Any

import click

from netlab.cli.command import NetlabCommand
from netlab.errors import SpecError

__all__ = ["StayingLabCommand", "StayingLabUpCommand"]


class StayingLabCommand(NetlabCommand):
    """A command about labs that stay; it asks their holders and makes nothing itself."""

    def _invoke_on_engine(self, ctx: click.Context) -> Any:
        _refuse_guests(ctx)
        return click.Command.invoke(self, ctx)


class StayingLabUpCommand(NetlabCommand):
    """The command that makes such a lab, on this kernel or through a relay."""

    makes_labs = True

    def _invoke_on_engine(self, ctx: click.Context) -> Any:
        _refuse_guests(ctx)
        ctx.meta["netlab.engine"] = ctx.meta["netlab.engine"] or "host"
        return super()._invoke_on_engine(ctx)


def _refuse_guests(ctx: click.Context) -> None:
    """Refuse to look for a lab that stays where nothing stays.

    Raises:
        SpecError: A guest is asked for, or we are in one and were not told that this is meant.
    """
    asked = ctx.meta["netlab.engine"]
    virtual = ctx.meta["netlab.virtual_time"] or ctx.meta["netlab.check"]
    if virtual or asked == "guest" or (asked is None and os.environ.get("NETLAB_GUEST")):
        hint = "--on relay, or --on host where this machine's kernel has netem; in a guest, netlab lab run"
        raise SpecError("a guest is for commands that end, and takes its labs along", key="--on", hint=hint)
