from __future__ import annotations

import math

import gymnasium
import numpy as np
import pytest

from netlab.envs.cartpole import CartPole
from netlab.envs.gymnasium_space import action_space, observation_space
from netlab.envs.registry import make_task
from netlab.errors import LocalProtocolError, SpecError
from netlab.messages import Space


@pytest.mark.parametrize("seed", range(30))
def test_left_and_right_are_gymnasium_s_to_the_last_bit(seed):
    """Random actions fall over within some ten ticks; half the seeds balance crudely and go further."""
    theirs, ours = gymnasium.make("CartPole-v1"), CartPole()
    expected, _ = theirs.reset(seed=seed)
    seen = ours.reset(seed)
    rng, done = np.random.default_rng(seed), False
    while not done:
        assert seen.dtype == expected.dtype == np.float32
        assert seen.tobytes() == expected.tobytes()
        action = int(rng.integers(2)) if seed % 2 else int(seen[2] + 0.5 * seen[3] > 0)
        expected, reward, terminated, truncated, _ = theirs.step(action)
        step = ours.step(action)
        assert (step.reward, step.terminated, step.truncated) == (reward, terminated, truncated)
        seen, done = step.observation, terminated or truncated
    with pytest.raises(LocalProtocolError, match="reset it first"):
        ours.step(0)


def test_500_ticks_are_the_limit():
    task = CartPole()
    seen = task.reset(1)
    for tick in range(1, 501):
        step = task.step(int(5.3 * seen[1] + 2.6 * seen[0] + 50 * seen[2] + 15 * seen[3] > 0))
        seen = step.observation
        assert not step.terminated
        assert step.truncated == (tick == 500)


def test_neutral_is_a_step_without_force_and_leaves_the_next_push_as_it_was():
    task, twin = CartPole(), CartPole()
    x, x_dot, theta, theta_dot = map(float, task.reset(3))
    twin.reset(3)
    twin._env.state = np.array([x, x_dot, theta, theta_dot])
    task._env.state = np.array([x, x_dot, theta, theta_dot])
    seen = task.step(None).observation
    temp = 0.05 * theta_dot**2 * math.sin(theta) / 1.1
    theta_acc = (9.8 * math.sin(theta) - math.cos(theta) * temp) / (
        0.5 * (4 / 3 - 0.1 * math.cos(theta) ** 2 / 1.1)
    )
    x_acc = temp - 0.05 * theta_acc * math.cos(theta) / 1.1
    expected = (x + 0.02 * x_dot, x_dot + 0.02 * x_acc, theta + 0.02 * theta_dot, theta_dot + 0.02 * theta_acc)
    np.testing.assert_allclose(seen, expected, rtol=1e-6)
    twin._env.state = np.array(task._env.state)
    for action in (0, 1):
        assert task.step(action).observation.tobytes() == twin.step(action).observation.tobytes()


@pytest.mark.parametrize("action", [2, -1, np.array([1]), 1.0])
def test_other_actions_are_refused(action):
    task = CartPole()
    task.reset(0)
    with pytest.raises(LocalProtocolError, match="0, 1 or neutral"):
        task.step(action)


def test_the_description_is_what_travels():
    description = make_task("CartPole-v1", 500.0).description
    assert description.rate_hz == 500.0
    assert description.observation == Space(kind="box", dtype="float32", shape=(4,))
    assert description.action == Space(kind="discrete", dtype="int64", n=2)


def test_an_unknown_task_is_answered_with_the_nearest():
    with pytest.raises(SpecError, match="CartPol-v1") as caught:
        make_task("CartPol-v1")
    assert caught.value.hint == "did you mean 'CartPole-v1'?"
    with pytest.raises(SpecError) as caught:
        make_task("xyz")
    assert "CartPole-v1" in caught.value.hint


@pytest.mark.parametrize("rate_hz", [0.0, -1.0, math.nan, math.inf, 1e6])
def test_rates_that_no_loop_can_run_at(rate_hz):
    with pytest.raises(SpecError, match=r"must be 0\.001 \.\. 100000"):
        make_task("CartPole-v1", rate_hz)


def test_spaces_of_gymnasium_travel_or_are_refused():
    box = gymnasium.spaces.Box(-1.0, np.array([1.0, np.inf], np.float32), dtype=np.float32)
    bounded = Space(kind="box", dtype="float32", shape=(2,), low=(-1.0, -1.0), high=(1.0, math.inf))
    assert action_space(box) == bounded
    assert observation_space(box) == Space(kind="box", dtype="float32", shape=(2,))
    image = gymnasium.spaces.Box(0, 255, (84, 84, 3), np.uint8)
    assert observation_space(image) == Space(kind="box", dtype="uint8", shape=(84, 84, 3))
    for space in (
        gymnasium.spaces.Discrete(3, start=1),
        gymnasium.spaces.Dict(),
        gymnasium.spaces.Box(0, 1, (2,), np.int16),
        gymnasium.spaces.Box(0, 1, ()),
    ):
        with pytest.raises(SpecError):
            observation_space(space)
    with pytest.raises(SpecError, match="bounds"):
        action_space(image)
