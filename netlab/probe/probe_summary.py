"""ProbeSummary: a measurement in a few numbers, for people and for ``--json``. Pure."""

from __future__ import annotations

import math

import numpy as np
from msgspec import Struct

from netlab.probe.probe_plan import ProbePlan
from netlab.probe.probe_result import Clocks, ProbeResult
from netlab.traces.trace import Trace

__all__ = ["DelaySummary", "PathSummary", "ProbeSummary", "summarise", "wilson_interval"]

QUANTILES = (0.01, 0.1, 0.5, 0.9, 0.99)
_Z_95 = 1.959963984540054


class DelaySummary(Struct, frozen=True, kw_only=True):
    """Delays of one path.

    Attributes:
        n: How many are known.
        mean_s: Their mean.
        sd_s: Their standard deviation (n - 1).
        least_s: The shortest.
        most_s: The longest.
        quantiles_s: By share, as text: ``0.5`` is the median.
    """

    n: int
    mean_s: float
    sd_s: float
    least_s: float
    most_s: float
    quantiles_s: dict[str, float]


class PathSummary(Struct, frozen=True, kw_only=True):
    """What became of the packets of one path.

    Attributes:
        path: ``round-trip``, ``forward`` or ``back``.
        sent: How many there were.
        judged: Of how many it is known whether they were lost.
        lost: How many were.
        loss_ratio: Their share; None where nothing is known.
        loss_low: Lower end of its 95 % interval.
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
    delay: DelaySummary | None


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


def wilson_interval(hits: int, n: int) -> tuple[float, float]:
    """Return the 95 % interval of a share.

    Source: Wilson, E. B. (1927), Probable inference, the law of succession, and statistical inference.
    """
    if not n:
        return 0.0, 1.0
    share, z2 = hits / n, _Z_95**2
    middle = share + z2 / (2 * n)
    half = _Z_95 * math.sqrt(share * (1.0 - share) / n + z2 / (4 * n * n))
    low, high = (middle - half) / (1 + z2 / n), (middle + half) / (1 + z2 / n)
    return (0.0 if hits == 0 else low), (1.0 if hits == n else high)


def summarise(result: ProbeResult, plan: ProbePlan, peer: str, notes: list[str]) -> ProbeSummary:
    """Return a measurement in a few numbers."""
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
        notes=notes,
    )


def _summarise_path(trace: Trace, result: ProbeResult) -> PathSummary:
    judged = int((trace.lost >= 0).sum())
    lost = int((trace.lost == 1).sum())
    low, high = wilson_interval(lost, judged)
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
        delay=_summarise_delay(trace),
    )


def _summarise_delay(trace: Trace) -> DelaySummary | None:
    delays_s = trace.delays_s
    if not delays_s.size:
        return None
    return DelaySummary(
        n=int(delays_s.size),
        mean_s=float(delays_s.mean()),
        sd_s=float(delays_s.std(ddof=1)) if delays_s.size > 1 else 0.0,
        least_s=float(delays_s.min()),
        most_s=float(delays_s.max()),
        quantiles_s={
            f"{share:g}": float(value)
            for share, value in zip(QUANTILES, np.quantile(delays_s, QUANTILES), strict=True)
        },
    )
