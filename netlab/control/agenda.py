"""Agendas: which targets an observation asks about, and which decisions its answer repeats.

Objects with the same methods, chosen once by what the edge's actuator plays. Each holds what has been decided.

::

    EachTick(D)   observation k -> targets up to the Dth tick it can reach; the answer: all that are to come
    EachPlan(D)   the same, and provisionally the ticks after D: ``netlab.control.each_plan``
    EachTurn      observation k -> one target, once a turn; the answer: that one again, until it was played

**Each tick.** A target is decided once and later frames repeat the decision. D may change between observations:
a larger one asks about several targets at once, a smaller one about none until the targets are reached again.
Nothing is skipped or asked twice. A target whose own observation was lost is decided when the next one comes.
At an episode's beginning D is as at first, and the first target is the Dth tick; after a silence in which all
that was pending has run out it is the Dth tick after the observation that ends it.

**Each turn.** An observation says how many actions have been played. While that number stands, the decision is
under way, or lost: it is sent again, however many observations come. When it rises, the next turn is decided.
"""

from __future__ import annotations

from typing import Protocol

from netlab.actuator_traits import ACTUATOR_TRAITS
from netlab.control.decided import Decided
from netlab.control.each_plan import EachPlan
from netlab.control.horizon import AdaptiveHorizon, FixedHorizon, Horizon, price_at
from netlab.messages import ADAPTIVE_HORIZON, MAX_ACTIONS, ActuatorName, Observation, TaskDescription

__all__ = ["Agenda", "EachTick", "EachTurn", "make_agenda", "make_horizon"]

_FIRST_HORIZON_S = 0.2
"""An adaptive horizon begins each episode here: enough for a poor wireless link, and it soon knows better."""
_PLAN_PRICE = 3.5
"""Where a plan goes on after D, a tick beyond D is rarely lost: D has to save so many times as much."""
_MOST_ANSWER_BYTES = 1 << 15
"""It ends where an answer with D actions would be longer: it is to fit a datagram."""


class Agenda(Protocol):
    """What is to be decided, and what has been."""

    @property
    def horizon_ticks(self) -> int:
        """Return D as it is now."""
        ...

    def open(self, observation: Observation, *, begins_episode: bool) -> None:
        """Take in a new observation; what was asked about an older one and is not decided is asked anew."""
        ...

    def next_target(self) -> int | None:
        """Return the tick to be decided next; None where all is decided."""
        ...

    def decide(self, target: int, decided: Decided) -> None:
        """Keep the decision for ``next_target``."""
        ...

    def due(self, tick: int) -> Decided | None:
        """Return what the edge will play at a tick from the observation's on, as far as that is decided."""
        ...

    def answer(self) -> tuple[int, list[Decided]]:
        """Return the first target of the answer and the decisions for it and the ticks after it."""
        ...


class EachTick:
    """Decide for every tick, D ticks ahead.

    Args:
        horizon: D.
        lead_ticks: How many ticks after its own an observation can be answered at the earliest.
    """

    def __init__(self, horizon: Horizon, lead_ticks: int) -> None:
        self._horizon = horizon
        self._lead_ticks = lead_ticks
        self._decided: dict[int, Decided] = {}
        self._earliest = -1
        self._until = -1
        self._last = -1

    @property
    def horizon_ticks(self) -> int:
        """Return D as it is now."""
        return self._horizon.ticks

    def open(self, observation: Observation, *, begins_episode: bool) -> None:
        """Ask about all targets up to D that are not decided; see ``Agenda``."""
        if begins_episode:
            self._horizon.begin_episode()
        self._horizon.note(observation)
        tick, decided = observation.tick, self._decided
        reach = self._lead_ticks + self._horizon.ticks - 1
        self._earliest = tick + self._lead_ticks
        if begins_episode:
            decided.clear()
            self._until = tick - observation.history_ticks + reach - 1
        for past in [target for target in decided if target < tick]:
            del decided[past]
        if self._until < self._earliest:
            self._until = tick + reach - 1
        self._last = tick + reach
        if self._until not in decided:  # with nothing decided there is something to ask, whatever D has become
            self._last = max(self._last, self._until + 1)

    def next_target(self) -> int | None:
        """Return the first target that is not decided, up to D."""
        return self._until + 1 if self._until < self._last else None

    def decide(self, target: int, decided: Decided) -> None:
        """Keep a decision until its tick has passed."""
        self._decided[target] = decided
        self._until = target

    def due(self, tick: int) -> Decided | None:
        """Return the decision for a tick, if there is one."""
        return self._decided.get(tick)

    def answer(self) -> tuple[int, list[Decided]]:
        """Return all that can still be played."""
        first = self._earliest
        while first not in self._decided:
            first += 1
        return first, [self._decided[target] for target in range(first, self._until + 1)]


