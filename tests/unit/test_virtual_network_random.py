"""Whatever a link does: each tick plays once, each target is decided once, in order, and nothing is made up."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs

from netlab.control.feature_spec import FeatureSpec
from netlab.control.question import Question
from netlab.control.values import Value
from netlab.envs.task import Step
from netlab.envs.virtual.options import NetworkOptions
from netlab.envs.virtual.virtual_network import VirtualNetwork
from netlab.messages import Space, TaskDescription
from netlab.traces.loss import GilbertElliott
from netlab.traces.pair import ProfilePair
from netlab.traces.profile import LinkProfile
from netlab.traces.schedule import Schedule
from netlab.traces.schedule import Step as ScheduleStep

TICKS = 40


class Counting:
    """Shows the number of its tick, and remembers what was played; actions are numbers that never repeat."""

    def __init__(self, pace: Any) -> None:
        self.description = TaskDescription(
            name="Counting",
            rate_hz=50.0,
            observation=Space(kind="box", dtype="int64", shape=(1,)),
            action=Space(kind="discrete", dtype="int64", n=2**31 - 1),
            pace=pace,
        )
        self.played: list[Value | None] = []

    def reset(self, seed: int) -> Any:
        self.played.clear()
        return np.array([0])

    def step(self, action: Value | None) -> Step:
        self.played.append(action)
        return Step(np.array([len(self.played)]), 1.0, False, len(self.played) >= TICKS)

    def close(self) -> None:
        pass


@st.composite
def profiles(draw: st.DrawFn) -> LinkProfile:
    delay_s = draw(st.sampled_from([0.0, 0.003, 0.01, 0.02, 0.05, 0.13]))
    ordered = draw(st.booleans())
    loss = draw(st.sampled_from([0.0, 0.1, 0.5, 1.0]))
    return LinkProfile(
        delay_s=delay_s,
        jitter_s=draw(st.sampled_from([0.0, 0.25, 1.0])) * delay_s,
        loss=GilbertElliott.from_mean(loss, 4.0) if loss == 0.5 else loss,
        duplicate_ratio=draw(st.sampled_from([0.0, 0.3])),
        corrupt_ratio=draw(st.sampled_from([0.0, 0.1])),
        ordered=ordered,
        rate_bps=draw(st.sampled_from([None, 100e3])) if ordered else None,
    )


@st.composite
def directions(draw: st.DrawFn) -> LinkProfile | Schedule:
    if draw(st.booleans()):
        return draw(profiles())
    steps = tuple(ScheduleStep(0.3 * index, draw(profiles())) for index in range(2))
    return Schedule(steps, duration_s=0.6, loop=draw(st.booleans()), packet_rate_hz=10_000.0)


OPTIONS = st.sampled_from(
    [
        NetworkOptions(),
        NetworkOptions(fallback="hold", hold_limit_ticks=2),
        NetworkOptions(actuator="scheduled", horizon=1),
        NetworkOptions(actuator="scheduled", horizon=6),
        NetworkOptions(actuator="scheduled", horizon="adaptive"),
        NetworkOptions(actuator="stop-and-wait"),
    ]
)
NETWORKS = st.one_of(st.none(), st.tuples(directions(), directions()).map(lambda both: ProfilePair("any", *both)))


@settings(max_examples=150, deadline=None)
@given(NETWORKS, OPTIONS, st.sampled_from(["real-time", "turn-based"]), st.integers(0, 2**64 - 1))
def test_ticks_play_once_and_targets_are_decided_once_in_order(
    network: ProfilePair | None, options: NetworkOptions, pace: str, seed: int
) -> None:
    options = structs.replace(options, features=FeatureSpec(stack=2, age=True, acknowledgement=3, network=True))
    task = Counting(pace)
    env = VirtualNetwork(task, network, options)
    row, info = env.reset(seed=seed)
    asked: list[Question] = []
    ticks = int(info["ticked"])
    rewards, over = 0.0, False
    for step in range(20 * TICKS):
        assert info["asked"] == (env.question is not None)
        assert env.observation_space.contains(row)
        if env.question is not None:
            asked.append(env.question)
        row, reward, terminated, over, info = env.step(len(asked) - 1 if info["asked"] else 0)
        rewards += reward
        ticks += info["ticked"]
        assert info["tick"] == ticks - 1 == len(task.played) - 1, "a tick a step at most, one after the other"
        assert info["ticked"] or info["asked"] or over, f"step {step} did nothing"
        assert not terminated
        if over:
            break
    assert over and ticks == TICKS and rewards == TICKS
    check_decisions(asked, options)
    check_played(task.played, asked, options)
    edge, remote = info["counters"]["edge"], info["counters"]["remote"]
    assert edge["ticks"] == TICKS
    assert remote["decisions"] == len(asked)
    assert remote["dropped_invalid"] == edge["dropped_invalid"] == 0


def check_decisions(asked: list[Question], options: NetworkOptions) -> None:
    targets = [question.target_tick for question in asked]
    assert targets == sorted(set(targets)), "a target is decided once, in order"
    for question in asked:
        assert question.seen[0] == question.observation.tick, "an observation shows its own tick"
        assert question.target_tick >= question.observation.tick
    seen = [question.observation.tick for question in asked]
    assert seen == sorted(seen), "no question goes back to an older observation"
    if options.actuator == "stop-and-wait":
        turns = [question.observation.turn for question in asked]
        assert turns == list(range(len(turns))), "a turn is decided once"


def check_played(played: list[Value | None], asked: list[Question], options: NetworkOptions) -> None:
    actions = [action for action in played if action is not None]
    assert all(isinstance(action, int) and 0 <= action < len(asked) for action in actions)
    if options.fallback == "neutral":
        assert actions == sorted(set(actions)), "nothing is played twice, and nothing old after something new"
    if options.actuator == "scheduled":
        at = {tick: action for tick, action in enumerate(played) if action is not None}
        assert all(asked[action].target_tick == tick for tick, action in at.items()), "each at its tick"
    if options.actuator == "stop-and-wait":
        assert actions == list(range(len(actions))), "each decision once, none left out"
