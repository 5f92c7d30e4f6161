"""PPO's update: the paper's equations by hand, and values of environments where they are known."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from gymnasium.vector import AutoresetMode
from msgspec import structs
from toy_vector_env import ToyVectorEnv

from netlab.agents.acting import make_actor, make_sampler
from netlab.agents.networks import Inputs, make_network
from netlab.agents.ppo import PPO, Losses
from netlab.agents.ppo_batches import Batch, Targets
from netlab.agents.ppo_config import PPOConfig
from netlab.agents.ppo_spaces import PPOSpaces
from netlab.agents.rollout import Collector
from netlab.agents.vector_steps import VectorSteps
from netlab.errors import LearningError
from netlab.messages import Space

CONFIG = PPOConfig(
    environments=8,
    horizon_steps=12,  # no multiple of an episode, so that rollouts end in the middle
    epochs=4,
    minibatches=3,
    learning_rate=0.01,
    discount=0.9,
    gae_lambda=0.9,
    reward_scale=1.0,
    hidden_units=(32,),
    gradient_norm=10.0,
)
MODES = [AutoresetMode.SAME_STEP, AutoresetMode.NEXT_STEP]


def learned_values(env: ToyVectorEnv, config: PPOConfig = CONFIG, iterations: int = 100) -> np.ndarray:
    """Return what the critic believes of each position once it has learned, ``[length + 1]``; mlp only."""
    rng = np.random.default_rng(0)
    steps = VectorSteps(env, wants_privileged=config.privileged_critic)
    moment = steps.reset(1)
    spaces = steps.spaces(moment)
    network = make_network(config, spaces, rng)
    ppo = PPO(network, spaces, config)
    weights = {name: weight.detach().numpy() for name, weight in network.named_parameters()}
    collector = Collector(
        steps, moment, make_actor(weights, config), make_sampler(spaces.action), config.horizon_steps
    )
    for iteration in range(iterations):
        ppo.update(collector.collect(rng), rng, config.learning_rate * (1.0 - iteration / iterations))
    observations, privileged = map(torch.from_numpy, env.seen_at(np.arange(spaces.observation)))
    with torch.no_grad():
        return network.values(Inputs(observations, privileged[:, : spaces.privileged])).numpy()


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("asks_odd", [True, False])
def test_an_episode_that_terminates_is_worth_what_is_left_of_it(mode: AutoresetMode, asks_odd: bool) -> None:
    values = learned_values(ToyVectorEnv(8, mode, length=5, asks_odd=asks_odd))
    truth = (1.0 - 0.9 ** (5.0 - np.arange(5))) / 0.1
    at = np.arange(5) if asks_odd else np.array([0, 2, 4])  # what nobody asks about nobody learns
    np.testing.assert_allclose(values[at], truth[at], atol=0.1)


@pytest.mark.parametrize("mode", MODES)
def test_a_step_that_takes_no_time_is_not_discounted(mode: AutoresetMode) -> None:
    values = learned_values(ToyVectorEnv(8, mode, length=5, ticks_odd=False))
    np.testing.assert_allclose(values[:5], [4.42, 3.8, 2.8, 2.0, 1.0], atol=0.1)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("asks_odd", [True, False])
def test_an_episode_that_is_cut_off_is_worth_as_if_it_went_on(mode: AutoresetMode, asks_odd: bool) -> None:
    # Only the first step of an episode earns nothing, and only its state is seen apart: were the state after the
    # reset taken for the last one, or the time limit for the end, what is later would not be worth 10.
    env = ToyVectorEnv(8, mode, length=5, cut=True, tells_position=False, first_reward=0.0, asks_odd=asks_odd)
    values = learned_values(env)
    np.testing.assert_allclose(values[:2], [9.0, 10.0], atol=0.25)


@pytest.mark.parametrize("mode", MODES)
def test_a_privileged_critic_knows_what_the_observation_hides(mode: AutoresetMode) -> None:
    config = structs.replace(CONFIG, privileged_critic=True, learning_rate=0.02)
    values = learned_values(ToyVectorEnv(8, mode, length=3, blind=True), config)
    np.testing.assert_allclose(values[:3], [2.71, 1.9, 1.0], atol=0.1)


def test_the_losses_are_those_of_the_paper() -> None:
    spaces = PPOSpaces(observation=3, action=Space(kind="discrete", dtype="int64", n=2))
    rng = np.random.default_rng(0)
    network = make_network(CONFIG, spaces, rng)
    ppo = PPO(network, spaces, CONFIG)
    seen = torch.from_numpy(rng.normal(size=(6, 3)).astype(np.float32))
    actions = torch.tensor([0, 1, 1, 0, 1, 0])
    advantages = torch.tensor([3.0, -1.0, 2.0, -2.0, 0.5, -2.5])
    output, values = network(Inputs(seen, torch.zeros(6, 0)))
    log_probs = torch.log_softmax(output, 1)[torch.arange(6), actions].detach()
    # As if the old policy had been so much more or less likely to do it: ratios 2, 2, 0.5, 0.5, 1.1, 1.
    ratios = np.array([2.0, 2.0, 0.5, 0.5, 1.1, 1.0])
    old = log_probs - torch.from_numpy(np.log(ratios).astype(np.float32))
    targets = Targets(actions, old, advantages, torch.arange(6.0))
    losses = ppo.losses(Batch(Inputs(seen, torch.zeros(6, 0)), targets))
    a = advantages.numpy()
    a = (a - a.mean()) / a.std()
    wanted = [min(r * x, min(max(r, 0.8), 1.2) * x) for r, x in zip(ratios, a, strict=True)]
    assert losses.policy.item() == pytest.approx(-np.mean(wanted), abs=1e-5)
    assert losses.value.item() == pytest.approx(((values - torch.arange(6.0)) ** 2).mean().item(), rel=1e-5)
    probabilities = torch.softmax(output, 1)
    entropy = -(probabilities * probabilities.log()).sum(1).mean()
    assert losses.entropy.item() == pytest.approx(entropy.item(), rel=1e-5)


@pytest.mark.parametrize(("weight", "least", "most"), [(0.0, 0.0, 0.2), (1.0, 0.5, 1.0)])
def test_a_reward_for_entropy_makes_a_policy_draw_more_evenly(weight: float, least: float, most: float) -> None:
    """Of a policy that is nearly sure, where no action is better than another."""
    config = structs.replace(CONFIG, entropy_weight=weight, value_weight=0.0, minibatches=1, epochs=20)
    rng = np.random.default_rng(0)
    steps = VectorSteps(ToyVectorEnv(8, AutoresetMode.SAME_STEP), wants_privileged=False)
    moment = steps.reset(0)
    spaces = steps.spaces(moment)
    network = make_network(config, spaces, rng)
    weights = {name: one.detach().numpy() for name, one in network.named_parameters()}
    (bias,) = [one for name, one in weights.items() if name.startswith("actor.") and one.shape == (2,)]
    bias[:] = 2.0, -2.0
    rollout = Collector(steps, moment, make_actor(weights, config), make_sampler(spaces.action), 12).collect(rng)
    rollout.actions[:] = 0  # what is always done is no better than itself
    rollout.rewards[:] = 0.0
    ppo = PPO(network, spaces, config)
    assert least < ppo.update(rollout, rng, 0.02).entropy < most


def objective(**losses: float) -> float:
    spaces = PPOSpaces(observation=3, action=Space(kind="discrete", dtype="int64", n=2))
    config = structs.replace(CONFIG, value_weight=0.5, entropy_weight=0.25)
    ppo = PPO(make_network(config, spaces, np.random.default_rng(0)), spaces, config)
    given = {name: torch.tensor(value) for name, value in losses.items()}
    return ppo._objective(Losses(**given, log_ratios=torch.zeros(1))).item()


def test_the_objective_is_eq_9() -> None:
    """What is made small: -L^CLIP + c1 L^VF - c2 S."""
    assert objective(policy=3.0, value=8.0, entropy=2.0) == 3.0 + 0.5 * 8.0 - 0.25 * 2.0


def test_a_rollout_without_a_question_teaches_nothing_and_says_so() -> None:
    rng = np.random.default_rng(0)
    env = ToyVectorEnv(8, AutoresetMode.SAME_STEP)
    steps = VectorSteps(env, wants_privileged=False)
    moment = steps.reset(0)
    spaces = steps.spaces(moment)
    network = make_network(CONFIG, spaces, rng)
    ppo = PPO(network, spaces, CONFIG)
    weights = {name: weight.detach().numpy() for name, weight in network.named_parameters()}
    rollout = Collector(steps, moment, make_actor(weights, CONFIG), make_sampler(spaces.action), 12).collect(rng)
    rollout.asked[:] = False
    with pytest.raises(LearningError, match="not one of 96 steps"):
        ppo.update(rollout, rng, 0.01)
