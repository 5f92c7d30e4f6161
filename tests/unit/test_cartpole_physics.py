from __future__ import annotations

import math

import numpy as np
import pytest

from netlab.agents.cartpole_physics import CartPolePhysics
from netlab.envs.cartpole import CartPole
from netlab.errors import LocalProtocolError


@pytest.mark.parametrize("action", [0, 1, None])
def test_one_step_is_the_task_s_own(action):
    """From 200 random states, in double precision: only sin and cos of two libraries may differ."""
    rng, task, physics = np.random.default_rng(1), CartPole(), CartPolePhysics()
    for _ in range(200):
        task.reset(0)
        state = rng.uniform(-1, 1, 4) * (2.4, 3.0, 0.2, 3.0)
        task._env.state = state.copy()
        task.step(action)
        np.testing.assert_allclose(physics.predict(state, action), task._env.state, rtol=1e-13, atol=1e-14)


def test_twenty_steps_from_what_was_seen_stay_true():
    """Only the observation's rounding to float32 grows: below a thousandth of a degree over 400 ms."""
    rng, task, physics = np.random.default_rng(2), CartPole(), CartPolePhysics()
    for seed in range(20):
        predicted = task.reset(seed)
        for _ in range(20):
            action = (0, 1, None)[rng.integers(3)]
            predicted = physics.predict(predicted, action)
            step = task.step(action)
            if step.terminated:
                break
        np.testing.assert_allclose(predicted, step.observation, atol=1e-5)


def test_an_unknown_action_is_refused():
    with pytest.raises(LocalProtocolError, match="0, 1 or neutral"):
        CartPolePhysics().predict(np.zeros(4), 2)


@pytest.mark.parametrize("state", [(0, 0, 0, 3.4e38), (3.4e38, 3.4e38, 3.4e38, -3.4e38), (0, 0, 1e300, 0)])
def test_numbers_that_overflow_raise_nothing(state):
    predicted = np.array(state, float)
    for _ in range(50):
        predicted = CartPolePhysics().predict(predicted, 1)
    assert predicted.shape == (4,)
    assert math.isnan(CartPolePhysics().predict(np.array([0, 0, math.inf, 0]), 1)[0])
