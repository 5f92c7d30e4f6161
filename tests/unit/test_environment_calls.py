"""What both environments are called with after they were made: seeds, options of resets, actions, render."""

from __future__ import annotations

import gymnasium
import numpy as np
import pytest

from netlab.envs.cartpole import CartPole
from netlab.envs.reacher import Reacher
from netlab.envs.vector.cartpole import CartPoleColumns
from netlab.envs.vector.network import VectorNetwork
from netlab.envs.vector.reacher import ReacherColumns
from netlab.envs.virtual.virtual_network import VirtualNetwork
from netlab.errors import LocalProtocolError, SpecError

ROWS = 4


def single() -> VirtualNetwork:
    return VirtualNetwork(CartPole(), "wifi-normal")


def many() -> VectorNetwork:
    return VectorNetwork(CartPoleColumns(ROWS), "wifi-normal")


@pytest.mark.parametrize("make", [single, many])
@pytest.mark.parametrize("options", [{"reset_mask": [True]}, {"low": float("nan")}, 5, "x", [], 0, ()], ids=repr)
def test_a_reset_refuses_options_that_would_do_nothing(make, options):
    env = make()
    with pytest.raises(SpecError, match=r"^options: .*: must be None or \{\}") as refused:
        env.reset(seed=1, options=options)
    assert "NetworkOptions" in refused.value.hint and "by themselves" in refused.value.hint
    np.testing.assert_array_equal(env.reset(seed=1, options={})[0], env.reset(seed=1, options=None)[0])


@pytest.mark.parametrize(
    "seed", [1.5, 1.0, np.float64(2), True, np.bool_(True), "x", [1], {}, -1, 2**64], ids=repr
)
def test_one_environment_refuses_what_is_no_seed(seed):
    env = single()
    env.reset(seed=3)
    with pytest.raises(SpecError, match=r"^seed: .*: must be a whole number, 0 \.\. 2\^64 - 1\b"):
        env.reset(seed=seed)
    assert env.reset()[1]["episode"] == 1, "it goes on with the run it had"


@pytest.mark.parametrize(
    "seed",
    [1.5, True, "x", "abcd", [1], [1.5] * 4, [True] * 4, [None] * 4, [1, 2, 3, -1], [1, 2, 3, 2**64], {1, 2, 3, 4},
     -1, 2**64 - 3, range(10**12), np.arange(4.0), np.ones(4, bool), np.arange(5), np.zeros((4, 1), int)],
    ids=lambda seed: repr(seed)[:30],
)  # fmt: skip
def test_many_refuse_what_is_no_seed(seed):
    with pytest.raises(SpecError, match=r"^seed: .*: must be 4 seeds, whole numbers 0 \.\. 2\^64 - 1") as refused:
        many().reset(seed=seed)
    assert "a list has one for each row" in refused.value.hint


def test_a_seed_of_numpy_is_a_seed_in_both():
    expected = [single().reset(seed=seed)[0] for seed in range(5, 5 + ROWS)]
    for row, seed in enumerate((np.int64(5), np.uint8(6), np.array(7), np.uint64(8))):
        observation, info = single().reset(seed=seed)
        np.testing.assert_array_equal(observation, expected[row])
        assert type(info["run_seed"]) is int
    for seeds in (5, np.int64(5), [5, 6, np.int64(7), 8], (5, 6, 7, 8), range(5, 9), np.arange(5, 9),
                  np.arange(5, 9, dtype=np.uint64)):  # fmt: skip
        np.testing.assert_array_equal(many().reset(seed=seeds)[0], expected)
    last = 2**64 - ROWS
    np.testing.assert_array_equal(many().reset(seed=last)[0], many().reset(seed=range(last, 2**64))[0])
    np.testing.assert_array_equal(many().reset(seed=last)[0][-1], single().reset(seed=np.uint64(2**64 - 1))[0])


def test_ragged_actions_are_no_actions():
    for env in (many(), VectorNetwork(ReacherColumns(2), None), VirtualNetwork(Reacher(), None)):
        env.reset(seed=1)
        with pytest.raises(LocalProtocolError, match=r"\[\[1\], \[2, 3\]\] (is|are) no action"):
            env.step([[1], [2, 3]])


@pytest.mark.parametrize("make", [single, many])
def test_nothing_is_drawn_and_a_person_is_told(make, monkeypatch):
    monkeypatch.setattr(gymnasium.logger, "min_level", gymnasium.logger.WARN)
    env = make()
    env.reset(seed=1)
    assert env.render_mode is None
    with pytest.warns(UserWarning, match=f"{type(env).__name__} has no render mode"):
        assert env.render() is None
