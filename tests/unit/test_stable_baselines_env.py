"""StableBaselinesEnv: stable-baselines3 is told by N columns what it is told by N single environments."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("stable_baselines3")

from gymnasium.envs.classic_control.cartpole import CartPoleVectorEnv
from stable_baselines3.common.env_checker import check_env
from stable_baselines3.common.vec_env import DummyVecEnv

from netlab.control.feature_spec import FeatureSpec
from netlab.envs.cartpole import CartPole
from netlab.envs.registry import make_vector_task
from netlab.envs.vector.network import VectorNetwork
from netlab.envs.virtual.options import NetworkOptions
from netlab.envs.virtual.virtual_network import VirtualNetwork
from netlab.errors import SpecError
from netlab.training.stable_baselines import StableBaselinesEnv

ROWS, STEPS, SEED = 5, 200, 3
OPTIONS = NetworkOptions(features=FeatureSpec(stack=2, age=True))
_TOLD = ("terminal_observation", "TimeLimit.truncated")


def many(rows: int = ROWS) -> StableBaselinesEnv:
    return StableBaselinesEnv(VectorNetwork(make_vector_task("CartPole-v1", rows), "wifi-degraded", OPTIONS))


def test_it_tells_what_as_many_single_environments_tell():
    ours = many()
    theirs = DummyVecEnv([lambda: VirtualNetwork(CartPole(), "wifi-degraded", OPTIONS)] * ROWS)
    ours.seed(SEED)
    theirs.seed(SEED)
    np.testing.assert_array_equal(ours.reset(), theirs.reset())
    draws = np.random.default_rng(1)
    ended, earned, steps = 0, np.zeros(ROWS), 0
    for _ in range(STEPS):
        actions = draws.integers(0, 2, ROWS)
        (rows, rewards, done, infos), expected = ours.step(actions), theirs.step(actions)
        np.testing.assert_array_equal(rows, expected[0])
        np.testing.assert_array_equal(rewards, expected[1])
        np.testing.assert_array_equal(done, expected[2])
        assert rewards.dtype == expected[1].dtype == np.float32
        asked = np.array([info["asked"] for info in expected[3]])
        np.testing.assert_array_equal(ours.columns["asked"][~done], asked[~done])
        earned += rewards
        steps += 1
        for row in range(ROWS):
            if not done[row]:
                assert infos[row] == {}
                continue
            ended += 1
            for key in _TOLD:
                np.testing.assert_array_equal(infos[row][key], expected[3][row][key])
            assert infos[row]["episode"]["r"] == earned[row]
            assert infos[row]["episode"]["l"] == expected[3][row]["tick"] + 1
            earned[row] = 0.0
    assert ended > 10
    ours.close()


def test_an_episode_that_a_limit_cut_off_is_told_from_one_that_ended():
    env = StableBaselinesEnv(VectorNetwork(make_vector_task("netlab/Reacher-v0", 2), "wifi-normal"))
    env.seed(1)
    env.reset()
    actions = np.zeros((2, 2), dtype=np.float32)
    for _ in range(2000):
        _, _, done, infos = env.step(actions)
        if done.any():
            break
    assert done.all() and all(info["TimeLimit.truncated"] for info in infos)  # an arm has a limit and no other end


def test_a_seed_counts_once():
    env = many()
    env.seed(SEED)
    first = env.reset()
    assert not np.array_equal(env.reset(), first)  # the next episodes of the runs
    env.seed(SEED)
    np.testing.assert_array_equal(env.reset(), first)


def test_what_rows_have_not_is_refused():
    env = many(2)
    assert env.get_attr("num_envs") == [2, 2] and env.env_is_wrapped(object) == [False, False]
    with pytest.raises(NotImplementedError, match="VectorNetwork"):
        env.set_attr("options", None)
    with pytest.raises(NotImplementedError, match="render"):
        env.env_method("render")


def test_another_way_to_reset_is_refused():
    with pytest.raises(SpecError, match="resets itself") as error:
        StableBaselinesEnv(CartPoleVectorEnv(2))
    assert "SAME_STEP" in error.value.hint


def test_stable_baselines3s_own_check_passes():
    check_env(VirtualNetwork(CartPole(), "wifi-degraded", OPTIONS), skip_render_check=True)


@pytest.mark.parametrize("seed", [1.5, True, "x", [1], -1, 2**64, 2**64 - ROWS + 1], ids=repr)
def test_what_is_no_seed_is_refused_as_it_is_given(seed):
    env = many()
    with pytest.raises(SpecError, match=rf"^seed: .*: must be a whole number, 0 \.\. 2\^64 - {ROWS}\b") as refused:
        env.seed(seed)
    assert f"the {ROWS} rows" in refused.value.hint
    assert len(set(env.seed())) == ROWS  # none given: drawn
    last = 2**64 - ROWS
    assert env.seed(last) == list(range(last, 2**64))
    assert [type(one) for one in env.seed(np.int64(3))] == [int] * ROWS


def test_options_of_resets_are_refused():
    env = many()
    for options in ({"low": 0.1}, [{}, {"low": 0.1}], 5):
        with pytest.raises(SpecError, match=r"^options: "):
            env.set_options(options)
    for options in (None, {}, [{}] * ROWS):
        env.set_options(options)
    env.reset()


@pytest.mark.parametrize("env", [None, CartPole(), VirtualNetwork(CartPole())], ids=lambda env: type(env).__name__)
def test_what_is_no_vector_environment_is_refused(env):
    with pytest.raises(SpecError, match=f"^env: {type(env).__name__} is no vector environment") as refused:
        StableBaselinesEnv(env)
    assert "needs no adapter" in refused.value.hint
