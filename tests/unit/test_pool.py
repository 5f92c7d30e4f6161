"""What the labs of one cell add up to, computed by hand."""

from __future__ import annotations

import math

import pytest

from netlab.control.counters import AgeSummary, EdgeCounters
from netlab.envs.result import DurationSummary, EpisodeResult, RunResult
from netlab.namespaces.player import PlayerCounts
from netlab.pool import pool_cell
from netlab.share import Cell, Share, ShareResult
from netlab.traces.presets import parse_preset


def run(returns: tuple[float, ...], **changes: object) -> RunResult:
    nothing = DurationSummary(count=0, p50_ms=None, p99_ms=None, maximum_ms=None)
    ages = AgeSummary(count=10, p50=3, p99=7, maximum=9)
    episodes = tuple(
        EpisodeResult(
            episode=number, seed=1, complete=True, return_=value, ticks=int(value), counters=EdgeCounters(),
            ages=ages, latency=nothing, deadline_misses=0, skipped_ticks=0, disconnected_ticks=0,
        )
        for number, value in enumerate(returns)
    )  # fmt: skip
    fields: dict[str, object] = {
        "netlab": "0", "task": "CartPole-v1", "rate_hz": 50.0, "actuator": "scheduled", "horizon_ticks": 10,
        "fallback": "neutral", "seed": 1, "complete": True, "stopped_by": "", "episodes": episodes,
        "counters": EdgeCounters(ticks=100, played_remote=90, missed_neutral=10), "ages": ages,
        "latency": DurationSummary(count=2, p50_ms=0.1, p99_ms=0.1, maximum_ms=0.1, histogram_us=[(100, 2)]),
        "lateness": nothing, "deadline_misses": 4, "skipped_ticks": 1, "disconnected_ticks": 2, "connections": 1,
        "send_dropped": 0, "last_loss": "", "policy": "linear",
    }  # fmt: skip
    return RunResult(**(fields | changes))  # type: ignore[arg-type]


def share_result(result: RunResult, network: str = "wifi-degraded", seed: int = 1) -> ShareResult:
    share = Share(
        cell=Cell(network=network, policy="linear", actuator="scheduled"), cell_index=0,
        pair=parse_preset(network), horizon_ticks=10, episodes=2, seed=seed, label="0.0",
    )  # fmt: skip
    changes = PlayerCounts(applied=10, late_mean_s=0.001 * seed, late_max_s=0.002 * seed)
    return ShareResult(share=share, run=result, link_seed=100 + seed, seeded=True, changes=changes)


def test_two_labs_are_pooled() -> None:
    first = run((500.0, 400.0))
    second = run(
        (300.0,),
        counters=EdgeCounters(ticks=300, played_remote=240, missed_hold=60),
        deadline_misses=8,
        latency=DurationSummary(count=2, p50_ms=0.1, p99_ms=0.1, maximum_ms=0.1, histogram_us=[(60, 2)]),
        ages=AgeSummary(count=10, p50=5, p99=6, maximum=9),
    )
    cell = pool_cell([share_result(first, seed=1), share_result(second, seed=3)])
    assert cell.returns == (500.0, 400.0, 300.0)
    assert cell.return_mean == 400.0
    assert cell.return_se == pytest.approx(100.0 / math.sqrt(3))
    assert cell.ticks == 400
    assert cell.action_miss_ratio == pytest.approx(70 / 400)
    assert cell.deadline_miss_ratio == pytest.approx(12 / 400)
    assert (cell.skipped_ticks, cell.disconnected_ticks) == (2, 4)
    assert cell.counters.missed_hold == 60 and cell.counters.missed_neutral == 10
    assert cell.latency_ms.mean == pytest.approx(0.080)
    assert cell.latency_ms.sd == pytest.approx(0.020)
    assert cell.answered_ratio == pytest.approx(4 / 400)
    assert (cell.age_p50_ticks, cell.age_p99_ticks) == (4.0, 7)
    assert cell.link_seeds == (101, 103)
    assert cell.changes is not None
    assert cell.changes.applied == 20
    assert cell.changes.late_mean_ms == pytest.approx(2.0)
    assert cell.changes.late_max_ms == pytest.approx(6.0)


def test_the_network_is_told_in_full_unless_it_is_a_preset() -> None:
    preset = pool_cell([share_result(run((500.0,)))])
    assert (preset.reading, preset.network_toml) == ("rtt", "")
    own = pool_cell([share_result(run((500.0,)), network="delay=7ms,loss=1%")])
    assert own.reading == "oneway"
    assert 'delay = "7ms"' in own.network_toml
    assert own.return_se is None


def test_a_cell_without_a_finished_episode_has_no_mean() -> None:
    cell = pool_cell([share_result(run(()))])
    assert (cell.return_mean, cell.return_se, cell.returns) == (None, None, ())
