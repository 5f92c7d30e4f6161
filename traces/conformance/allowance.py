"""Allowance: how late a link may be by its clock and still count as asked.

A timer fires late, never early: tens of microseconds on a quiet machine, more while others use its processors.
That is no property of the network that was asked for, so it is allowed for, by a stated amount: every packet may
be late by some of it, whatever the lateness follows, and a share of the packets by any amount.
"""

from __future__ import annotations

from msgspec import Struct

from netlab.errors import ProfileError
from netlab.traces.bound import bounded_number, bounded_ratio

__all__ = ["EXACT", "Allowance", "default_allowance"]


class Allowance(Struct, frozen=True, kw_only=True):
    """What is allowed beside chance.

    Attributes:
        later_s: Every packet may be later than asked by up to so much.
        stragglers: Share of the packets that arrive that may be later than that, however much: as many of the
            latest are left out of the mean, the spread and whatever else one packet alone could spoil.
    """

    later_s: float = 0.0
    stragglers: float = 0.0

    def __post_init__(self) -> None:
        bounded_number("later_s", self.later_s, 0.0, 10.0)
        bounded_ratio("stragglers", self.stragglers)
        if self.stragglers > 0.5:
            raise ProfileError(f"stragglers = {self.stragglers!r}: must be 0 .. 0.5")


EXACT = Allowance()
"""None: what the model itself delivers."""

_REAL = Allowance(later_s=1e-3, stragglers=0.02)
_VIRTUAL = Allowance(later_s=10e-6)


def default_allowance(*, virtual: bool) -> Allowance:
    """Return what is allowed unless a person says otherwise.

    Args:
        virtual: Whether time is virtual: there a timer is on time to within the clock's steps.
    """
    return _VIRTUAL if virtual else _REAL
