"""The wrapper for learning and the model corner play the same trajectory, tick by tick."""

from __future__ import annotations

from pathlib import Path

import gymnasium
import pytest
from virtual_network_play import PlayedTick, Watched, play_episode

from netlab.agents.policy import make_policy
from netlab.envs.cartpole import CartPole
from netlab.envs.task import Task
from netlab.envs.virtual.gymnasium_task import GymnasiumTask
from netlab.envs.virtual.options import NetworkOptions
from netlab.envs.virtual.virtual_network import VirtualNetwork
from netlab.episode import model
from netlab.episode.run import EpisodePlan, EpisodeRun
from netlab.lab_spec import read_lab_spec
from netlab.traces.presets import parse_preset

LAB = """
seed = {seed}
[hosts.edge]
[hosts.agent]
[[link]]
ends = ["edge", "agent"]
profile = "{profile}"
[episode]
edge = "edge"
agent = "agent"
policy = "{policy}"
{options}
"""


def run_model(folder: Path, profile: str, policy: str, seed: int, options: str) -> EpisodeRun:
    path = folder / "lab.toml"
    path.write_text(LAB.format(profile=profile, policy=policy, seed=seed, options=options))
    return model.play_on_model(EpisodePlan.of(read_lab_spec(path), str(path)))


def on_model(folder: Path, profile: str, policy: str, seed: int, options: str) -> list[PlayedTick]:
    return ticks_of(run_model(folder, profile, policy, seed, options))


def ticks_of(run: EpisodeRun) -> list[PlayedTick]:
    return [PlayedTick(one.tick, one.source, one.age_ticks, one.action, one.reward) for one in run.ticks]


def in_wrapper(
    profile: str, policy: str, seed: int, options: NetworkOptions, task: Task | None = None
) -> list[PlayedTick]:
    watched = Watched(task or CartPole())
    decides, predictor = make_policy(policy, watched.description)
    env = VirtualNetwork(watched, parse_preset(profile), options, predictor=predictor)
    return play_episode(env, watched, decides, seed)[0]


NEWEST = ('actuator = "newest"', NetworkOptions())
HELD = ('actuator = "newest"\nfallback = "hold"', NetworkOptions(fallback="hold"))
SCHEDULED = ('actuator = "scheduled"\nhorizon = 7', NetworkOptions(actuator="scheduled", horizon=7))
ADAPTIVE = (
    'actuator = "scheduled"\nhorizon = "adaptive"',
    NetworkOptions(actuator="scheduled", horizon="adaptive"),
)
BY_TURNS = ('actuator = "stop-and-wait"', NetworkOptions(actuator="stop-and-wait"))
NETWORKS = [
    "ethernet-clean",
    "wifi-normal",
    "wifi-degraded",
    "wifi-degraded@oneway",
    "wifi-jammed",  # a schedule with outages
    "measured",  # a schedule of 100 ms steps
    "delay=30ms,jitter=10ms,loss=3%",  # in order
    "delay=5ms,rate=200kbit",  # bytes take time: lengths on the wire count
    "delay=23ms,duplicate=20%,corrupt=10%,reorder=30%,ordered=false",
    "delay=0ms",  # no netem at all
]


@pytest.mark.parametrize("profile", NETWORKS)
@pytest.mark.parametrize(("lab", "options"), [NEWEST, HELD, SCHEDULED, ADAPTIVE, BY_TURNS])
@pytest.mark.parametrize("policy", ["linear", "linear-predict"])
def test_each_tick_is_the_model_corners(
    tmp_path: Path, profile: str, lab: str, options: NetworkOptions, policy: str
) -> None:
    ours = in_wrapper(profile, policy, 2, options)
    assert ours == on_model(tmp_path, profile, policy, 2, lab)
    assert len(ours) > 5


def cartpole_by_turns() -> Task:
    """CartPole whose plays wait for the tick's end; the policy does not know."""
    return GymnasiumTask(gymnasium.make("CartPole-v1"), rate_hz=50.0, neutral=0, pace="turn-based")


@pytest.mark.parametrize("profile", NETWORKS)
@pytest.mark.parametrize(("lab", "options"), [NEWEST, SCHEDULED, ADAPTIVE, BY_TURNS])
def test_so_is_each_tick_of_a_task_that_takes_turns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, profile: str, lab: str, options: NetworkOptions
) -> None:
    monkeypatch.setattr(model, "make_task", lambda *asked: cartpole_by_turns())
    ours = in_wrapper(profile, "linear", 3, options, cartpole_by_turns())
    assert ours == on_model(tmp_path, profile, "linear", 3, lab)
    assert len(ours) > 5
