"""Networks: numpy's forward pass is torch's, sequences are steps, weights begin as they should."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import pytest
import torch
from gymnasium.spaces import Box
from gymnasium.vector import AutoresetMode
from msgspec import structs
from toy_vector_env import ToyVectorEnv

from netlab.agents.acting import make_actor, make_sampler, one_hot_cells
from netlab.agents.distributions import Categorical, DiagonalGaussian
from netlab.agents.networks import Inputs, Sequences, make_network, tanh
from netlab.agents.one_thread import one_thread
from netlab.agents.optimiser import Optimiser
from netlab.agents.ppo_batches import EpisodeBatches, StepBatches, Targets, tail_inputs
from netlab.agents.ppo_config import GridLayout, PPOConfig
from netlab.agents.ppo_spaces import PPOSpaces, learnable_action
from netlab.agents.rollout import Collector
from netlab.agents.torch_actor import TorchActor, make_training_actor
from netlab.agents.vector_steps import VectorSteps
from netlab.errors import SpecError
from netlab.messages import Space

DISCRETE = Space(kind="discrete", dtype="int64", n=3)
BOX = learnable_action(Box(-1.0, 1.0, (2,), np.float32))
LSTM = PPOConfig(network="lstm", lstm_units=16, environments=6, horizon_steps=20, minibatches=3)


def weights_of(network: torch.nn.Module) -> dict[str, np.ndarray]:
    return {name: weight.detach().numpy() for name, weight in network.named_parameters()}


@pytest.mark.parametrize("action", [DISCRETE, BOX])
def test_numpy_acts_as_torch_does(action: Space) -> None:
    rng = np.random.default_rng(0)
    spaces = PPOSpaces(observation=5, action=action, privileged=2)
    seen, privileged = rng.normal(size=(2, 7, 5)).astype(np.float32)[0], np.zeros((7, 2), dtype=np.float32)
    mlp = make_network(PPOConfig(), spaces, rng)
    output, _ = make_actor(weights_of(mlp), PPOConfig()).act(seen, np.zeros((2, 7, 0), dtype=np.float32))
    wanted = mlp(Inputs(torch.from_numpy(seen), torch.from_numpy(privileged)))[0].detach().numpy()
    np.testing.assert_allclose(output, wanted, atol=1e-5)
    nothing = np.zeros((2, 7, 0), dtype=np.float32)
    np.testing.assert_allclose(TorchActor(mlp, 0).act(seen, nothing)[0], wanted, atol=1e-6)

    state = rng.normal(size=(2, 7, 16)).astype(np.float32)
    lstm = make_network(LSTM, spaces, rng)
    output, after = make_actor(weights_of(lstm), LSTM).act(seen, state)
    step = Sequences(torch.arange(7), ((1, 7),), torch.from_numpy(state))
    wanted = lstm(Inputs(torch.from_numpy(seen), torch.from_numpy(privileged), step))[0].detach().numpy()
    np.testing.assert_allclose(output, wanted, atol=1e-5)
    assert after.shape == state.shape
    by_torch = TorchActor(lstm, 16).act(seen, state)
    np.testing.assert_allclose(by_torch[0], wanted, atol=1e-6)
    np.testing.assert_allclose(by_torch[1], after, atol=1e-5)
    assert not np.allclose(after, state)


def test_an_actor_in_training_acts_with_the_weights_as_they_are() -> None:
    spaces = PPOSpaces(observation=5, action=DISCRETE)
    seen = np.ones((3, 5), dtype=np.float32)
    for config in (PPOConfig(), PPOConfig(environments=128), LSTM):
        network = make_network(config, spaces, np.random.default_rng(0))
        Optimiser(network, 1e-5)
        actor = make_training_actor(network, config)
        state = np.zeros((2, 3, actor.state_units), dtype=np.float32)
        before = actor.act(seen, state)[0]
        with torch.no_grad():
            list(network.actor.parameters())[-1].add_(1.0)
        np.testing.assert_allclose(actor.act(seen, state)[0], before + 1.0, atol=1e-6)


def test_a_grid_is_one_hot_alike_in_both() -> None:
    rng = np.random.default_rng(1)
    grid = GridLayout(start=2, cells=4, sizes=(3, 2))
    config = structs.replace(LSTM, grid=grid)
    seen = np.concatenate(
        (
            rng.normal(size=(9, 2)),
            np.stack([rng.integers(0, 3, (9, 4)), rng.integers(0, 2, (9, 4))], axis=2).reshape(9, 8),
            rng.normal(size=(9, 1)),
        ),
        axis=1,
    ).astype(np.float32)
    cells = one_hot_cells(seen[:, grid.start : grid.stop], grid)
    assert cells.shape == (9, 20)
    assert (cells.sum(axis=1) == 8).all()
    assert (cells.reshape(9, 4, 5)[:, :, :3].argmax(axis=2) == seen[:, 2:10:2]).all()
    network = make_network(config, PPOSpaces(observation=11, action=DISCRETE), rng)
    state = np.zeros((2, 9, 16), dtype=np.float32)
    output, _ = make_actor(weights_of(network), config).act(seen, state)
    step = Sequences(torch.arange(9), ((1, 9),), torch.from_numpy(state))
    wanted = network(Inputs(torch.from_numpy(seen), torch.zeros((9, 0)), step))[0].detach().numpy()
    np.testing.assert_allclose(output, wanted, atol=1e-5)
    seen[0, 2] = 3.0
    with pytest.raises(SpecError, match="whole numbers within 0"):
        one_hot_cells(seen[:, grid.start : grid.stop], grid)
    with pytest.raises(SpecError, match="ends at 10"):
        make_network(config, PPOSpaces(observation=9, action=DISCRETE), rng)


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    with one_thread():
        yield


@pytest.mark.parametrize("mode", [AutoresetMode.SAME_STEP, AutoresetMode.NEXT_STEP])
@pytest.mark.parametrize("asks_odd", [True, False])
def test_whole_sequences_are_the_steps_that_were_played(mode: AutoresetMode, asks_odd: bool) -> None:
    rng = np.random.default_rng(2)
    steps = VectorSteps(ToyVectorEnv(6, mode, length=7, cut=True, asks_odd=asks_odd), wants_privileged=False)
    moment = steps.reset(0)
    spaces = steps.spaces(moment)
    network = make_network(LSTM, spaces, rng)
    actor = make_actor(weights_of(network), LSTM)
    collector = Collector(steps, moment, actor, make_sampler(spaces.action), LSTM.horizon_steps)
    collector.collect(rng)  # so that the next one begins in the middle of episodes
    rollout = collector.collect(rng)
    assert np.abs(rollout.first_state).max() > 0.0

    state, played = rollout.first_state, np.empty((20, 6, 2), dtype=np.float32)
    for t in range(20):
        state = np.where(rollout.starts[t][:, None], np.float32(0.0), state)
        played[t], after = actor.act(rollout.observations[t], state)
        state = np.where(rollout.asked[t][:, None], after, state)
    # Elsewhere the last decision was left out of the rollout, but lived through.
    closed = asks_odd | ((collector.observations.argmax(axis=1) % 2 == 0) & ~rollout.done[-2:].any(axis=0))
    assert closed.sum() >= 2
    np.testing.assert_allclose(collector.state[:, closed], state[:, closed], atol=1e-6)
    if not asks_odd:  # a rollout ends, for each environment, where it was asked
        assert (rollout.tails.observations[-6:].argmax(axis=1) % 2 == 0).all()

    batches = EpisodeBatches(rollout, 3)
    assert sorted(batches.steps.tolist()) == np.flatnonzero(rollout.asked).tolist()
    assert len(batches.whole.sequences.blocks) > 1
    output = network(batches.whole)[0].detach().numpy()
    np.testing.assert_allclose(output, played.reshape(-1, 2)[batches.steps], atol=1e-5)
    number = torch.arange(batches.steps.size)
    parts = [batch for _ in range(2) for batch in batches.epoch(Targets(*[number] * 4), rng)]
    assert len(parts) == 6
    assert sorted(torch.cat([part.targets.actions for part in parts[:3]]).tolist()) == number.tolist()
    for part in parts:
        found = network(part.inputs)[0].detach().numpy()
        np.testing.assert_allclose(found, output[part.targets.actions.numpy()], atol=1e-5)
    assert len(tail_inputs(rollout.tails).observations) == 6 + (rollout.done).sum()


def test_minibatches_of_steps_hold_each_asked_step_once() -> None:
    rng = np.random.default_rng(3)
    steps = VectorSteps(ToyVectorEnv(3, AutoresetMode.NEXT_STEP, asks_odd=False), wants_privileged=True)
    moment = steps.reset(0)
    spaces = steps.spaces(moment)
    assert spaces.privileged == 2
    network = make_network(PPOConfig(), spaces, rng)
    collector = Collector(
        steps, moment, make_actor(weights_of(network), PPOConfig()), make_sampler(spaces.action), 16
    )
    rollout = collector.collect(rng)
    batches = StepBatches(rollout, 5)
    assert batches.steps.tolist() == np.flatnonzero(rollout.asked).tolist()
    assert 0 < batches.steps.size < 48
    number = torch.arange(batches.steps.size)
    parts = list(batches.epoch(Targets(*[number] * 4), rng))
    order = torch.cat([part.targets.advantages for part in parts])
    assert sorted(order.tolist()) == number.tolist() != order.tolist()
    for part in parts:
        assert torch.equal(part.inputs.observations, batches.whole.observations[part.targets.actions])
        assert torch.equal(part.inputs.privileged, batches.whole.privileged[part.targets.actions])


def test_weights_begin_orthogonal_and_the_policy_undecided() -> None:
    before = torch.random.get_rng_state()
    spaces = PPOSpaces(observation=4, action=DISCRETE)
    network = make_network(PPOConfig(), spaces, np.random.default_rng(4))
    assert torch.equal(torch.random.get_rng_state(), before)
    weights = weights_of(network)
    np.testing.assert_allclose(
        weights["actor.1.weight"] @ weights["actor.1.weight"].T, 2.0 * np.eye(64), atol=1e-5
    )
    np.testing.assert_allclose(
        weights["actor.2.weight"] @ weights["actor.2.weight"].T, 1e-4 * np.eye(3), atol=1e-9
    )
    np.testing.assert_allclose(np.linalg.norm(weights["critic.2.weight"]), 1.0, atol=1e-6)
    assert not any(array.any() for name, array in weights.items() if "bias" in name)
    again = weights_of(make_network(PPOConfig(), spaces, np.random.default_rng(4)))
    assert all(np.array_equal(array, again[name]) for name, array in weights.items())


def test_tanh_is_tanh() -> None:
    x = torch.linspace(-20.0, 20.0, 4001)
    assert float((tanh(x) - torch.tanh(x)).abs().max()) < 5e-7


def test_the_optimiser_is_torchs_adam_with_clipping() -> None:
    torch.manual_seed(0)
    ours, theirs = torch.nn.Linear(3, 2), torch.nn.Linear(3, 2)
    theirs.load_state_dict(ours.state_dict())
    optimiser, adam = Optimiser(ours, 1e-5), torch.optim.Adam(theirs.parameters(), lr=0.1, eps=1e-5)
    x, y = torch.randn(8, 3), torch.randn(8, 2)
    for _ in range(20):
        optimiser.zero()
        (ours(x) - y).square().mean().backward()
        ours_norm = optimiser.step(0.1, 0.3)
        adam.zero_grad()
        (theirs(x) - y).square().mean().backward()
        norm = torch.nn.utils.clip_grad_norm_(theirs.parameters(), 0.3)
        adam.step()
        assert float(ours_norm) == pytest.approx(float(norm), rel=1e-4)
    torch.testing.assert_close(ours.weight, theirs.weight, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(ours.bias, theirs.bias, rtol=1e-4, atol=1e-5)


def test_log_probabilities_and_entropies_are_torchs() -> None:
    torch.manual_seed(1)
    logits, actions = torch.randn(6, 4), torch.randint(0, 4, (6,))
    log_prob, entropy = Categorical().log_prob_and_entropy(logits, actions)
    wanted = torch.distributions.Categorical(logits=logits)
    torch.testing.assert_close(log_prob, wanted.log_prob(actions))
    torch.testing.assert_close(entropy, wanted.entropy())
    output, drawn = torch.randn(6, 6), torch.randn(6, 3)
    log_prob, entropy = DiagonalGaussian().log_prob_and_entropy(output, drawn)
    mean, log_sd = output.chunk(2, dim=1)
    normal = torch.distributions.Independent(torch.distributions.Normal(mean, log_sd.exp()), 1)
    torch.testing.assert_close(log_prob, normal.log_prob(drawn))
    torch.testing.assert_close(entropy, normal.entropy())


def test_actions_are_drawn_as_often_as_their_probability_says() -> None:
    rng = np.random.default_rng(5)
    probabilities = np.array([0.1, 0.2, 0.7])
    n = 30_000
    output = np.broadcast_to(np.log(probabilities).astype(np.float32), (n, 3))
    sampler = make_sampler(DISCRETE)
    found = np.bincount(sampler.sample(output, rng), minlength=3) / n
    sd = np.sqrt(probabilities * (1 - probabilities) / n)
    assert (np.abs(found - probabilities) < 5.0 * sd).all()  # 5 sigma: 1 in 580,000 for each of 3
    assert sampler.mode(output[:2]).tolist() == [2, 2]

    box = make_sampler(BOX)
    output = np.tile(np.array([0.5, -3.0, math.log(0.25), 0.0], dtype=np.float32), (n, 1))
    drawn = box.sample(output, rng)
    assert np.abs(drawn.mean(axis=0) - [0.5, -3.0]).max() < 5.0 / math.sqrt(n)
    assert np.abs(drawn.std(axis=0) / [0.25, 1.0] - 1.0).max() < 5.0 / math.sqrt(2 * n)
    sent = box.played(drawn)
    assert sent.dtype == np.float32
    assert sent.min() == -1.0
    assert sent.max() <= 1.0
    assert drawn.min() < -5.0
