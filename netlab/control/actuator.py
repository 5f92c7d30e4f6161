"""Actuators: which of the decisions that have arrived is played at a tick.

Objects with the same methods, chosen once at the start. None plays anything twice, and none holds more than it
was offered for the next ``MAX_AHEAD_TICKS`` ticks. ``netlab.control.stop_and_wait`` has the third.

::

    frame: obs_tick k | actions for k+1 .. k+n
                          |  offer
        Newest            |   one frame; its action for this tick, once
        Scheduled,        |   a slot a tick; in each the decision with the highest obs_tick
        Planned           |
                          v  take(tick)
"""

from __future__ import annotations

import enum
from typing import Protocol

from msgspec import Struct

from netlab.control.values import Value
from netlab.errors import SpecError
from netlab.messages import ADAPTIVE_HORIZON, MAX_ACTIONS, ActuatorName

__all__ = ["MAX_AHEAD_TICKS", "Actuator", "Decision", "Newest", "Offer", "Plan", "Planned", "Scheduled"]

MAX_AHEAD_TICKS = MAX_ACTIONS
"""How far beyond the current tick a frame may reach; the horizon cannot be longer."""


class Plan(Struct, frozen=True):
    """A validated action frame.

    Attributes:
        obs_tick: Tick of the observation it is based on.
        first_target_tick: Tick that ``actions[0]`` is for.
        actions: One action a tick, without holes.
        turn: How many remote actions that observation said had been played.
    """

    obs_tick: int
    first_target_tick: int
    actions: list[Value]
    turn: int = 0


class Decision(Struct, frozen=True):
    """One action to play.

    Attributes:
        action: The action.
        obs_tick: Tick of the observation that the frame it came in is based on.
    """

    action: Value
    obs_tick: int


class Offer(enum.Enum):
    """What became of a plan."""

    ACCEPTED = "accepted"
    STALE = "stale"
    LATE = "late"


class Actuator(Protocol):
    """Keeps what has arrived and gives out each tick's action."""

    name: ActuatorName
    horizon_ticks: int

    def offer(self, plan: Plan, next_tick: int) -> Offer:
        """Take in a plan; ``next_tick`` is the first tick that has not been played."""
        ...

    def take(self, tick: int) -> Decision | None:
        """Return the decision for a tick and forget it, or None where there is none; ticks only rise."""
        ...

    def reset(self) -> None:
        """Forget all: a new episode begins."""
        ...


class Newest:
    """Plays the newest plan that has arrived, once; what it is based on matters, not what tick it was for.

    Of a plan of several actions the one for the current tick is played, or the nearest to it.
    """

    name: ActuatorName = "newest"
    horizon_ticks = 1

    def __init__(self) -> None:
        self._plan: Plan | None = None
        self._newest_obs_tick = -1

    def offer(self, plan: Plan, next_tick: int) -> Offer:
        """Take in a plan that is based on a newer observation than any before."""
        if plan.obs_tick <= self._newest_obs_tick:
            return Offer.STALE
        self._newest_obs_tick = plan.obs_tick
        self._plan = plan
        return Offer.ACCEPTED

    def take(self, tick: int) -> Decision | None:
        """Return the newest plan's action unless it has been played."""
        plan, self._plan = self._plan, None
        if plan is None:
            return None
        index = min(max(tick - plan.first_target_tick, 0), len(plan.actions) - 1)
        return Decision(plan.actions[index], plan.obs_tick)

    def reset(self) -> None:
        """Forget all."""
        self._plan = None
        self._newest_obs_tick = -1


class Scheduled:
    """Plays each decision at the tick it was made for: delay and loss within the horizon become one constant.

    Args:
        horizon_ticks: D, 1 .. 256: a decision on tick k is for tick k+D. ``ADAPTIVE_HORIZON`` leaves it to the
            remote; here it makes no difference, since each frame says what it is for.

    Raises:
        SpecError: A horizon out of range.
    """

    name: ActuatorName = "scheduled"

    def __init__(self, horizon_ticks: int) -> None:
        if horizon_ticks != ADAPTIVE_HORIZON and not 1 <= horizon_ticks <= MAX_AHEAD_TICKS:
            raise SpecError(
                f"{horizon_ticks}: must be 1 .. {MAX_AHEAD_TICKS}",
                key="horizon_ticks",
                hint="take the round trip's mean plus two standard deviations, in ticks, and one or two more",
            )
        self.horizon_ticks = horizon_ticks
        self._slots: dict[int, Decision] = {}

    def offer(self, plan: Plan, next_tick: int) -> Offer:
        """Put each action of a plan in its tick's slot unless a decision of a newer plan is there."""
        behind = max(next_tick - plan.first_target_tick, 0)
        if behind >= len(plan.actions):
            return Offer.LATE
        taken = False
        for index in range(behind, len(plan.actions)):
            target = plan.first_target_tick + index
            if target >= next_tick + MAX_AHEAD_TICKS:
                break
            held = self._slots.get(target)
            if held is None or held.obs_tick < plan.obs_tick:
                self._slots[target] = Decision(plan.actions[index], plan.obs_tick)
                taken = True
        return Offer.ACCEPTED if taken else Offer.STALE

    def take(self, tick: int) -> Decision | None:
        """Return the decision for a tick; those for earlier ticks that were skipped are forgotten."""
        for missed in [target for target in self._slots if target < tick]:
            del self._slots[missed]
        return self._slots.pop(tick, None)

    def reset(self) -> None:
        """Forget all."""
        self._slots.clear()


class Planned(Scheduled):
    """Plays as ``Scheduled`` does; it tells the remote to go on beyond D with what it may decide otherwise later.

    The edge makes no difference between the two: of several decisions for a tick the one on the newest observation
    counts.
    """

    name: ActuatorName = "planned"
