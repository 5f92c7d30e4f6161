"""ProbeSummary: a measurement in a few numbers, for people and for ``--json``. Pure."""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from netlab.probe.probe_plan import ProbePlan
from netlab.probe.probe_result import Clocks, ProbeResult
from netlab.traces.loss_run import runs_of
from netlab.traces.ratio_interval import run_interval
from netlab.traces.trace import UNKNOWN, Trace
from netlab.traces.trace_figures import DelayFigures

__all__ = ["PathSummary", "ProbeSummary", "summarise"]


class PathSummary(Struct, frozen=True, kw_only=True):
    """What became of the packets of one path.

    Attributes:
        path: ``round-trip``, ``forward`` or ``back``.
        sent: How many there were.
        judged: Of how many it is known whether they were lost.
        lost: How many were.
        loss_ratio: Their share; None where nothing is known.
        loss_low: Lower end of its 95 % interval, wider where losses come in runs.
        loss_high: Upper end.
        duplicates: Further copies that arrived.
        reordered: Packets that were overtaken.
        late: Packets that came after the wait, counted among the lost.
        delay: None where no delay is known.
    """

    path: str
    sent: int
    judged: int
    lost: int
    loss_ratio: float | None
    loss_low: float | None
    loss_high: float | None
    duplicates: int
    reordered: int
    late: int
    delay: DelayFigures | None


class ProbeSummary(Struct, frozen=True, kw_only=True):
    """A measurement in a few numbers.

    Attributes:
        peer: Whom the prober talked with.
        plan: What was to be sent.
        sent: How many probes were sent.
        rate_hz: How many a second.
        has_log: Whether the reflector's whole log is part of it.
        clocks: What is known of the clocks.
        paths: Round trip, forward, back, as far as measured.
        notes: What a reader must know.
    """

    peer: str
    plan: ProbePlan
    sent: int
    rate_hz: float
    has_log: bool
    clocks: Clocks
    paths: list[PathSummary]
    notes: list[str] = []


def summarise(result: ProbeResult, plan: ProbePlan, peer: str, notes: list[str]) -> ProbeSummary:
    """Return a measurement in a few numbers.

    Args:
        result: The measurement.
        plan: What was to be sent.
        peer: Whom the prober talked with.
        notes: What a reader must know beside the result's own notes.
    """
    forward = result.forward
    lasted_s = float(forward.t_s[-1]) if forward.n else 0.0
    return ProbeSummary(
        peer=peer,
        plan=plan,
        sent=forward.n,
        rate_hz=(forward.n - 1) / lasted_s if lasted_s > 0.0 else 0.0,
        has_log=result.has_log,
        clocks=result.clocks,
        paths=[_summarise_path(trace, result) for trace in result.traces],
        notes=[*notes, *result.notes],
    )


def _summarise_path(trace: Trace, result: ProbeResult) -> PathSummary:
    is_lost = trace.lost[trace.lost != UNKNOWN] == 1
    judged, lost = int(is_lost.size), int(np.count_nonzero(is_lost))
    low, high = run_interval(lost, judged, int(runs_of(is_lost)[0].size))
    return PathSummary(
        path=trace.path.value,
        sent=trace.n,
        judged=judged,
        lost=lost,
        loss_ratio=trace.loss_ratio,
        loss_low=low if judged else None,
        loss_high=high if judged else None,
        duplicates=int((trace.copies[trace.copies > 1] - 1).sum()),
        reordered=result.reordered[trace.path.value],
        late=result.late[trace.path.value],
        delay=DelayFigures.of(trace.delay_s) if trace.has_delays else None,
    )
