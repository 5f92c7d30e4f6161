"""control_options: how a policy is to be played other than its file says, for every command that plays one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, get_args

import click

from netlab.cli.types import HORIZON
from netlab.messages import ActuatorName, FallbackName

__all__ = ["ACTUATOR", "control_options"]

_Command = TypeVar("_Command", bound=Callable[..., Any])

ACTUATOR = click.Choice(get_args(ActuatorName))
_FALLBACK = click.Choice(get_args(FallbackName))


def control_options(command: _Command) -> _Command:
    """Give a command ``--actuator``, ``--horizon`` (``horizon_ticks``) and ``--fallback``; None for not given."""
    for option in (
        click.option(
            "--fallback",
            type=_FALLBACK,
            help="What a tick does when nothing is there to play  [default: as the policy's file says, "
            "else neutral].",
        ),
        click.option(
            "--horizon",
            "horizon_ticks",
            type=HORIZON,
            metavar="TICKS|adaptive",
            help="D of scheduled and planned  [default: as the policy's file says, else fitted to the network, "
            "if known].",
        ),
        click.option(
            "--actuator",
            type=ACTUATOR,
            help="What plays the actions  [default: as the policy's file says].",
        ),
    ):
        command = option(command)
    return command
