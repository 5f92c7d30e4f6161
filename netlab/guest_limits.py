"""GuestLimits: the limits of a guest that a command runs in, from the environment.

Roof. ``netlab guest run`` has options for them; for every other command there are variables::

    NETLAB_VIRTUAL_BUDGET=48h  NETLAB_STALL=2min  NETLAB_WALL_LIMIT=10min  netlab demo --virtual-time
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from netlab.errors import SpecError
from netlab.units import parse_duration_s

if TYPE_CHECKING:
    from netlab.namespaces.guest.guest_clock import VirtualClock

__all__ = ["BUDGET_VARIABLE", "STALL_VARIABLE", "WALL_VARIABLE", "GuestLimits"]

BUDGET_VARIABLE, STALL_VARIABLE, WALL_VARIABLE = "NETLAB_VIRTUAL_BUDGET", "NETLAB_STALL", "NETLAB_WALL_LIMIT"


class GuestLimits(NamedTuple):
    """When a guest is ended; None leaves each as it is by default.

    Attributes:
        budget_s: The most virtual time it may take.
        stall_s: How long its virtual time may stand still.
        wall_s: The most time outside it may take, in real and in virtual time.
    """

    budget_s: float | None = None
    stall_s: float | None = None
    wall_s: float | None = None

    @classmethod
    def of_environment(cls, variables: Mapping[str, str] | None = None) -> GuestLimits:
        """Return the limits that the environment names.

        Args:
            variables: The environment; ours unless given.

        Raises:
            SpecError: A variable is no duration above 0; names it.
        """
        found = os.environ if variables is None else variables
        names = (BUDGET_VARIABLE, STALL_VARIABLE, WALL_VARIABLE)
        return cls(*(_duration_s(name, found.get(name, "")) for name in names))

    def virtual_clock(self) -> VirtualClock:
        """Return a clock of virtual time with these limits."""
        from netlab.namespaces.guest.guest_clock import DEFAULT_BUDGET_S, DEFAULT_STALL_S, VirtualClock

        return VirtualClock(budget_s=self.budget_s or DEFAULT_BUDGET_S, stall_s=self.stall_s or DEFAULT_STALL_S)


def _duration_s(name: str, text: str) -> float | None:
    if not text:
        return None
    hint = f"{name}=90s, 10min, 48h; unset it for the default"
    try:
        value_s = parse_duration_s(text)
    except ValueError as error:
        raise SpecError(f"{text!r:.80}: {error}", key=name, hint=hint) from error
    if not 0.0 < value_s < math.inf:
        raise SpecError(f"{text!r:.80}: must be above 0", key=name, hint=hint)
    return value_s
