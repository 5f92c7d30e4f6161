"""Where a time limit cuts an episode off, the last thing that was asked is what it was cut off in."""

from __future__ import annotations

import numpy as np
import pytest
from gymnasium.vector import AutoresetMode
from toy_vector_env import ToyVectorEnv

from netlab.agents.acting import Actor, make_actor, make_sampler
from netlab.agents.networks import make_network
from netlab.agents.ppo_config import PPOConfig
from netlab.agents.rollout import Collector, Rollout
from netlab.agents.vector_steps import VectorSteps
from netlab.envs.reacher import LIMIT_TICKS
from netlab.envs.vector.network import VectorNetwork
from netlab.envs.vector.reacher import ReacherColumns
from netlab.envs.virtual.options import NetworkOptions

N = 3
CONFIGS = {
    "mlp": PPOConfig(hidden_units=(16,), horizon_steps=2 * LIMIT_TICKS),
    "lstm": PPOConfig(network="lstm", lstm_units=16, horizon_steps=2 * LIMIT_TICKS),
}


def reachers(network: str | None) -> VectorSteps:
    """Return tasks that end by their limit alone."""
    env = VectorNetwork(ReacherColumns(N), network, NetworkOptions(), is_privileged=True)
    return VectorSteps(env, wants_privileged=True)


def lived_through(
    network: str | None, rollout: Rollout, actor: Actor
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Play a rollout's actions again; return where it asked, where it was cut off, and all states before steps."""
    steps = reachers(network)
    now, state = steps.reset(0), np.zeros((2, N, actor.state_units), dtype=np.float32)
    asked, cut, states = [], [], []
    for actions in rollout.actions:
        state = np.where(now.starts[:, None], np.float32(0.0), state)
        states.append(state)
        asked.append(now.asked.copy())
        _, after = actor.act(now.observations, state)
        state = np.where(now.asked[:, None], after, state)
        outcome = steps.step(np.clip(actions, -1.0, 1.0))
        cut.append(np.isin(np.arange(N), outcome.cut))
        now = outcome.moment
    return np.array(asked), np.array(cut), np.array(states)


@pytest.mark.parametrize("network", [None, "wifi-degraded"])
@pytest.mark.parametrize("kind", CONFIGS)
def test_the_answer_whose_end_nobody_saw_is_left_out(network: str | None, kind: str) -> None:
    config, rng, steps = CONFIGS[kind], np.random.default_rng(5), reachers(network)
    moment = steps.reset(0)
    spaces = steps.spaces(moment)
    named = make_network(config, spaces, rng).named_parameters()
    actor = make_actor({name: weight.detach().numpy() for name, weight in named}, config)
    collector = Collector(steps, moment, actor, make_sampler(spaces.action), config.horizon_steps)
    rollout = collector.collect(rng)
    asked, cut, states = lived_through(network, rollout, actor)
    assert cut.sum() >= N
    left_out = np.zeros_like(asked)
    for end, n in zip(*np.nonzero(cut), strict=True):
        t = np.flatnonzero(asked[: end + 1, n])[-1]
        left_out[t, n] = True
        (tail,) = np.flatnonzero(rollout.tails.steps[:-N] == end * N + n)
        np.testing.assert_array_equal(rollout.tails.observations[tail], rollout.observations[t, n])
        np.testing.assert_array_equal(rollout.tails.privileged[tail], rollout.privileged[t, n])
        np.testing.assert_allclose(rollout.tails.states[:, tail], states[t][:, n], atol=1e-6)
        assert not rollout.rewards[t : end + 1, n].any() and not rollout.ticked[t : end + 1, n].any()
        assert rollout.rewards[:t, n].any()
    ended = np.flatnonzero(cut.any(axis=1))[-1]
    np.testing.assert_array_equal(rollout.asked[: ended + 1], (asked & ~left_out)[: ended + 1])


@pytest.mark.parametrize("mode", [AutoresetMode.SAME_STEP, AutoresetMode.NEXT_STEP])
def test_a_last_observation_that_is_a_question_is_met_with_the_memory_of_its_episode(mode: AutoresetMode) -> None:
    """The state behind a time limit is what the network remembers of the whole episode, not nothing."""
    env = ToyVectorEnv(N, mode, length=4, cut=True)
    config = PPOConfig(network="lstm", lstm_units=8, horizon_steps=11)
    rng, steps = np.random.default_rng(5), VectorSteps(env, wants_privileged=False)
    moment = steps.reset(0)
    spaces = steps.spaces(moment)
    named = make_network(config, spaces, rng).named_parameters()
    actor = make_actor({name: weight.detach().numpy() for name, weight in named}, config)
    rollout = Collector(steps, moment, actor, make_sampler(spaces.action), config.horizon_steps).collect(rng)
    tails = rollout.tails
    assert len(tails.steps) > 2 * N  # each environment is cut off at least twice, and at the rollout's end
    for tail, (end, n) in enumerate(zip(*divmod(tails.steps[:-N], N), strict=True)):
        begins = np.flatnonzero(rollout.starts[: end + 1, n])[-1]
        state = np.zeros((2, 1, 8), dtype=np.float32)
        for t in range(begins, end + 1):
            assert rollout.asked[t, n]
            _, state = actor.act(rollout.observations[t, n][None], state)
        assert np.abs(state).max() > 0.01
        np.testing.assert_allclose(tails.states[:, tail], state[:, 0], atol=1e-6)
        np.testing.assert_array_equal(tails.observations[tail], env.seen_at(np.array([4]))[0][0])
