"""Expectation: between what each statistic of a flow lies, if the link does what was asked; computed, not assumed.

::

    asked, send times --simulate--> flows --first part--> Reference; middle and spread of each statistic
                                       `----the rest----> the widest deviation of any statistic, a flow each
                                                               `--its quantile--> how many spreads are allowed

All bounds hold at once: of flows that are as asked, at most a share ``level`` lies outside anywhere. That is so
whatever the statistics' distributions are and however they hang together, since a measured flow and the simulated
ones of the second part are then exchangeable: its widest deviation is the greatest but k-th of all with
probability k / (flows + 1). The spreads only share the level out among the statistics.

Source: Westfall and Young, Resampling-Based Multiple Testing (1993), for the widest deviation.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from netlab.errors import ProfileError
from netlab.traces.conformance.allowance import EXACT, Allowance
from netlab.traces.conformance.asked import Asked
from netlab.traces.conformance.flow import MAX_PACKETS, Flow
from netlab.traces.conformance.lateness import is_crowded, late_flows, order_left_open
from netlab.traces.conformance.reference import Reference, ReferenceBuilder
from netlab.traces.conformance.simulation import go_on, simulate
from netlab.traces.conformance.statistic import STATISTICS, Bounds, Circumstance, Scale, Statistic
from netlab.traces.seed import Direction, link_seed

__all__ = ["DEFAULT_LEVEL", "Expectation", "Spread", "expect"]

DEFAULT_LEVEL = 0.005
"""Of one direction: 1 % for the two of a link together."""

_SPREAD_FLOWS, _LEVEL_FLOWS = 200, 799
"""At a level of 0.5 % the fourth widest deviation of 799 counts."""
_PURPOSE = "what conformance expects"
"""In the place of a link's name in seeds: none has spaces."""
_LEAST_SPREADS = 1.0
"""Where chance does nothing at all, floats still round."""
_BUSY_PACKETS = 20_000_000
"""Beyond so many simulated packets (some seconds of computing) there are fewer flows."""
_LATE_FLOWS, _LATE_PACKETS = 16, 400_000
"""Flows a manner of being late, and how many packets there are of it at most, where two flows are not more."""
_COST_OF_CHANGE = 5
"""Packets that could be simulated while one link of many is changed to the next step of a schedule."""


class Spread(NamedTuple):
    """How a statistic is spread over simulated flows, on its scale.

    Attributes:
        middle: Its median; NaN where it means nothing for most of them.
        above: Root of the mean square of what is above.
        below: Of what is below.
    """

    middle: float
    above: float
    below: float

    @classmethod
    def of(cls, values: Iterable[float], scale: Scale) -> Spread:
        """Return the spread of a statistic's values."""
        found = np.array([math.nan if math.isnan(value) else scale.of(value) for value in values])
        there = found[~np.isnan(found)]
        if there.size * 2 < found.size or not there.size:
            return cls(math.nan, math.nan, math.nan)
        middle = float(np.median(there))
        over, under = there[there > middle] - middle, middle - there[there < middle]
        above, below = (
            float(np.sqrt((part**2).mean())) if part.size * 20 >= there.size else float(there.std())
            for part in (over, under)
        )
        return cls(middle, max(above, scale.least), max(below, scale.least))

    def at_least(self, other: Spread) -> Spread:
        """Return this one, as wide as another where that is wider."""
        above, below = np.fmax((self.above, self.below), (other.above, other.below)).tolist()
        return Spread(self.middle, above, below)

    def deviation(self, value: float, statistic: Statistic, n: int) -> float:
        """Return by how many spreads a value is off; 0 where that means nothing."""
        if math.isnan(value) or math.isnan(self.middle):
            return 0.0
        off = statistic.scale(n).of(value) - self.middle
        if off > 0.0:
            return off / self.above
        return 0.0 if statistic.is_distance else -off / self.below

    def bounds(self, statistic: Statistic, n: int, spreads: float) -> Bounds:
        """Return the values that are so many spreads off; a distance has no lower bound but 0."""
        back = statistic.scale(n).back
        low = 0.0 if statistic.is_distance else back(self.middle - spreads * self.below)
        return Bounds(low, back(self.middle + spreads * self.above))


