"""Click parameter types for the quantities people type: ``30ms``, ``1GiB``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from netlab import units

__all__ = ["DURATION", "SIZE"]


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


DURATION = Quantity("duration", units.parse_duration_s)
SIZE = Quantity("size", units.parse_size_bytes)
