"""EachPlan: the agenda of ``planned``: each tick D ahead as ``EachTick``, and provisionally the ticks after that.

::

    o_k:    k+1 .. k+D-1        k+D           k+D+1 .. k+D+T
            decided before      decided       provisional: a later frame may say otherwise
            '------------------ one frame, in this order ---------------'

A frame that follows in time takes the place of the provisional decisions before any is played. Where frames are
lost or late for longer than D, the edge goes on with them: on a bursty link that is much better than playing
nothing, and D need not cover the worst gaps.

Why not decide all anew with each observation. The remote does not know which of its frames the edge has. What
is decided once is the same in all of them, so it knows what is pending; a decision that changes at the last
moment is played or not, and every prediction over it is wrong one time in two.

What the edge plays at the observation's own tick is known better: the observation says which frame is its newest.
"""

from __future__ import annotations

from msgspec import Struct

from netlab.control.decided import Decided
from netlab.control.horizon import Horizon
from netlab.messages import MAX_ACTIONS, Observation

__all__ = ["TAIL_TICKS", "EachPlan"]

TAIL_TICKS = 24
"""T: at 50 Hz half a second. Longer silences are rare, and predictions that far are poor."""


class _Sent(Struct, frozen=True):
    """The decisions of a frame that has left."""

    first: int
    decided: list[Decided]

    def at(self, tick: int) -> Decided | None:
        """Return the decision for a tick, if it is among them."""
        return self.decided[tick - self.first] if 0 <= tick - self.first < len(self.decided) else None


class EachPlan:
    """Decide for every tick, D ticks ahead, and provisionally for those that follow.

    Args:
        horizon: D.
        lead_ticks: How many ticks after its own an observation can be answered at the earliest.
        most_ticks: No frame reaches further, 1 .. 256.
    """

    def __init__(self, horizon: Horizon, lead_ticks: int, most_ticks: int = MAX_ACTIONS) -> None:
        self._horizon = horizon
        self._lead_ticks = lead_ticks
        self._most_ticks = most_ticks
        self._decided: dict[int, Decided] = {}
        self._sent: dict[int, _Sent] = {}
        self._tick = -1
        self._until = -1
        """The last target that is decided for good."""
        self._last = -1
        """The last one that is to be."""
        self._reached = -1
        """The last one that is decided at all."""
        self._end = -1
        self._now: Decided | None = None

    @property
    def horizon_ticks(self) -> int:
        """Return D as it is now."""
        return self._horizon.ticks

    def open(self, observation: Observation, *, begins_episode: bool) -> None:
        """Ask about all targets up to D that are not decided for good, and those after them; see ``Agenda``."""
        if begins_episode:
            self._horizon.begin_episode()
        self._horizon.note(observation)
        self._tick = tick = observation.tick
        reach = self._lead_ticks + self._horizon.ticks - 1
        earliest = tick + self._lead_ticks
        if begins_episode:
            self._decided.clear()
            self._sent.clear()
            self._until = self._reached = tick - observation.history_ticks + reach - 1
        if self._until < earliest:  # a silence: the edge lives on what was provisional, as far as that goes
            held = self._reached if self._reached >= earliest else tick + reach - 1
            self._until = min(held, tick + reach - 1)
        self._decided = {target: one for target, one in self._decided.items() if tick <= target <= self._until}
        self._last = tick + reach
        if self._until not in self._decided:
            self._last = max(self._last, self._until + 1)
        furthest = tick + self._lead_ticks + self._most_ticks - 1
        self._end = max(min(tick + reach + TAIL_TICKS, furthest), self._last)
        self._reached = self._until
        self._find_now(observation)

    def next_target(self) -> int | None:
        """Return the first target that is not decided on this observation, up to D and the tail's end."""
        return self._reached + 1 if self._reached < self._end else None

    def decide(self, target: int, decided: Decided) -> None:
        """Keep a decision; one beyond D until the next observation."""
        self._decided[target] = decided
        self._reached = target
        if target <= self._last:
            self._until = target

    def due(self, tick: int) -> Decided | None:
        """Return the decision for a tick; for the observation's own what the edge said that it has."""
        if tick == self._tick and self._lead_ticks:
            return self._now
        return self._decided.get(tick)

    def answer(self) -> tuple[int, list[Decided]]:
        """Return all that can still be played, the tail included."""
        first = self._tick + self._lead_ticks
        while first not in self._decided:
            first += 1
        decided = [self._decided[target] for target in range(first, self._reached + 1)]
        self._sent[self._tick] = _Sent(first, decided)
        return first, decided

    def _find_now(self, observation: Observation) -> None:
        """Take note of what the edge plays at the observation's tick, and forget frames that are over."""
        tick, age = observation.tick, observation.newest_age_ticks
        in_force = self._sent.get(tick - age) if age > 0 else None
        self._now = None if in_force is None else in_force.at(tick)
        self._sent = {sent: frame for sent, frame in self._sent.items() if frame.first + len(frame.decided) > tick}