class Expectation(NamedTuple):
    """What is to be expected of a flow.

    Attributes:
        sent_s: When its packets are sent, ``[n]``.
        kept: Which of them are compared: not those that a change put in force late may miss, ``[n]``.
        length_bytes: Of each frame.
        allowed: What is allowed beside chance.
        reference: What the simulated flows have in common.
        spreads: Of each statistic, in the order of ``STATISTICS``.
        allowed_spreads: How many of them any statistic may be off.
        flows: How many were simulated.
        level: Share of flows that lie outside though they are as asked, at most.
        late: The spreads of flows of packets that are late, a tuple a manner, where that decides what is lost.
        order_open: Of how many packets it is open whether they were reordered: of those that were, of the others.
    """

    sent_s: NDArray[np.float64]
    kept: NDArray[np.bool_]
    length_bytes: int
    allowed: Allowance
    reference: Reference
    spreads: tuple[Spread, ...]
    allowed_spreads: float
    flows: int
    level: float
    late: tuple[tuple[Spread, ...], ...] = ()
    order_open: tuple[int, int] = (0, 0)

    def bounds(self, number: int) -> Bounds:
        """Return between what statistic ``number`` lies by chance, and by what lateness decides.

        It may decide so for some packets and not for others: all that is between is as asked.
        """
        one, n = STATISTICS[number], int(np.count_nonzero(self.kept))
        spreads = (self.spreads[number], *(manner[number] for manner in self.late))
        found = [
            spread.bounds(one, n, self.allowed_spreads) for spread in spreads if not math.isnan(spread.middle)
        ]
        low, high = min(bounds.low for bounds in found), max(bounds.high for bounds in found)
        if one.name == "reordered":
            low, high = max(low - self.order_open[0], 0.0), min(high + self.order_open[1], float(n))
        return Bounds(low, high)

    def circumstance(self) -> Circumstance:
        """Return what allowances depend on."""
        sd = next(spread for spread, one in zip(self.spreads, STATISTICS, strict=True) if one.name == "sd")
        sent_s = self.sent_s[self.kept]
        return Circumstance(self.allowed, self.reference, sd.middle, float(sent_s[-1] - sent_s[0]))


def expect(
    asked: Asked,
    sent_s: NDArray[np.float64],
    length_bytes: int,
    *,
    allowed: Allowance = EXACT,
    seed: int = 0,
    direction: Direction = "forward",
    level: float = DEFAULT_LEVEL,
    pause: Callable[[], None] = go_on,
) -> Expectation:
    """Return what is to be expected of packets sent at these times.

    Args:
        asked: What the link was asked to do.
        sent_s: When they are sent; never decreasing, ``[n]``.
        length_bytes: Of each Ethernet frame, without its checksum.
        allowed: What is allowed beside chance.
        seed: Of the simulation: the same seed, the same bounds.
        direction: Its seeds are its own.
        level: Share of flows as asked that may lie outside, 0.5 % .. 50 %.
        pause: As for ``simulate``.

    Raises:
        ProfileError: A number is out of range, the packets are none or too many, or each is sent so soon after
            a change that what is allowed leaves open which state it meets.
    """
    if not 0.005 <= level <= 0.5:
        raise ProfileError(f"level = {level!r}: must be 0.005 .. 0.5", hint="a smaller one takes more flows")
    if not 1 <= sent_s.size <= MAX_PACKETS:
        raise ProfileError(f"{sent_s.size} packets: must be 1 .. {MAX_PACKETS}")
    kept = asked.settled(sent_s, allowed.later_s)
    if not kept.any():
        hint = "give a smaller allowance, or send at other times than those of the changes"
        raise ProfileError(f"every packet is sent within {allowed.later_s:g} s after a change", hint)
    for_spread, for_level = _flows(asked, sent_s)
    seeds = _seeds(seed, direction, for_spread + for_level)

    def flows_of(seeds: Sequence[int]) -> Iterator[Flow]:
        return (flow.only(kept) for flow in simulate(asked, sent_s, length_bytes, seeds, pause))

    flows = flows_of(seeds)
    # Twice: the spread of a distance from the reference is known once there is one.
    builder = ReferenceBuilder(for_spread, allowed.stragglers)
    for flow in islice(flows, for_spread):
        builder.add(flow)
    reference = builder.build()
    n = int(np.count_nonzero(kept))
    spreads = _spreads(flows_of(seeds[:for_spread]), reference, n)
    widest = sorted((_widest(flow, reference, spreads) for flow in flows), reverse=True)
    allowed_spreads = max(widest[max(1, math.floor(level * (for_level + 1) + 1e-9)) - 1], _LEAST_SPREADS)
    found = Expectation(
        sent_s, kept, length_bytes, allowed, reference, spreads, allowed_spreads, for_spread + for_level, level
    )
    if not allowed.later_s:
        return found
    return found._replace(
        late=_late(asked, found, seeds, pause),
        order_open=_order_open(asked, flows_of(seeds[:_LATE_FLOWS]), allowed.later_s),
    )


