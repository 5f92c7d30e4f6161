"""Horizon: D, how many ticks ahead decisions are made; fixed, or as measured ages ask. No I/O, no clock.

What D has to cover. The frame on observation o holds the decisions for ticks o+1 .. o+D. Tick k has its action
if one of the frames on o = k-D .. k-1 has come by then; which one does not matter. With A the age that the edge
measures at tick k, before it plays, the newest frame it has is on o = k - A, and no frame on a later
observation has come. So::

    A <= D   the newest frame is on o >= k-D: it holds tick k           played
    A >  D   every frame that came is on o < k-D: none holds tick k     missed

P(A > D) is the share of ticks missed, and the least D for a share of at most 1 - q is the q-quantile of A.
Delay, jitter, loss both ways, bursts and overtaking are all in A: no model of the link is needed. (A silence of D
ticks or more costs a little on top: what was not decided during it cannot be played after it.)

At a turn-based pace an answer may be for its own tick, o .. o+D-1, and is played when the next tick is observed:
with A as measured there the same holds.

What D costs. A push from outside is answered D ticks later, and at an episode's beginning D ticks play nothing
that was decided. On a link whose losses come in bursts the ages have a long tail, and to cover it is worse than to
miss it. So a tick more of D has to save a share of the ticks, its price: D has the least P(A > D) + price * D.

Which ages are known here. The remote sees A only at ticks whose observation arrived, and in an outage, when A is
largest, none does. At the first one after it, of tick k, the age at an earlier tick j was at least A - (k - j),
since the newest frame at j was no newer than that at k. These least ages stand for the ticks between.

::

    observation --newest_age_ticks--> last W ticks --quantile, price--> wanted --the largest of H ticks--> D
                  and ticks between     (sorted)       and margin
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right, insort
from collections import deque
from typing import Protocol

from netlab.control.actuator import MAX_AHEAD_TICKS
from netlab.errors import SpecError
from netlab.messages import Observation

__all__ = ["AdaptiveHorizon", "FixedHorizon", "Horizon", "price_at"]

MAX_WINDOW_TICKS = 10_000
_MAX_CHANGES = 4096

_PRICE_PER_S = 0.5
_MOST_PRICE = 0.05


class Horizon(Protocol):
    """Says how many ticks ahead to decide."""

    @property
    def ticks(self) -> int:
        """Return D, 1 .. 256."""
        ...

    def begin_episode(self) -> None:
        """Forget all that was measured: episodes know nothing of each other."""
        ...

    def note(self, observation: Observation) -> None:
        """Take in an observation that the remote accepted, before it is asked about."""
        ...


class FixedHorizon:
    """One D for ever.

    Args:
        ticks: D, 1 .. 256.

    Raises:
        SpecError: It is out of range.
    """

    def __init__(self, ticks: int) -> None:
        _check_count("ticks", ticks, 1, MAX_AHEAD_TICKS)
        self.ticks = ticks

    def begin_episode(self) -> None:
        """Forget nothing."""

    def note(self, observation: Observation) -> None:
        """Learn nothing."""


class AdaptiveHorizon:
    """Follows the ages of the last ticks: their quantile, as far as each tick of it is worth its price.

    It rises at once and falls slowly: D is the largest that was wanted in the last ``hold_ticks`` ticks, the one
    it began with included. So an age that goes up and down across a tick's edge moves it once. An age has no
    effect any more ``window_ticks + hold_ticks`` ticks after it, however large it was, nor on another episode.

    Args:
        start_ticks: D at an episode's beginning: the link's, or a cautious one.
        least_ticks: D never goes below.
        most_ticks: D never goes above.
        quantile: Share of the ticks whose age D covers at most, within 0 .. 1.
        price_ratio: Share of the ticks that one tick more of D has to save, ``price_at`` the rate; 0 for the
            quantile alone.
        margin_ticks: Added to what is wanted.
        window_ticks: W, ticks whose ages count, at most 10,000.
        hold_ticks: H, how long a D is kept after it was last wanted.

    The arguments are attributes too, but ``start_ticks``, which is what ``ticks`` begins as.

    Attributes:
        ticks: D.
        changes: The episode's newest 4096 changes as (tick of the observation, new D).

    Raises:
        SpecError: A number is out of range, or they contradict one another.
    """

    def __init__(
        self,
        start_ticks: int,
        *,
        least_ticks: int = 1,
        most_ticks: int = MAX_AHEAD_TICKS,
        quantile: float = 0.995,
        price_ratio: float = 0.01,
        margin_ticks: int = 0,
        window_ticks: int = 1000,
        hold_ticks: int = 100,
    ) -> None:
        _check_count("most_ticks", most_ticks, 1, MAX_AHEAD_TICKS)
        _check_count("least_ticks", least_ticks, 1, most_ticks)
        _check_count("start_ticks", start_ticks, least_ticks, most_ticks)
        _check_count("margin_ticks", margin_ticks, 0, MAX_AHEAD_TICKS)
        _check_count("window_ticks", window_ticks, 1, MAX_WINDOW_TICKS)
        _check_count("hold_ticks", hold_ticks, 1, MAX_WINDOW_TICKS)
        if not 0.0 < quantile < 1.0:
            raise SpecError(f"{quantile!r}: must lie between 0 and 1", key="horizon.quantile")
        if not 0.0 <= price_ratio < 1.0:
            raise SpecError(f"{price_ratio!r}: must be 0 or more, and below 1", key="horizon.price_ratio")
        self.ticks = self._start_ticks = start_ticks
        self.changes: deque[tuple[int, int]] = deque(maxlen=_MAX_CHANGES)
        self.least_ticks, self.most_ticks = least_ticks, most_ticks
        self.quantile, self.price_ratio = quantile, price_ratio
        self.margin_ticks = margin_ticks
        self.window_ticks, self.hold_ticks = window_ticks, hold_ticks
        self._ages: deque[int] = deque()
        self._sorted: list[int] = []
        self._measured = 0
        # What was wanted when, falling: a smaller one that was followed by a larger can never be D again.
        self._wanted: deque[tuple[int, int]] = deque()
        self._tick = -1
        self.begin_episode()

    @property
    def covered_ticks(self) -> int:
        """Return the quantile of the ages in the window; -1 before the first."""
        size = len(self._sorted)
        return self._sorted[max(math.ceil(self.quantile * size - 1.0), 0)] if size else -1

    @property
    def worth_ticks(self) -> int:
        """Return the D with the least P(A > D) + price * D; -1 before the first age.

        Of those from the least age in the window, below which all is missed, to ``covered_ticks``.
        """
        ages, covered = self._sorted, self.covered_ticks
        price = self.price_ratio * len(ages)
        if not price:
            return covered
        best, least_cost, index = covered, math.inf, 0
        # D is worth considering only at an age that occurs: between two of them it costs more and saves nothing.
        while index < len(ages) and ages[index] <= covered:
            age = ages[index]
            index = bisect_right(ages, age, index)
            cost = len(ages) - index + price * age
            if cost < least_cost:
                best, least_cost = age, cost
        return best

    def begin_episode(self) -> None:
        """Forget every age, and all that was wanted for them: D is as at first."""
        self.ticks = self._start_ticks
        self.changes.clear()
        self._ages.clear()
        self._sorted.clear()
        self._measured = 0
        self._wanted.clear()
        self._wanted.append((0, self._start_ticks))
        self._tick = -1

    def note(self, observation: Observation) -> None:
        """Take in the age of an observation, and the least ages of the ticks since the one before it.

        One that is no newer than the last is ignored; one from before the edge's first answer says nothing.
        """
        tick, age = observation.tick, observation.newest_age_ticks
        if tick <= self._tick:
            return
        between = 0 if self._tick < 0 else tick - self._tick - 1
        self._tick = tick
        if age < 0:
            return
        for back in range(min(between, self.window_ticks - 1), 0, -1):
            self._add(max(age - back, 1))
        self._add(age)
        self._follow(tick)

    def _add(self, age: int) -> None:
        self._ages.append(age)
        insort(self._sorted, age)
        if len(self._ages) > self.window_ticks:
            del self._sorted[bisect_left(self._sorted, self._ages.popleft())]
        self._measured += 1

    def _follow(self, tick: int) -> None:
        asked = self.worth_ticks + self.margin_ticks
        asked = min(max(asked, self.least_ticks), self.most_ticks)
        wanted = self._wanted
        while wanted and wanted[-1][1] <= asked:
            wanted.pop()
        wanted.append((self._measured, asked))
        while wanted[0][0] <= self._measured - self.hold_ticks:
            wanted.popleft()
        if wanted[0][1] != self.ticks:
            self.ticks = wanted[0][1]
            self.changes.append((tick, self.ticks))


def price_at(rate_hz: float) -> float:
    """Return the price of a tick where there are so many a second: 1 % at 50 Hz, at most 5 %.

    What D costs goes with time, not with ticks. Source: measured with CartPole; docs/features.md.
    """
    return min(_PRICE_PER_S / rate_hz, _MOST_PRICE)


def _check_count(name: str, value: int, least: int, most: int) -> None:
    if type(value) is not int or not least <= value <= most:
        hint = "`netlab profile show PROFILE` prints the D of a link" if name in ("ticks", "start_ticks") else ""
        raise SpecError(
            f"{value!r:.80}: must be a whole number, {least} .. {most}", key=f"horizon.{name}", hint=hint
        )
