"""VerificationReport: the result document of ``netlab verify`` and ``netlab probe lab``. Plain data."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

import netlab
from netlab.clock_name import in_virtual_time
from netlab.machine import machine
from netlab.namespaces.play_log import PlayerCounts
from netlab.probe.probe_plan import ProbePlan
from netlab.traces.conformance.allowance import Allowance
from netlab.traces.conformance.asked import Asked
from netlab.traces.conformance.flow import flow_of_trace
from netlab.traces.conformance.judge import DEFAULT_LEVEL, Delivered, judge
from netlab.traces.conformance.likeness import AskedFlow, Likeness, compare_with_data
from netlab.traces.conformance.report import ConformanceReport
from netlab.traces.provenance import Provenance
from netlab.traces.seed import Direction
from netlab.traces.trace import Trace
from netlab.verification.default_plan import LEAST_COUNT
from netlab.verification.measurement import MeasuredFlow

__all__ = ["VerificationReport", "longest_pass_s", "verify_measured"]

_PAUSE_S = 1e-4


class VerificationReport(Struct, frozen=True, kw_only=True):
    """What was asked of a link, measured and judged.

    Attributes:
        netlab: Version.
        profile: What was asked, as it was typed or as a lab has it.
        plan: What was sent each way.
        seed: Of the link, and of the simulations that bounds come from.
        seeded: Whether the seed decides what the link does.
        machine: What it was measured on; ``engine`` and ``clock`` are the corner.
        changes: How schedules were played; None without one.
        pass_s: How long one pass of the longest schedule takes; None without one.
        warnings: What a person must know before trusting it.
        conformance: Statistic by statistic.
        likeness: How far it is from the data that the profile was made from, a path each; does not decide whether
            it holds. None without data.
    """

    netlab: str
    profile: str
    plan: ProbePlan
    seed: int
    seeded: bool
    machine: dict[str, Any]
    changes: PlayerCounts | None
    pass_s: float | None
    warnings: list[str]
    conformance: ConformanceReport
    likeness: list[Likeness] = []

    @property
    def holds(self) -> bool:
        """Return whether all that was asked was delivered."""
        return self.conformance.holds

    @property
    def verdict(self) -> str:
        """Return what came of it in words; of too few packets not that they were delivered as asked."""
        failed = [f"{one.direction} {name}" for one in self.conformance.directions for name in one.failed]
        if failed:
            return f"FAIL: {', '.join(failed)}"
        fewest = min(one.packets for one in self.conformance.directions)
        if fewest < LEAST_COUNT:
            return f"too few packets to tell: {fewest}, and a verdict takes {LEAST_COUNT}; nothing has failed"
        return "pass"


def verify_measured(
    asked: Mapping[Direction, Asked],
    measured: Mapping[Direction, MeasuredFlow],
    allowance: Allowance,
    *,
    profile: str,
    plan: ProbePlan,
    seed: int,
    wiring: str,
    clock: str = "",
    level: float = DEFAULT_LEVEL,
    seeded: bool = True,
    changes: PlayerCounts | None = None,
    warnings: list[str] | None = None,
    data: Sequence[Trace] = (),
    provenance: Provenance | None = None,
) -> VerificationReport:
    """Judge what was measured and return the document.

    Args:
        asked: What each direction was asked to do.
        measured: What it delivered.
        allowance: What is allowed beside chance.
        profile: What was asked, in words.
        plan: What was sent each way.
        seed: Of the link and of the simulations.
        wiring: Name of what carried the packets; see ``machine``.
        clock: By which clock; this process's unless given.
        level: Share of links as asked that fail all the same.
        seeded: Whether the seed decides what the link does.
        changes: How schedules were played.
        warnings: What a person must know.
        data: What was measured of the network, to compare with.
        provenance: Of the profile.

    Raises:
        ProfileError: Slots are asked for.
        TraceError: A trace cannot be judged.
    """
    on = machine(wiring, clock)
    pass_s = longest_pass_s(asked)
    delivered = {
        direction: Delivered(asked[direction], flow.trace, flow.length_bytes, flow.begin_s)
        for direction, flow in measured.items()
    }
    conformance = judge(
        delivered,
        allowance,
        level=level,
        seed=seed,
        engine=str(on["engine"]),
        clock=str(on["clock"]),
        pause=_pause,
    )
    flows = {
        direction: AskedFlow(
            Asked.of(asked[direction], flow.begin_s), flow_of_trace(flow.trace, flow.length_bytes)
        )
        for direction, flow in measured.items()
    }
    return VerificationReport(
        netlab=netlab.__version__,
        profile=profile,
        plan=plan,
        seed=seed,
        seeded=seeded,
        machine=on,
        changes=changes,
        pass_s=pass_s,
        warnings=warnings or [],
        conformance=conformance,
        likeness=compare_with_data(data, flows, allowance, provenance=provenance, seed=seed, pause=_pause),
    )


def _pause() -> None:
    """Let virtual time go on: a program that computes for half a minute without a pause is taken for stuck."""
    if in_virtual_time():
        time.sleep(_PAUSE_S)


def longest_pass_s(asked: Mapping[Direction, Asked]) -> float | None:
    """Return how long one pass of the longest schedule takes; None where nothing changes."""
    return max((one.duration_s for one in asked.values() if len(one.states) > 1), default=None)
