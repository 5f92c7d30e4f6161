"""Click parameter types for what people type: ``30ms``, ``1GiB``, ``adaptive``, ``push_n=3``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import click

from netlab import units
from netlab.messages import MAX_ACTIONS, MAX_SEED, horizon_number

__all__ = ["DURATION", "HORIZON", "SEED", "SIZE", "TASK_OPTION"]

_ADAPTIVE: Literal["adaptive"] = "adaptive"


class Quantity(click.ParamType):  # type: ignore[type-arg]  # generic since click 8.4 alone
    """A number with a unit."""

    def __init__(self, name: str, parse: Callable[[str], float]) -> None:
        self.name = name
        self._parse = parse

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return the value in SI units, or fail with the rule it broke."""
        if not isinstance(value, str):
            return float(value)
        try:
            return self._parse(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)


class _Horizon(click.ParamType):  # type: ignore[type-arg]  # generic since click 8.4 alone
    """A horizon in ticks, or the word for one that the agent chooses."""

    name = "horizon"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Return the ticks, or ``ADAPTIVE_HORIZON``."""
        if value == _ADAPTIVE:
            return horizon_number(_ADAPTIVE)
        try:
            return click.IntRange(1, MAX_ACTIONS).convert(value, param, ctx)
        except click.BadParameter as error:
            self.fail(f"{error.message} Or {_ADAPTIVE}: the agent chooses.", param, ctx)


class _TaskOption(click.ParamType):  # type: ignore[type-arg]  # as above
    """A name and a number."""

    name = "option"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, float]:
        """Return the two; which names there are, the task knows."""
        name, _, number = value.partition("=")
        try:
            return name.strip(), float(number)
        except ValueError:
            self.fail(f"{value!r:.80} is no NAME=NUMBER, as push_n=3 is", param, ctx)


DURATION = Quantity("duration", units.parse_duration_s)
SIZE = Quantity("size", units.parse_size_bytes)
HORIZON = _Horizon()
SEED = click.IntRange(0, MAX_SEED)
TASK_OPTION = _TaskOption()
