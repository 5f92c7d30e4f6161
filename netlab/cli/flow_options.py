"""The options that say what flow is sent: ``--count`` or ``--for``, ``--rate``, ``--size``.

::

    @flow_options
    def command(..., **flow): flow_plan(**flow) --> ProbePlan
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar

import click

from netlab.cli.types import DURATION, SIZE

if TYPE_CHECKING:
    from netlab.probe.probe_plan import ProbePlan

__all__ = ["PLAN_OPTIONS", "as_typed", "flow_options", "flow_plan"]

PLAN_OPTIONS = {
    "rate_hz": "--rate",
    "size_bytes": "--size",
    "count": "--count",
    "duration_s": "--for",
    "wait_s": "--wait",
    "poisson_seed": "--poisson",
}
"""Which option says which key of a plan."""
_FLOW_HINTS = {
    "rate_hz": "a rate at which one process can send",
    "size_bytes": "a packet bears its number, and is one Ethernet frame",
    "count": "verify it with several flows, by other seeds",
    "duration_s": "verify it with several shorter flows, by other seeds",
}
"""What to do about a flow that is not a probe's."""
_NONE_HINT = "one packet is the least there is; some hundreds say something"

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

    if count is not None and duration_s is not None:
        raise click.UsageError("--count and --for say the same thing: give one of them")
    hints = dict(_FLOW_HINTS)
    if (count is not None and count < 1) or (duration_s is not None and not duration_s > 0.0):
        hints["count"] = hints["duration_s"] = _NONE_HINT
    with as_typed(hints):
        if duration_s is None:
            return ProbePlan(count=_COUNT if count is None else count, rate_hz=rate_hz, size_bytes=int(size_bytes))
        return ProbePlan.lasting(duration_s, rate_hz, size_bytes=int(size_bytes))


@contextlib.contextmanager
def as_typed(hints: Mapping[str, str] = MappingProxyType({})) -> Iterator[None]:
    """Have errors in a plan name the option that was typed, and not the key in Python.

    Args:
        hints: What to do about a key, where the plan's own hint is about another command.
    """
    from netlab.errors import SpecError

    try:
        yield
    except SpecError as error:
        if error.key not in PLAN_OPTIONS:
            raise
        message = error.message.removeprefix(f"{error.key}: ")
        hint = hints.get(error.key, error.hint)
        raise SpecError(message, key=PLAN_OPTIONS[error.key], hint=hint) from error
