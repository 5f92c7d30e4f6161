"""AxisUnit: the unit in which the numbers of an axis are short."""

from __future__ import annotations

from typing import NamedTuple, Self

__all__ = ["AxisUnit"]

_TIME = ((2 * 86_400.0, 86_400.0, "days"), (3 * 3600.0, 3600.0, "h"), (600.0, 60.0, "min"), (0.0, 1.0, "s"))
_DELAY = ((2.0, 1.0, "s"), (1e-3, 1e-3, "ms"), (0.0, 1e-6, "µs"))
_RATE = ((1e9, 1e9, "Gbit/s"), (1e6, 1e6, "Mbit/s"), (1e3, 1e3, "kbit/s"), (0.0, 1.0, "bit/s"))


class AxisUnit(NamedTuple):
    """A unit.

    Attributes:
        size: In SI units: what values are divided by.
        name: As it is written.
    """

    size: float
    name: str

    @classmethod
    def for_time(cls, longest_s: float) -> Self:
        """Return the unit for times up to this one."""
        return cls._fit(_TIME, longest_s)

    @classmethod
    def for_delay(cls, longest_s: float) -> Self:
        """Return the unit for delays up to this one."""
        return cls._fit(_DELAY, longest_s)

    @classmethod
    def for_rate(cls, greatest_bps: float) -> Self:
        """Return the unit for rates up to this one."""
        return cls._fit(_RATE, greatest_bps)

    @classmethod
    def _fit(cls, units: tuple[tuple[float, float, str], ...], greatest: float) -> Self:
        return next(cls(size, name) for least, size, name in units if greatest >= least)
