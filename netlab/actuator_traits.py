"""ActuatorTraits: what actuators differ in beyond what they play; nobody else asks an actuator's name.

Ground: what each one plays is ``netlab.control``'s business.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from netlab.messages import FallbackName

__all__ = ["ACTUATOR_TRAITS", "ActuatorTraits"]


class ActuatorTraits(Struct, frozen=True, kw_only=True):
    """What there is to know of an actuator before it plays.

    Attributes:
        has_horizon: Each decision is for a tick of its own: it is told a D.
        asks_again: About ticks that were decided before, which a policy that remembers cannot answer.
        goes_by_turns: The remote decides once for each action that is played, not once a tick.
        only_fallback: The one that goes with it; None where any does.
        in_columns: It is played for many rows at once, too (``netlab.envs.vector``).
    """

    has_horizon: bool = False
    asks_again: bool = False
    goes_by_turns: bool = False
    only_fallback: FallbackName | None = None
    in_columns: bool = True


ACTUATOR_TRAITS: Mapping[str, ActuatorTraits] = {
    "newest": ActuatorTraits(),
    "scheduled": ActuatorTraits(has_horizon=True),
    "planned": ActuatorTraits(has_horizon=True, asks_again=True, in_columns=False),
    "stop-and-wait": ActuatorTraits(goes_by_turns=True, only_fallback="neutral"),
}
"""Of each ``ActuatorName``."""
