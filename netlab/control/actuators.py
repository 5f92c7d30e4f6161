"""make_actuator: an actuator by its name; beyond this file nobody asks which one it is."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from netlab.control.actuator import Actuator, Newest, Planned, Scheduled
from netlab.control.stop_and_wait import StopAndWait
from netlab.messages import ActuatorName

__all__ = ["ACTUATORS", "make_actuator"]

ACTUATORS: Mapping[ActuatorName, Callable[[int], Actuator]] = {
    "newest": lambda horizon_ticks: Newest(),
    "scheduled": Scheduled,
    "planned": Planned,
    "stop-and-wait": lambda horizon_ticks: StopAndWait(),
}
"""Name -> what makes it for a horizon, which means nothing to those that look no further than a tick."""


def make_actuator(name: ActuatorName, horizon_ticks: int) -> Actuator:
    """Return a fresh actuator.

    Args:
        name: As people type it, and as the Hello says it.
        horizon_ticks: D of ``scheduled`` and ``planned``, or ``ADAPTIVE_HORIZON``.

    Raises:
        SpecError: A horizon out of range.
    """
    return ACTUATORS[name](horizon_ticks)
