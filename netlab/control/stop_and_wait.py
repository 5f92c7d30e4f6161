"""StopAndWait: the actuator for tasks that take turns: each decision is played exactly once, whatever is lost.

::

    turn t: frames of turn t-1 and before --> stale          observations say turn t
            first frame of turn t ----------> held --take--> played: turn t+1
            further frames of turn t: the same decision, on a newer observation

A turn is one remote action played. The remote decides once a turn and repeats that decision until an observation
of the next turn tells it that it was played; ticks in between are the fallback's.
"""

from __future__ import annotations

from netlab.control.actuator import Decision, Offer, Plan
from netlab.messages import ActuatorName

__all__ = ["StopAndWait"]


class StopAndWait:
    """Plays a plan's first action if it was decided on in the current turn."""

    name: ActuatorName = "stop-and-wait"
    horizon_ticks = 1

    def __init__(self) -> None:
        self._turn = 0
        self._held: Decision | None = None

    def offer(self, plan: Plan, next_tick: int) -> Offer:
        """Take in a plan of this turn; of several the one on the newest observation counts."""
        held = self._held
        if plan.turn != self._turn or (held is not None and held.obs_tick > plan.obs_tick):
            return Offer.STALE
        self._held = Decision(plan.actions[0], plan.obs_tick)
        return Offer.ACCEPTED

    def take(self, tick: int) -> Decision | None:
        """Return what is held, which ends the turn."""
        held, self._held = self._held, None
        self._turn += held is not None
        return held

    def reset(self) -> None:
        """Forget all: a new episode begins with turn 0."""
        self._turn = 0
        self._held = None
