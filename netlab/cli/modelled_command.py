"""ModelledCommand: a command that runs on a kernel's netem, on a relay, or on the model alone.

::

    --on host | guest | relay  --> an engine that carries packets
    --on model                 --> nothing: the command asks ``on_model`` and computes
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from netlab.cli.command import KernelCommand, the_request
from netlab.errors import SpecError

if TYPE_CHECKING:
    import click

    from netlab.engine_request import EngineRequest
    from netlab.engines import Engine

__all__ = ["ModelledCommand", "on_model"]

_MODEL = "model"


class ModelledCommand(KernelCommand):
    """A command that makes labs, or needs none where it is to run on the model."""

    engines: ClassVar[tuple[str, ...]] = (*KernelCommand.engines, _MODEL)
    engine_help: ClassVar[str] = (
        "Netem of this machine's kernel or of the guest's, a relay process, or the model in no time at all."
    )

    def choose(self, ctx: click.Context, request: EngineRequest) -> Engine | None:
        """Return what carries the lab's packets, nothing for the model; see ``NetlabCommand.choose``."""
        if request.engine != _MODEL:
            return super().choose(ctx, request)
        if request.virtual_time or request.check:
            hint = "leave it out: the model's time is virtual, and two runs of it are one computation"
            raise SpecError("the model has no kernel whose time could be virtual", key=request.words, hint=hint)
        return None


def on_model(ctx: click.Context) -> bool:
    """Tell whether a command is to run on the model."""
    return the_request(ctx).engine == _MODEL
