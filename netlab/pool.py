"""pool_cell: what the labs of one cell add up to."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence

from netlab.control.counters import EdgeCounters
from netlab.control.histogram import Histogram
from netlab.envs.result import RunResult
from netlab.namespaces.play_log import PlayerCounts
from netlab.report import CellResult, ChangeCounts, Milliseconds
from netlab.share import ShareResult
from netlab.traces.presets import PRESETS
from netlab.traces.toml_profile import format_profile

__all__ = ["pool_cell"]


def pool_cell(results: Sequence[ShareResult]) -> CellResult:
    """Pool the labs of one cell; all ran the same cell."""
    share = results[0].share
    runs = [result.run for result in results]
    returns = tuple(value for run in runs for value in run.returns)
    latency = Milliseconds.of(
        Histogram.from_pairs(pair for run in runs for pair in run.latency.histogram_us or ())
    )
    ages = [run.ages for run in runs if run.ages.count]
    counters = EdgeCounters()
    for run in runs:
        counters.add(run.counters)
    changes = [result.changes for result in results if result.changes is not None]
    ticks = counters.ticks
    return CellResult(
        network=share.cell.network,
        reading=share.pair.reading,
        network_toml="" if _is_preset(share.cell.network) else format_profile(share.pair),
        policy=share.cell.policy,
        actuator=share.cell.actuator,
        horizon_ticks=share.horizon_ticks,
        fallback=share.cell.fallback,
        seeds=tuple(result.share.seed for result in results),
        link_seeds=tuple(result.link_seed for result in results),
        returns=returns,
        return_mean=statistics.fmean(returns) if returns else None,
        return_se=statistics.stdev(returns) / math.sqrt(len(returns)) if len(returns) > 1 else None,
        asked_round_trip_ms=_milliseconds(share.pair.asked_round_trip),
        expected_round_trip_ms=_milliseconds(share.pair.delivered_round_trip(runs[0].rate_hz)),
        latency_ms=latency,
        answered_ratio=latency.n / ticks if ticks else 0.0,
        age_p50_ticks=statistics.median(age.p50 for age in ages) if ages else None,
        age_p99_ticks=max(age.p99 for age in ages) if ages else None,
        ticks=ticks,
        action_miss_ratio=counters.missed / ticks if ticks else 0.0,
        deadline_miss_ratio=_deadline_miss_ratio(runs, ticks),
        skipped_ticks=sum(run.skipped_ticks for run in runs),
        disconnected_ticks=sum(run.disconnected_ticks for run in runs),
        counters=counters,
        changes=_pool_changes(changes) if changes else None,
        inference_s=share.cell.inference_s,
    )


def _deadline_miss_ratio(runs: Sequence[RunResult], ticks: int) -> float | None:
    """Return the share of late ticks; None where a run's clock does not let it be claimed."""
    misses = [run.deadline_misses for run in runs]
    known = [count for count in misses if count is not None]
    if len(known) < len(misses):
        return None
    return sum(known) / ticks if ticks else 0.0


def _is_preset(network: str) -> bool:
    return not network or network.partition("@")[0] in PRESETS


def _milliseconds(moments: tuple[float, float]) -> tuple[float, float]:
    mean_s, sd_s = moments
    return 1e3 * mean_s, 1e3 * sd_s


def _pool_changes(counts: Sequence[PlayerCounts]) -> ChangeCounts:
    applied = sum(one.applied for one in counts)
    return ChangeCounts(
        applied=applied,
        superseded=sum(one.superseded for one in counts),
        late_mean_ms=1e3 * sum(one.late_mean_s * one.applied for one in counts) / max(applied, 1),
        late_max_ms=1e3 * max(one.late_max_s for one in counts),
    )
