from __future__ import annotations

import sys

import gymnasium
import numpy as np
import pytest

from netlab.envs.doorkey import DoorKey
from netlab.envs.registry import make_task
from netlab.errors import FeatureMissing, LocalProtocolError, SpecError
from netlab.install_hint import install_hint
from netlab.messages import Space

pytest.importorskip("minigrid")

NAME = "MiniGrid-DoorKey-8x8-v0"
LEFT, RIGHT, GO, PICK_UP, DROP, TOGGLE, NOTHING = range(7)


@pytest.mark.parametrize("seed", range(4))
def test_the_task_is_minigrid_s_registered_one(seed):
    theirs, ours = gymnasium.make(NAME), DoorKey()
    expected, _ = theirs.reset(seed=seed)
    seen = ours.reset(seed)
    rng = np.random.default_rng(seed)
    for _ in range(300):
        assert seen.dtype == np.uint8
        assert seen.tobytes() == expected["image"].tobytes()
        action = int(rng.integers(7))
        expected, reward, terminated, truncated, _ = theirs.step(action)
        step = ours.step(action)
        assert (step.reward, step.terminated, step.truncated) == (reward, terminated, truncated)
        seen = step.observation


def test_the_description_is_what_travels():
    description = make_task(NAME).description
    assert description.name == NAME
    assert (description.rate_hz, description.pace) == (10.0, "turn-based")
    assert description.observation == Space(kind="box", dtype="uint8", shape=(7, 7, 3))
    assert description.action == Space(kind="discrete", dtype="int64", n=7)


def test_neutral_and_action_6_do_nothing_but_take_a_tick():
    task = DoorKey(limit_ticks=4)
    first, state = task.reset(2), task.state
    for action in (None, NOTHING, None):
        step = task.step(action)
        assert step.observation.tobytes() == first.tobytes()
        assert task.state.tobytes() == state.tobytes()
        assert not step.truncated
    assert task.step(None).truncated
    assert not task.success
    with pytest.raises(LocalProtocolError, match="reset it first"):
        task.step(None)


# Seed 1: the agent stands at 1, 6 and looks up; the key lies at 2, 1, the door is at 3, 1, the goal at 6, 6.
TO_KEY = [GO] * 5 + [RIGHT, PICK_UP]
THROUGH_DOOR = [GO, TOGGLE, GO, GO]
TO_GOAL = [GO, GO, RIGHT] + [GO] * 5


@pytest.mark.parametrize("limit", [640, 160])
def test_key_door_and_goal(limit):
    task = DoorKey(limit_ticks=limit)
    task.reset(1)
    for ticks, action in enumerate(TO_KEY + THROUGH_DOOR + TO_GOAL, 1):
        assert not task.success
        step = task.step(action)
        assert step.reward == (1 - 0.9 * (ticks / limit) if step.terminated else 0)
    assert step.terminated
    assert task.success
    task.reset(1)
    assert not task.success


def test_the_state_says_where_everything_is():
    task = DoorKey()
    task.reset(1)

    def told():
        state = task.state.astype(float)
        places = [tuple(np.rint(state[[at, at + 1]] * 7).astype(int).tolist()) for at in (0, 6, 11)]
        return (*places, int(np.argmax(state[2:6])), int(np.argmax(state[8:11])), int(state[13]))

    assert told() == ((1, 6), (3, 1), (2, 1), 3, 2, 0)
    for action in TO_KEY:
        task.step(action)
    assert told() == ((1, 1), (3, 1), (0, 0), 0, 2, 1)
    for action in (GO, TOGGLE):
        task.step(action)
    assert told() == ((2, 1), (3, 1), (0, 0), 0, 0, 1)
    for action in (TOGGLE, RIGHT, DROP):
        task.step(action)
    assert told() == ((2, 1), (3, 1), (2, 2), 1, 1, 0)


@pytest.mark.parametrize("action", [7, -1, 1.0, np.array([1])], ids=str)
def test_other_actions_are_refused(action):
    task = DoorKey()
    task.reset(0)
    with pytest.raises(LocalProtocolError, match="is not an action of DoorKey"):
        task.step(action)


@pytest.mark.parametrize("limit", [0, -1, 10**10, 160.5])
def test_limits_that_are_none(limit):
    with pytest.raises(SpecError, match="limit_ticks"):
        DoorKey(limit_ticks=limit)


def test_without_minigrid_the_hint_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "minigrid.envs.doorkey", None)
    with pytest.raises(FeatureMissing, match="minigrid is not installed") as caught:
        DoorKey()
    assert caught.value.hint == install_hint("rl")
