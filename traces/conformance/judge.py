"""judge: whether delivered traces are what was asked; the door to conformance.

::

    asked --expect--> Expectation --.
    Trace --flow_of_trace--> Flow --+--judge_flow--> DirectionConformance --.
                                                     the other direction ---+--> ConformanceReport

Pure: knows no lab and no clock.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np

from netlab.errors import ProfileError
from netlab.traces.conformance.allowance import Allowance
from netlab.traces.conformance.asked import Asked
from netlab.traces.conformance.asked import Direction as AskedDirection
from netlab.traces.conformance.expectation import Expectation, expect
from netlab.traces.conformance.flow import Flow, flow_of_trace
from netlab.traces.conformance.report import ConformanceReport, DirectionConformance, StatisticConformance
from netlab.traces.conformance.simulation import go_on
from netlab.traces.conformance.statistic import STATISTICS, Circumstance, Statistic
from netlab.traces.seed import Direction
from netlab.traces.trace import Trace

__all__ = ["DEFAULT_LEVEL", "Delivered", "judge", "judge_flow"]

DEFAULT_LEVEL = 0.01
"""One link in a hundred that is as asked fails all the same."""


class Delivered(NamedTuple):
    """What one direction delivered, and what was asked of it.

    Attributes:
        asked: A state, a profile or a schedule, or what ``Asked`` makes of it.
        trace: Its packets.
        length_bytes: Of each Ethernet frame, without its checksum.
        begin_s: When a schedule began, on the clock of the trace; below 0 for before its first packet.
    """

    asked: AskedDirection | Asked
    trace: Trace
    length_bytes: int
    begin_s: float = 0.0


def judge(
    delivered: Mapping[Direction, Delivered],
    allowance: Allowance,
    *,
    level: float = DEFAULT_LEVEL,
    seed: int = 0,
    engine: str = "",
    clock: str = "",
    pause: Callable[[], None] = go_on,
) -> ConformanceReport:
    """Judge the directions of a link.

    Args:
        delivered: Those that were measured.
        allowance: What is allowed beside chance.
        level: Share of links as asked that fail, shared out evenly among the directions.
        seed: Of the simulations that bounds are computed from.
        engine: What carried the packets, for the report.
        clock: By which clock, for the report.
        pause: Called every now and then while flows are simulated.

    Raises:
        ProfileError: There is no direction, the level is out of range, or a slot was asked for.
        TraceError: A trace is not one that can be judged.
    """
    if not delivered:
        raise ProfileError("no direction to judge")
    each = level / len(delivered)
    directions = []
    for direction, one in delivered.items():
        flow = flow_of_trace(one.trace, one.length_bytes)
        asked = Asked.of(one.asked, one.begin_s)
        expected = expect(
            asked,
            flow.sent_s,
            flow.length_bytes,
            allowed=allowance,
            seed=seed,
            direction=direction,
            level=each,
            pause=pause,
        )
        directions.append(judge_flow(expected, flow, direction))
    return ConformanceReport(
        directions=directions,
        level=level,
        allowance=allowance,
        engine=engine,
        clock=clock,
        holds=all(one.holds for one in directions),
    )


def judge_flow(expected: Expectation, flow: Flow, direction: Direction = "forward") -> DirectionConformance:
    """Judge one flow by what is expected of it; its packets were sent at the times of the expectation."""
    at = expected.circumstance()
    left_out = int(np.count_nonzero(~expected.kept))
    flow = flow.only(expected.kept)
    judged = [_judge_one(number, one, flow, expected, at) for number, one in enumerate(STATISTICS)]
    return DirectionConformance(
        direction=direction,
        packets=flow.n,
        arrived=int(flow.delays_s.size),
        left_out=left_out,
        duration_s=at.duration_s,
        length_bytes=flow.length_bytes,
        flows=expected.flows,
        level=expected.level,
        allowed_spreads=expected.allowed_spreads,
        statistics=judged,
        holds=all(one.holds is not False for one in judged),
    )


def _judge_one(
    number: int, one: Statistic, flow: Flow, expected: Expectation, at: Circumstance
) -> StatisticConformance:
    spread = expected.spreads[number]
    value = one.measure(flow, expected.reference, at.allowed)
    per = flow.n if one.is_share else 1
    delivered = None if math.isnan(value) else value / per
    if math.isnan(spread.middle):
        return StatisticConformance(
            name=one.name, unit=one.unit, asked=None, delivered=delivered, low=None, high=None, holds=None
        )
    low, high = one.widen(expected.bounds(number), at)
    if one.is_share:  # whole packets
        low, high = float(math.ceil(low - 1e-9)), float(math.floor(high + 1e-9))
    return StatisticConformance(
        name=one.name,
        unit=one.unit,
        asked=one.scale(flow.n).back(spread.middle) / per,
        delivered=delivered,
        low=low / per,
        high=None if math.isinf(high) else high / per,
        holds=None if delivered is None else low <= value <= high,
    )
