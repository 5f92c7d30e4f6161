"""A vector environment in either way of resetting gives a learner the same episodes."""

from __future__ import annotations

import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete, MultiDiscrete
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from toy_vector_env import ToyVectorEnv

from netlab.agents.vector_steps import VectorSteps
from netlab.envs.registry import make_vector_task
from netlab.envs.vector.network import VectorNetwork
from netlab.envs.virtual.options import NetworkOptions
from netlab.errors import SpecError

SAME, NEXT = AutoresetMode.SAME_STEP, AutoresetMode.NEXT_STEP


def lived_through(env: ToyVectorEnv, count: int) -> list[list[tuple]]:
    """Return each environment's asked steps: position, start, reward, end, and the last position where cut off."""
    steps = VectorSteps(env, wants_privileged=True)
    now = steps.reset(3)
    rows: list[list[tuple]] = [[] for _ in range(env.num_envs)]
    for _ in range(count):
        before, outcome = now, steps.step(np.zeros(env.num_envs, dtype=np.int64))
        now = outcome.moment
        cut = dict(zip(outcome.cut.tolist(), range(outcome.cut.size), strict=True))
        for n in range(env.num_envs):
            if before.asked[n]:
                last = (
                    (outcome.cut_observations[cut[n]].argmax(), outcome.cut_privileged[cut[n]].tolist())
                    if n in cut
                    else None
                )
                seen = int(before.observations[n].argmax()), before.privileged[n].tolist()
                rows[n].append((*seen, bool(before.starts[n]), outcome.rewards[n], bool(outcome.done[n]), last))
    return rows


@pytest.mark.parametrize("cut", [False, True])
def test_both_ways_of_resetting_give_the_same_steps(cut: bool) -> None:
    same = lived_through(ToyVectorEnv(4, SAME, length=3, cut=cut), 60)
    following = lived_through(ToyVectorEnv(4, NEXT, length=3, cut=cut), 60)
    for a, b in zip(same, following, strict=True):
        assert len(b) >= 44  # of 60 steps every fourth resets
        assert a[: len(b)] == b
        ends = [row for row in b if row[4]]
        assert len(ends) >= 14
        assert {row[5] and row[5][0] for row in ends} == {3 if cut else None}
        assert [row[0] for row in b if row[2]][1:] == [0] * (len([row for row in b if row[2]]) - 1)


def test_gymnasiums_own_vector_environment_says_its_last_observations() -> None:
    import gymnasium

    env = SyncVectorEnv(
        [lambda: gymnasium.make("CartPole-v1", max_episode_steps=5)] * 2, autoreset_mode=AutoresetMode.SAME_STEP
    )
    steps = VectorSteps(env, wants_privileged=False)
    steps.reset(0)
    for _ in range(4):
        assert not steps.step(np.array([0, 1])).done.any()
    outcome = steps.step(np.array([0, 1]))
    assert outcome.cut.tolist() == [0, 1]
    assert (np.abs(outcome.cut_observations[:, 3]) > 0.8).all()  # five pushes one way
    assert (np.abs(outcome.moment.observations) <= 0.05).all()
    assert outcome.moment.starts.all()


def test_what_the_environment_says_of_a_step_is_handed_on() -> None:
    env = ToyVectorEnv(2, NEXT, asks_odd=False)
    step = env.step
    env.step = lambda actions: (*(given := step(actions))[:4], {**given[4], "ticked": np.array([True, False])})
    steps = VectorSteps(env, wants_privileged=False)
    asked = steps.reset(0).asked
    for _ in range(12):
        outcome = steps.step(np.zeros(2, dtype=np.int64))
        assert outcome.ticked.tolist() == [True, False]
        assert outcome.moment.privileged.shape == (2, 0)
        position = outcome.moment.observations.argmax(axis=1)
        assert outcome.moment.asked.tolist() == ((position % 2 == 0) & ~outcome.done).tolist()
        asked = asked & outcome.moment.asked
    assert not asked.any()


def test_the_step_that_ends_an_episode_took_time_though_the_next_one_has_not_begun() -> None:
    """Reset at once, the environment's ``ticked`` is of the next episode; ``final_info`` has that of the step."""
    env = VectorNetwork(make_vector_task("CartPole-v1", 2), None, NetworkOptions())
    steps = VectorSteps(env, wants_privileged=False)
    steps.reset(0)
    ends = 0
    for _ in range(100):
        outcome = steps.step(np.array([0, 1]))  # falls within a dozen steps
        assert outcome.ticked.tolist() == [True, True]  # without a network each step is a tick
        ends += int(outcome.done.sum())
    assert ends >= 8


def test_without_word_of_the_ending_step_the_step_is_as_the_environment_says() -> None:
    env = ToyVectorEnv(2, SAME, cut=True, length=1)
    step, last = env.step, {"ticked": np.array([False, True])}
    env.step = lambda actions: (
        *(given := step(actions))[:4],
        {**given[4], "ticked": np.array([True, False]), "final_info": last},
    )
    steps = VectorSteps(env, wants_privileged=False)
    steps.reset(0)
    assert steps.step(np.zeros(2, dtype=np.int64)).ticked.tolist() == [False, True]
    del last["ticked"]
    assert steps.step(np.zeros(2, dtype=np.int64)).ticked.tolist() == [True, False]


def test_what_cannot_be_learned_from_is_refused() -> None:
    env = ToyVectorEnv(2, AutoresetMode.DISABLED)
    with pytest.raises(SpecError, match="resets itself by"):
        VectorSteps(env, wants_privileged=False)
    env.metadata = {}
    with pytest.raises(SpecError, match="resets itself by None"):
        VectorSteps(env, wants_privileged=False)
    for action in (MultiDiscrete([2, 2]), Discrete(2, start=1), Box(0, 9, (1,), np.int32)):
        with pytest.raises(SpecError, match="does not learn actions"):
            VectorSteps(ToyVectorEnv(2, SAME, action=action), wants_privileged=False)
    env = ToyVectorEnv(2, SAME)
    env.single_observation_space = Box(0, 1, (2, 2), np.float32)
    with pytest.raises(SpecError, match="not flat float32"):
        VectorSteps(env, wants_privileged=False)


def test_a_missing_last_observation_or_privileged_vector_is_named() -> None:
    env = ToyVectorEnv(2, SAME, cut=True, length=1)
    step = env.step
    env.step = lambda actions: (*step(actions)[:4], {})
    steps = VectorSteps(env, wants_privileged=False)
    steps.reset(0)
    with pytest.raises(SpecError, match="its last observation is missing"):
        steps.step(np.zeros(2, dtype=np.int64))
    env.reset = lambda seed: (np.zeros((2, 2), dtype=np.float32), {})
    with pytest.raises(SpecError, match="tells the critic nothing"):
        VectorSteps(env, wants_privileged=True).reset(0)
