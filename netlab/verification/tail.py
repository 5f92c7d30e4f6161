"""Tail: what there is to wait for when the last packet has been sent: a queue, and the longest delay. Pure.

::

    packets sent   | | | | | |
    on the wire     [   ][   ][   ][   ][   ][   ]        a rate that is exceeded leaves a queue
                             `---- drain ------'  `quiet'  and then for so long nothing comes any more
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from netlab.errors import SpecError
from netlab.probe.probe_plan import ProbePlan
from netlab.traces.conformance.asked import Asked
from netlab.traces.qdisc_state import QdiscState
from netlab.verification.flow_order import frame_bytes

__all__ = ["MOST_S", "Tail"]

MOST_S = 3600.0
"""Whoever asks for more has most likely mistyped a rate."""
_LEAST_QUIET_S = 0.5
_WIDEST_TABLE = 4.0
"""A table's entries are at most so many jitters."""


class Tail(NamedTuple):
    """How long to wait.

    Attributes:
        drain_s: How long after the last packet is sent the queue is empty at the latest.
        quiet_s: After how long a silence nothing more is on its way.
    """

    drain_s: float
    quiet_s: float

    @property
    def duration_s(self) -> float:
        """Return how long all of it takes at most."""
        return self.drain_s + self.quiet_s

    @classmethod
    def of(cls, asked: Iterable[Asked], plan: ProbePlan) -> Tail:
        """Return what is to be waited for after a flow each way.

        Args:
            asked: What each direction does.
            plan: What is sent each way.

        Raises:
            SpecError: It takes too long.
        """
        ways = tuple(asked)
        quiet_s = max(_silence_s(state, plan) for one in ways for state in one.states)
        tail = cls(max(_drain_s(one, plan) for one in ways), quiet_s)
        if tail.duration_s > MOST_S:
            hint = "send fewer packets (--count, --rate), smaller ones (--size), or ask for less of a delay"
            problem = (
                f"the last packet comes {tail.duration_s:,.0f} s after it is sent: must be at most {MOST_S:g} s"
            )
            raise SpecError(problem, key="profile", hint=hint)
        return tail


def _silence_s(state: QdiscState, plan: ProbePlan) -> float:
    latest_s = (state.latency_ns + _WIDEST_TABLE * state.jitter_ns) / 1e9
    return _LEAST_QUIET_S + latest_s + 2.0 * _wire_s(state, plan)


def _drain_s(asked: Asked, plan: ProbePlan) -> float:
    """Return how long a queue lasts that was filled, without a limit or full, whichever is less."""
    sent_s = plan.offsets_ns() / 1e9
    wire_s = np.empty(sent_s.size)
    most_s = 0.0
    for stretch in asked.stretches(sent_s):
        each_s = _wire_s(stretch.state, plan)
        most_s = max(most_s, each_s * stretch.state.limit_packets)
        wire_s[stretch.first : stretch.end] = each_s * (2.0 if stretch.state.duplicate else 1.0)
    return min(_last_done_s(sent_s, wire_s) - float(sent_s[-1]), most_s)


def _last_done_s(sent_s: NDArray[np.float64], wire_s: NDArray[np.float64]) -> float:
    """Return when the last is on the wire, where each waits for those before it."""
    work_s = np.cumsum(wire_s)
    return float(np.max(sent_s - work_s + wire_s) + work_s[-1])


def _wire_s(state: QdiscState, plan: ProbePlan) -> float:
    rate = state.rate_bytes_per_s
    return frame_bytes(plan) / rate if rate else 0.0
