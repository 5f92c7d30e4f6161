"""A task that takes turns, by both services over real sockets on 127.0.0.1."""

from __future__ import annotations

import json

import pytest
from counting_task import use_counting_task
from service_pair import ServedAgent, config

from netlab.agents.policy import find_policy
from netlab.envs.run import run_env_service
from netlab.messages import ADAPTIVE_HORIZON

TURNS = 60


@pytest.fixture(autouse=True)
def counting(monkeypatch):
    use_counting_task(monkeypatch, TURNS)


def play(tmp_path, **options):
    log = tmp_path / "ticks.jsonl"
    with ServedAgent(find_policy("counter"), transport=options.get("transport", "datagram")) as agent:
        result = run_env_service(config(agent, task="Count", tick_log=str(log), **{"rate_hz": 200.0} | options))
    return result, [json.loads(line) for line in log.read_text().splitlines()]


@pytest.mark.parametrize("transport", ["datagram", "stream"])
def test_stop_and_wait_plays_every_turn_once_and_in_order(tmp_path, transport):
    """However busy the machine is: what comes too late costs ticks, never a turn."""
    result, ticks = play(tmp_path, actuator="stop-and-wait", transport=transport, episodes=2)
    assert (result.complete, result.actuator, result.horizon_ticks) == (True, "stop-and-wait", 1)
    assert [tick["action"] for tick in ticks if tick["source"] == "remote"] == [*range(TURNS)] * 2
    assert result.counters.ticks >= 2 * TURNS
    assert result.counters.played_remote == 2 * TURNS


def test_an_answer_within_its_tick_has_age_0(tmp_path):
    """Ticks of 50 ms on loopback: nearly all answers come within theirs, and of 20 ticks at least half do."""
    result, ticks = play(tmp_path, rate_hz=20.0)
    assert result.complete
    first = ticks[:20]
    assert sum(tick["age_ticks"] == 0 for tick in first) >= 10


def test_an_agent_that_is_asked_to_chooses_the_horizon(tmp_path):
    """Each episode begins with 0.2 s, 20 ticks at 100 Hz, and on loopback far fewer are enough."""
    log = tmp_path / "ticks.jsonl"
    with ServedAgent(find_policy("linear-predict")) as agent:
        asked = config(
            agent,
            rate_hz=100.0,
            actuator="scheduled",
            horizon_ticks=ADAPTIVE_HORIZON,
            episodes=2,
            tick_log=str(log),
        )
        result = run_env_service(asked)
    assert (result.complete, result.horizon_ticks) == (True, ADAPTIVE_HORIZON)
    ticks = [json.loads(line) for line in log.read_text().splitlines()]
    for episode in (0, 1):
        horizons = [
            tick["horizon_ticks"] for tick in ticks if tick["episode"] == episode and tick["horizon_ticks"]
        ]
        assert horizons[0] == 20 and min(horizons) < 20
