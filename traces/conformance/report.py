"""ConformanceReport: what a link delivered against what was asked of it, statistic by statistic. Plain data."""

from __future__ import annotations

from msgspec import Struct

from netlab.traces.conformance.allowance import Allowance
from netlab.traces.seed import Direction

__all__ = ["ConformanceReport", "DirectionConformance", "StatisticConformance"]


class StatisticConformance(Struct, frozen=True, kw_only=True):
    """One statistic.

    Attributes:
        name: Its name: ``ks``, ``mean``, ``loss`` ... (docs/conformance.md).
        unit: Of its numbers: ``s``, ``bit/s``, ``packets``; empty for a bare number.
        asked: Its median over flows that are as asked; None where it means nothing for them.
        delivered: Its value of the flow measured; None where it means nothing.
        low: What it must not be below.
        high: What it must not be above; None where what is allowed leaves it open.
        holds: Whether it lies between; None where there is nothing to judge.
    """

    name: str
    unit: str
    asked: float | None
    delivered: float | None
    low: float | None
    high: float | None
    holds: bool | None


class DirectionConformance(Struct, frozen=True, kw_only=True):
    """One direction of a link.

    Attributes:
        direction: ``forward`` or ``back``.
        packets: Packets sent and compared, n.
        arrived: Those of them that arrived.
        left_out: Packets not compared, since they were sent so soon after a change that it may have missed them.
        duration_s: From the first packet sent to the last.
        length_bytes: Of each Ethernet frame, without its checksum.
        flows: Flows simulated for the bounds.
        level: Share of flows as asked that lie outside some bound.
        allowed_spreads: By how many of its spreads any statistic may be off.
        statistics: One by one.
        holds: Whether all hold.
    """

    direction: Direction
    packets: int
    arrived: int
    left_out: int
    duration_s: float
    length_bytes: int
    flows: int
    level: float
    allowed_spreads: float
    statistics: list[StatisticConformance]
    holds: bool

    @property
    def failed(self) -> list[str]:
        """Return the names of the statistics that do not hold."""
        return [one.name for one in self.statistics if one.holds is False]


class ConformanceReport(Struct, frozen=True, kw_only=True):
    """A link.

    Attributes:
        directions: Those that were measured.
        level: Share of links as asked that fail, all directions together.
        allowance: What was allowed beside chance.
        engine: What carried the packets: ``host``, ``guest``, ``relay``, ``model``; empty where nobody says.
        clock: By which clock: ``real`` or ``virtual``.
        holds: Whether all directions hold.
    """

    directions: list[DirectionConformance]
    level: float
    allowance: Allowance
    engine: str
    clock: str
    holds: bool