def _late(
    asked: Asked, found: Expectation, seeds: Sequence[int], pause: Callable[[], None]
) -> tuple[tuple[Spread, ...], ...]:
    """Return the spreads of flows of packets that are late; none where that decides nothing."""
    sent_s, length_bytes, later_s = found.sent_s, found.length_bytes, found.allowed.later_s
    if not is_crowded(asked, sent_s, length_bytes, later_s, seeds, pause):
        return ()
    n = int(np.count_nonzero(found.kept))
    some = seeds[: max(2, min(_LATE_FLOWS, _LATE_PACKETS // sent_s.size))]
    manners = []
    for flows in late_flows(asked, sent_s, length_bytes, later_s, some, pause):
        spreads = _spreads((flow.only(found.kept) for flow in flows), found.reference, n)
        manners.append(tuple(one.at_least(other) for one, other in zip(spreads, found.spreads, strict=True)))
    return tuple(manners)


def _order_open(asked: Asked, flows: Iterator[Flow], later_s: float) -> tuple[int, int]:
    """Return of how many packets lateness alone decides whether they were reordered; see ``Expectation``."""
    if not any(state.reorder or (state.jitter_ns and not state.rate_bytes_per_s) for state in asked.states):
        return 0, 0
    keeps_order = all(state.rate_bytes_per_s or not state.jitter_ns for state in asked.states)
    found = [order_left_open(flow, later_s, keeps_order=keeps_order) for flow in flows]
    return max(fewer for fewer, _ in found), max(more for _, more in found)


def _flows(asked: Asked, sent_s: NDArray[np.float64]) -> tuple[int, int]:
    """Return how many flows to simulate for the spreads, and how many for the level."""
    changes = sum(1 for _ in asked.stretches(sent_s))
    cost = sent_s.size + (changes - 1) * _COST_OF_CHANGE
    fewer = max(1, math.ceil(cost * (_SPREAD_FLOWS + _LEVEL_FLOWS) / _BUSY_PACKETS))
    # One direction's level of 0.5 % needs 199 flows to be told at all.
    return max(_SPREAD_FLOWS // fewer, 80), max((_LEVEL_FLOWS + 1) // min(fewer, 4), 200) - 1


def _seeds(seed: int, direction: Direction, flows: int) -> Sequence[int]:
    return [link_seed(seed, _PURPOSE, direction, number) for number in range(flows)]


def _spreads(flows: Iterator[Flow], reference: Reference, n: int) -> tuple[Spread, ...]:
    values = [[one.measure(flow, reference, EXACT) for one in STATISTICS] for flow in flows]
    columns = zip(STATISTICS, zip(*values, strict=True), strict=True)
    return tuple(Spread.of(column, one.scale(n)) for one, column in columns)


def _widest(flow: Flow, reference: Reference, spreads: Sequence[Spread]) -> float:
    """Return by how many spreads the statistic that is off most is off."""
    return max(
        spread.deviation(one.measure(flow, reference, EXACT), one, flow.n)
        for one, spread in zip(STATISTICS, spreads, strict=True)
    )
