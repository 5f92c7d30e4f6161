from __future__ import annotations

import msgspec
import numpy as np
import pytest

from netlab.agents.cartpole_linear import LinearCartPole
from netlab.agents.cartpole_physics import CartPolePhysics
from netlab.agents.policy import RECIPES, find_policy, make_policy
from netlab.agents.shipped_policies import shipped_names
from netlab.control import Persistence, Remote, Responder
from netlab.envs.registry import make_task
from netlab.errors import SpecError
from netlab.messages import Observation, Space

TASK = make_task("CartPole-v1").description


def test_linear_sees_as_it_is_and_linear_predict_ahead():
    policy, predictor = make_policy("linear", TASK)
    assert isinstance(policy, LinearCartPole)
    assert isinstance(predictor, Persistence)
    policy, predictor = make_policy("linear-predict", TASK)
    assert isinstance(policy, LinearCartPole)
    assert isinstance(predictor, CartPolePhysics)


def test_an_unknown_policy_is_answered_with_the_nearest():
    with pytest.raises(SpecError, match="linear-predikt") as caught:
        find_policy("linear-predikt")
    assert caught.value.hint == "did you mean 'linear-predict'?"
    with pytest.raises(SpecError) as caught:
        find_policy("ppo")
    assert caught.value.hint == (
        f"one of: linear, linear-predict, {', '.join(shipped_names())}, or a file.safetensors"
    )
    for wrong, near in (("cartpole-papr", "cartpole-paper"), ("cartpole-predictor-22", "cartpole-predictor-2")):
        with pytest.raises(SpecError) as caught:
            find_policy(wrong)
        assert caught.value.hint == f"did you mean {near!r}?"


@pytest.mark.parametrize(
    "change",
    [
        {"name": "Pendulum-v1"},
        {"observation": Space(kind="box", dtype="float32", shape=(3,))},
        {"observation": Space(kind="box", dtype="uint8", shape=(4,))},
        {"observation": Space(kind="discrete", dtype="int64", n=4)},
        {"action": Space(kind="discrete", dtype="int64", n=3)},
        {"action": Space(kind="box", dtype="float32", shape=(1,))},
    ],
    ids=str,
)
@pytest.mark.parametrize("name", RECIPES)
def test_a_task_that_only_calls_itself_cartpole_is_refused(name, change):
    other = msgspec.structs.replace(TASK, **change)
    assert find_policy(name).refusal(other)
    with pytest.raises(SpecError, match="cannot serve"):
        make_policy(name, other)


@pytest.mark.parametrize("name", RECIPES)
@pytest.mark.parametrize("horizon", [1, 16, 256])
def test_no_finite_observation_breaks_a_policy(name, horizon):
    policy, predictor = make_policy(name, TASK)
    responder = Responder(Remote(TASK, predictor, horizon, 1), policy)
    rng = np.random.default_rng(horizon)
    for tick in range(20):
        wild = (rng.choice([-1.0, 1.0], 4) * 10.0 ** rng.uniform(-40, 38.5, 4)).astype("<f4")
        observation = Observation(1, 0, tick, wild.tobytes(), b"", 0, tick, -1, 0.0)
        assert responder.receive(observation) is not None
