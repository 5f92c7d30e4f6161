"""Lateness where it decides more than when: a packet that leaves late is still in a queue that is then full.

::

    packet k leaves at the moment at which packet k + 1 comes:   on time  both pass
                                                                 later    the queue has no room for k + 1

Without chance the simulated flows are all alike, and such a tie, or what is nearly one, falls the same way in
each of them. So where a limit is nearly reached flows are simulated again with packets that come and leave later,
by some ways of being late within what is allowed. Their delays are without the lateness, which is allowed for
elsewhere. Which of two packets that arrive at nearly one moment was first is open as well: it is counted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from netlab.traces.conformance.asked import Asked
from netlab.traces.conformance.flow import RESOLUTION_S, Flow
from netlab.traces.conformance.simulation import Moments, link_runs, simulate

__all__ = ["MANNERS", "Manner", "is_crowded", "late_flows", "order_left_open"]

_LOOKED_AT = 8
"""Flows by which one sees whether a queue comes near its limit."""
_AT_ONCE_S = 1e-9


class Manner(NamedTuple):
    """One way of being late, in parts of what is allowed.

    Attributes:
        enters: Packets enter by up to so much after they were stamped, each by its own.
        leaves: They are still there for so much after they were due.
        is_even: Whether that is so of each, or up to so much, of each its own.
    """

    enters: float
    leaves: float
    is_even: bool


MANNERS = (
    *(Manner(0.0, part, True) for part in (0.001, 0.01, 0.1, 0.3, 1.0)),
    Manner(0.0, 1.0, False),
    Manner(0.1, 0.0, True),
    Manner(1.0, 0.0, True),
    Manner(0.1, 0.1, False),
)


def is_crowded(
    asked: Asked,
    sent_s: NDArray[np.float64],
    length_bytes: int,
    later_s: float,
    seeds: Sequence[int],
    pause: Callable[[], None],
) -> bool:
    """Return whether a queue is full, or would be if packets left by ``later_s`` later than they are due."""
    least = min(state.limit_packets for state in asked.states)
    if 2 * sent_s.size <= least:  # not even with a duplicate of each
        return False
    sent_ns = np.round(sent_s * 1e9).astype(np.int64)
    queued: list[Moments] = []
    leave_ns: list[Moments] = []
    for run in link_runs(asked, sent_s, sent_ns, length_bytes, seeds[:_LOOKED_AT], pause):
        copies = [run.fates.original] if run.fates.duplicate is None else [run.fates.original, run.fates.duplicate]
        if run.fates.over_limit.any():
            return True
        queued.append(sum((one.queued.astype(np.int64) for one in copies[1:]), copies[0].queued.astype(np.int64)))
        leave_ns.extend(np.where(one.queued, one.leave_ns, np.iinfo(np.int64).max) for one in copies)
    entered, leaves = np.cumsum(np.concatenate(queued), axis=0), np.sort(np.concatenate(leave_ns), axis=0)
    looked_ns = sent_ns - round(later_s * 1e9) - 1
    for link in range(entered.shape[1]):
        waiting = entered[:, link] - np.searchsorted(leaves[:, link], looked_ns, side="right")
        if int(waiting.max()) > least:  # what enters is among them
            return True
    return False


def late_flows(
    asked: Asked,
    sent_s: NDArray[np.float64],
    length_bytes: int,
    later_s: float,
    seeds: Sequence[int],
    pause: Callable[[], None],
) -> list[list[Flow]]:
    """Return flows of packets that are late, a list a manner and a flow a seed."""
    manners = [manner for manner in MANNERS for _ in seeds]
    rng = np.random.default_rng([1, *seeds])

    def late(packets: int) -> tuple[Moments, Moments]:
        parts = rng.random((2, packets, len(manners)))
        parts[1][:, [manner.is_even for manner in manners]] = 1.0
        scales = np.array([[manner.enters for manner in manners], [manner.leaves for manner in manners]])
        enters, leaves = np.rint(parts * scales[:, np.newaxis, :] * later_s * 1e9).astype(np.int64)
        return enters, np.maximum(leaves, (scales[1] > 0.0).astype(np.int64))

    flows = list(simulate(asked, sent_s, length_bytes, [*seeds] * len(MANNERS), pause, late))
    return [flows[first : first + len(seeds)] for first in range(0, len(flows), len(seeds))]


def order_left_open(flow: Flow, later_s: float, *, keeps_order: bool) -> tuple[int, int]:
    """Return of how many packets that were reordered it is not sure, and how many more may have been.

    Args:
        flow: A simulated one.
        later_s: By how much each packet may be later.
        keeps_order: Whether only those packets overtake that are sent on at once, not the others one another.
    """
    arrival_s = np.where(flow.arrived, flow.sent_s + flow.delay_s, np.inf)
    first_s = _first_later(arrival_s)
    there = flow.arrived[:-1]
    overtaken = there & (first_s < arrival_s[:-1] - RESOLUTION_S)
    surely = there & (first_s < arrival_s[:-1] - RESOLUTION_S - later_s)
    if keeps_order:
        first_s = _first_later(np.where(flow.delay_s <= _AT_ONCE_S, arrival_s, np.inf))
    maybe = overtaken | (there & (first_s < arrival_s[:-1] - RESOLUTION_S + later_s))
    return int(np.count_nonzero(overtaken & ~surely)), int(np.count_nonzero(maybe & ~overtaken))


def _first_later(arrival_s: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return when the first of the packets sent after each arrives, ``[n - 1]``."""
    return np.minimum.accumulate(arrival_s[::-1])[::-1][1:]
