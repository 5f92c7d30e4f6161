"""The options that say what flow is sent: ``--count`` or ``--for``, ``--rate``, ``--size``.

::

    @flow_options
    def command(..., **flow): flow_plan(**flow) --> ProbePlan
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from netlab.cli.types import DURATION, SIZE

if TYPE_CHECKING:
    from netlab.probe.probe_plan import ProbePlan

__all__ = ["flow_options", "flow_plan"]

_COUNT = 2000
_OPTIONS = (
    click.option("--count", type=int, help=f"How many packets are sent each way.  [default: {_COUNT}]"),
    click.option("--for", "duration_s", type=DURATION, help="How long to send, instead of --count."),
    click.option(
        "--rate", "rate_hz", type=float, default=100.0, show_default=True, help="Packets a second, each way."
    ),
    click.option(
        "--size", "size_bytes", type=SIZE, default="200B", show_default=True, help="UDP payload of each packet."
    ),
)

_Command = TypeVar("_Command", bound=Callable[..., Any])


def flow_options(command: _Command) -> _Command:
    """Add the options to a command; it is given ``count``, ``duration_s``, ``rate_hz`` and ``size_bytes``."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def flow_plan(count: int | None, duration_s: float | None, rate_hz: float, size_bytes: float) -> ProbePlan:
    """Return the plan that is asked for.

    Raises:
        UsageError: Both say how many.
        SpecError: A value outside its bounds.
    """
    from netlab.probe.probe_plan import ProbePlan

    if duration_s is None:
        return ProbePlan(count=_COUNT if count is None else count, rate_hz=rate_hz, size_bytes=int(size_bytes))
    if count is not None:
        raise click.UsageError("--count and --for say the same thing: give one of them")
    return ProbePlan.lasting(duration_s, rate_hz, size_bytes=int(size_bytes))
