"""Races: moments so close to one another that services and the model may take them in another order.

::

    packets of the model --answers_ns-------> when answers reached the edge ----> how close to a tick's beginning
                         --observations_ns--> when observations did the policy -> how close to one another

An answer is in time for a tick or it is not. Of two observations that reach the policy together the older is
answered if it is the first, and not if it is the second; an answer more or less leaves every later one another of
netem's draws. In virtual time a service that looks at the clock spends a step of it, and how often it looks before
its first tick hangs on where netlab is installed: a run of another clone may fall to the other side.
"""

from __future__ import annotations

from bisect import bisect, bisect_left
from collections.abc import Sequence
from itertools import pairwise

from netlab.traces.packets.packet_log import PacketRecord

__all__ = [
    "CLOCK_STEP_US",
    "CLOSE_US",
    "SHIFT_TICKS",
    "answers_ns",
    "nearest_pair_us",
    "nearest_tick_us",
    "observations_ns",
]

CLOCK_STEP_US = 0.256
"""By which the clock of virtual time moves."""
CLOSE_US = 32 * CLOCK_STEP_US
"""What is closer may be in another order: answers reach the edge some twenty steps later than on the model."""
SHIFT_TICKS = 16
"""So long after an answer more or less, the latest answers that had other draws are there."""


def answers_ns(records: Sequence[PacketRecord]) -> list[int]:
    """Return when answers arrived at the edge, in order: beside the policy nothing waits for a tick.

    One that had no delay, to an observation that had none, arrives at the moment of that observation's tick, which
    is too late for it wherever it is played: it is left out.
    """
    at_once = {one.sent_ns for one in records if one.direction == "forward" and one.delivered_ns == one.sent_ns}
    return sorted(
        one.delivered_ns
        for one in records
        if one.direction == "back"
        and one.delivered_ns is not None
        and not (one.delivered_ns == one.sent_ns and one.sent_ns in at_once)
    )


def observations_ns(records: Sequence[PacketRecord]) -> list[int]:
    """Return when observations arrived at the policy, in order."""
    return sorted(
        one.delivered_ns for one in records if one.direction == "forward" and one.delivered_ns is not None
    )


def nearest_tick_us(
    arrived_ns: list[int], begin_ns: int, period_ns: float, tick: int, reach_ticks: int
) -> float | None:
    """Return how close an arrival was to a tick's beginning; None where nothing arrived within a tick of any.

    Args:
        arrived_ns: When packets arrived, in order.
        begin_ns: When the episode's first tick began.
        period_ns: Of the ticks.
        tick: Where plays part: it, its neighbours and those before it are looked at.
        reach_ticks: How many before the earlier neighbour.
    """
    near: list[int] = []
    for step in range(max(0, tick - 1 - reach_ticks), tick + 2):
        moment = begin_ns + round(step * period_ns)
        place = bisect(arrived_ns, moment)
        near += (abs(arrival - moment) for arrival in arrived_ns[max(0, place - 1) : place + 1])
    least = min(near, default=period_ns)
    return least / 1e3 if least < period_ns else None


def nearest_pair_us(
    arrived_ns: list[int], begin_ns: int, period_ns: float, tick: int, reach_ticks: int
) -> float | None:
    """Return how close two arrivals were to one another; None where fewer than two are looked at.

    Args:
        arrived_ns: When observations arrived, in order.
        begin_ns: When the episode's first tick began.
        period_ns: Of the ticks.
        tick: Where plays part: what arrived before its end, within ``SHIFT_TICKS`` and the reach, is looked at.
        reach_ticks: How many ticks after an observation what it decides is played.
    """
    first = max(0, tick - SHIFT_TICKS - reach_ticks)
    begin, end = (bisect_left(arrived_ns, begin_ns + round(step * period_ns)) for step in (first, tick + 1))
    gaps = [later - earlier for earlier, later in pairwise(arrived_ns[begin:end])]
    return min(gaps) / 1e3 if gaps else None
