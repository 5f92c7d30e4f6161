"""N episodes of one run: the wrapper and the model corner play the same ones, whoever decides."""

from __future__ import annotations

from pathlib import Path

import pytest

from netlab.episode.corner import ModelCorner
from netlab.episode.run import read_ticks
from netlab.modes.corner import CornerMode
from netlab.modes.plan import RunPlan
from netlab.modes.request import RunRequest
from netlab.tables.parity_difference import by_episode, first_differences, of_log
from netlab.tables.parity_wrapper import play_in_wrapper


def both(tmp_path: Path, **asked):
    plan = RunPlan.of(RunRequest(**asked), "link")
    CornerMode("model", ModelCorner()).play(plan, tmp_path / "ticks.jsonl", lambda text: None)
    return play_in_wrapper(plan), of_log(read_ticks(tmp_path / "ticks.jsonl"))


@pytest.mark.parametrize(
    ("policy", "network", "options"),
    [
        ("cartpole-baseline", "wifi-normal", {}),
        ("cartpole-paper", "wifi-degraded", {}),
        ("cartpole-scheduled", "wifi-degraded@oneway", {}),
        ("cartpole-predictor", "wifi-degraded@oneway", {}),
        ("linear", "wifi-jammed", {"fallback": "hold"}),
        ("linear", "delay=30ms,jitter=10ms,loss=3%", {"options": {"push_n": 3.0}}),
        ("doorkey-baseline", "wifi-degraded@oneway", {}),
        ("doorkey-baseline", "wifi-degraded@oneway", {"actuator": "stop-and-wait"}),
        ("doorkey-aware", "wifi-degraded", {"options": {"limit_ticks": 160}}),
    ],
)
def test_every_episode_begins_on_fresh_links_with_draws_of_its_own(tmp_path, policy, network, options) -> None:
    here, there = both(tmp_path, policy=policy, network=network, episodes=4, seed=11, **options)
    assert len(by_episode(here)) == 4
    assert first_differences(here, there) == []
    assert here == there
    first, *others = [[(one.source, one.age_ticks, one.action) for one in ticks] for ticks in by_episode(here)]
    assert all(first != other for other in others), "they are other episodes, not one four times"


def test_another_run_seed_is_another_run(tmp_path) -> None:
    asked = {"policy": "doorkey-baseline", "network": "wifi-normal", "episodes": 2}
    first, second = (both(tmp_path, **asked, seed=seed)[1] for seed in (1, 2))
    assert first != second


def test_a_difference_is_found_where_it_begins(tmp_path) -> None:
    asked = {"policy": "cartpole-paper", "network": "wifi-degraded", "episodes": 2, "seed": 3}
    here, _ = both(tmp_path, **asked)
    _, there = both(tmp_path, **{**asked, "policy": "cartpole-paper-2"})
    found = first_differences(here, there)
    assert [one.episode for one in found] == [0, 1]
    for one in found:
        assert one.what == "action" and one.here is not None and one.there is not None
        assert one.here.action != one.there.action and one.here.tick == one.there.tick == one.tick
    shorter = [one for one in here if one.tick < 5]
    ended = first_differences(shorter, here)[0]
    assert (ended.what, ended.tick, ended.here) == ("end", 5, None)