class EachTurn:
    """Decide once for each action that is played.

    Args:
        lead_ticks: How many ticks after its own an observation can be answered at the earliest.
    """

    horizon_ticks = 1

    def __init__(self, lead_ticks: int) -> None:
        self._lead_ticks = lead_ticks
        self._turn = -1
        self._target = -1
        self._held: Decided | None = None

    def open(self, observation: Observation, *, begins_episode: bool) -> None:
        """Ask if this is a new turn; see ``Agenda``."""
        self._target = observation.tick + self._lead_ticks
        if begins_episode or observation.turn != self._turn:
            self._turn = observation.turn
            self._held = None

    def next_target(self) -> int | None:
        """Return the earliest tick that the turn's action can be played at, unless it is decided."""
        return self._target if self._held is None else None

    def decide(self, target: int, decided: Decided) -> None:
        """Keep the decision until it has been played."""
        self._held = decided

    def due(self, tick: int) -> Decided | None:
        """Return nothing: what was decided before has been played, or there would be no question."""
        return None

    def answer(self) -> tuple[int, list[Decided]]:
        """Return the turn's decision, for the earliest tick that it can reach now."""
        return self._target, [] if self._held is None else [self._held]


def make_agenda(actuator: ActuatorName, task: TaskDescription, horizon: int | Horizon) -> Agenda:
    """Return the agenda that goes with an edge's actuator.

    Args:
        actuator: Its name, from the Hello.
        task: What is controlled.
        horizon: D in ticks, ``ADAPTIVE_HORIZON``, or what says it; an actuator by turns has no use for it.

    Raises:
        SpecError: A horizon out of range.
    """
    traits = ACTUATOR_TRAITS[actuator]
    if traits.goes_by_turns:
        return EachTurn(task.lead_ticks)
    if traits.asks_again:
        price_ratio = _PLAN_PRICE * price_at(task.rate_hz)
        planned = make_horizon(task, horizon, price_ratio) if isinstance(horizon, int) else horizon
        return EachPlan(planned, task.lead_ticks, _most_ticks(task))
    return EachTick(make_horizon(task, horizon) if isinstance(horizon, int) else horizon, task.lead_ticks)


def make_horizon(
    task: TaskDescription, ticks: int, price_ratio: float | None = None
) -> FixedHorizon | AdaptiveHorizon:
    """Return what says D: so many ticks for ever, or one that follows the link where it is ``ADAPTIVE_HORIZON``.

    Args:
        task: What is controlled.
        ticks: D, or ``ADAPTIVE_HORIZON``.
        price_ratio: What a tick more has to save where it adapts; ``price_at`` the task's rate where None.

    Raises:
        SpecError: Out of range.
    """
    if ticks != ADAPTIVE_HORIZON:
        return FixedHorizon(ticks)
    most = _most_ticks(task)
    first = min(max(round(_FIRST_HORIZON_S * task.rate_hz), 1), most)
    price_ratio = price_at(task.rate_hz) if price_ratio is None else price_ratio
    return AdaptiveHorizon(first, most_ticks=most, price_ratio=price_ratio)


def _most_ticks(task: TaskDescription) -> int:
    """Return how many actions an answer holds at most."""
    return min(max(_MOST_ANSWER_BYTES // max(task.action.nbytes, 1), 1), MAX_ACTIONS)
