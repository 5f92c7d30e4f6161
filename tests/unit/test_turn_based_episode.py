"""A task that takes turns, on the model corner: link, pace and actuator together."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest
from counting_task import use_counting_task

from netlab.envs.tick_log import TickRecord
from netlab.episode.model import play_on_model
from netlab.episode.run import EpisodePlan
from netlab.errors import SpecError
from netlab.lab_spec import read_lab_spec

TURNS = 40


@pytest.fixture(autouse=True)
def counting(monkeypatch: pytest.MonkeyPatch) -> None:
    use_counting_task(monkeypatch, TURNS)


def plan(folder: Path, profile: str, more: str) -> EpisodePlan:
    path = folder / "lab.toml"
    path.write_text(
        'seed = 3\n[hosts.edge]\n[hosts.agent]\n[[link]]\nends = ["edge", "agent"]\n'
        f'profile = "{profile}"\n[episode]\nedge = "edge"\nagent = "agent"\ntask = "Count"\n'
        f'policy = "counter"\n{more}\n'
    )
    return EpisodePlan.of(read_lab_spec(path), str(path))


def actions(ticks: tuple[TickRecord, ...]) -> list[object]:
    return [tick.action for tick in ticks if tick.source == "remote"]


def test_a_task_s_own_rate_is_taken_where_none_is_asked_for(tmp_path: Path) -> None:
    assert plan(tmp_path, "ethernet-clean", 'actuator = "newest"').rate_hz == 10.0
    assert plan(tmp_path, "ethernet-clean", 'actuator = "newest"\nrate_hz = 20').rate_hz == 20.0


@pytest.mark.parametrize("actuator", ['"newest"', '"stop-and-wait"', '"scheduled"\nhorizon = 1'])
def test_a_round_trip_below_one_tick_is_lock_step(tmp_path: Path, actuator: str) -> None:
    """Two ways of 30 ms and none lost within ticks of 100 ms."""
    run = play_on_model(plan(tmp_path, "delay=30ms", f"actuator = {actuator}\nepisodes = 2"))
    assert run.result.complete
    assert run.result.counters.missed == 0
    assert actions(run.ticks) == [*range(TURNS), *range(TURNS)]
    assert [tick.age_ticks for tick in run.ticks] == [0] * 2 * TURNS


def test_stop_and_wait_plays_every_turn_once_and_in_order_over_a_bad_link(tmp_path: Path) -> None:
    run = play_on_model(plan(tmp_path, "wifi-degraded@oneway", 'actuator = "stop-and-wait"\nepisodes = 5'))
    counters = run.result.counters
    assert run.result.returns == [float(TURNS)] * 5
    assert actions(run.ticks) == [*range(TURNS)] * 5
    assert counters.missed > counters.played_remote, "two ways of 80 ms and loss: more than two ticks a turn"


def test_without_it_the_same_link_mixes_up_the_turns(tmp_path: Path) -> None:
    run = play_on_model(plan(tmp_path, "wifi-degraded@oneway", 'actuator = "newest"\nepisodes = 5'))
    assert actions(run.ticks) != [*range(TURNS)] * 5


def test_a_horizon_that_the_agent_chooses_is_written_down_tick_by_tick(tmp_path: Path) -> None:
    """A round trip of 2.4 ticks: an answer has come when the third tick after its observation is observed."""
    asked = plan(tmp_path, "delay=120ms", 'actuator = "scheduled"\nhorizon = "adaptive"\nepisodes = 3')
    assert asked.horizon_ticks == 0
    run = play_on_model(asked)
    assert run.result.horizon_ticks == 0
    for episode in range(3):
        ticks = [tick for tick in run.ticks if tick.episode == episode]
        horizons = [tick.horizon_ticks for tick in ticks]
        assert horizons[:3] == [0, 0, 2], "nothing known, then what each episode begins with: 0.2 s at 10 Hz"
        assert 3 <= horizons[-1] <= 4, "what the link needs, with a margin at most"
        sources = [tick.source for tick in ticks]
        first = sources.index("remote")
        assert first <= 5, "until the edge has measured that 2 are too few"
        assert sources[first:] == ["remote"] * (len(sources) - first)


def test_stop_and_wait_has_no_horizon(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="no horizon"):
        plan(tmp_path, "delay=30ms", 'actuator = "stop-and-wait"\nhorizon = 4')


def test_a_tick_log_without_a_horizon_can_still_be_read() -> None:
    old = {"tick": 1, "episode": 0, "source": "remote", "age_ticks": 1, "action": 0, "reward": 1.0}
    line = json.dumps(old | {"newest_age_ticks": 1, "connected": True})
    assert msgspec.json.decode(line, type=TickRecord).horizon_ticks == 1
