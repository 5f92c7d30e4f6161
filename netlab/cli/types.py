"""Click parameter types for the quantities people type: ``30ms``, ``1GiB``, ``host:port``, a link profile."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from netlab import units

__all__ = ["ADDRESS", "DURATION", "SIZE"]


class Quantity(click.ParamType):
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


class Address(click.ParamType):
    """A ``host:port``."""

    name = "host:port"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, int]:
        """Return host and port, or fail with the rule they broke."""
        if isinstance(value, tuple):
            return value
        host, colon, port = str(value).rpartition(":")
        if not colon or not host:
            self.fail(f"{value!r} is not HOST:PORT, for example 192.168.1.20:7447", param, ctx)
        if not port.isdecimal() or int(port) > 65535:
            self.fail(f"{value!r}: the port must be a number from 0 to 65535", param, ctx)
        return host.strip("[]"), int(port)


DURATION = Quantity("duration", units.parse_duration_s)
SIZE = Quantity("size", units.parse_size_bytes)
ADDRESS = Address()
