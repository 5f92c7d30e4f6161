"""The numpy forward pass of a saved policy against formulas written out here, and against torch's where it is."""

from __future__ import annotations

import numpy as np
import pytest
from policy_files import CARTPOLE, GRID, GRID_WORLD, REACHER, grid_observation, lstm_file, mlp_file

from netlab.agents.policy_card import PolicyCard
from netlab.agents.policy_export import export_policy
from netlab.agents.policy_file import read_policy, write_policy
from netlab.agents.policy_network import make_policy_network
from netlab.control.feature_spec import FeatureSpec

RICH = FeatureSpec(stack=4, actions=6, age=True, acknowledgement=3, network=True)
TOLERANCE = 1e-5


def outputs_of(file, rows):
    """Return the outputs for rows that follow one another ``[n, k]``."""
    actor = make_policy_network(file.card, file.weights)
    state, outputs = np.zeros((2, 1, actor.state_units), np.float32), []
    for row in rows:
        output, state = actor.act(row[None].astype(np.float32), state)
        outputs.append(output[0])
    return np.array(outputs)


def double(file):
    return {name: np.asarray(weight, np.float64) for name, weight in file.weights.items()}


@pytest.mark.parametrize("hidden", [(), (64,), (64, 64), (5, 4, 3)], ids=str)
@pytest.mark.parametrize("task", [CARTPOLE, REACHER], ids=lambda task: task.name)
def test_an_mlp_is_its_formula(task, hidden):
    file = mlp_file(task, RICH, hidden)
    weights = double(file)
    rows = np.random.default_rng(1).normal(size=(20, weights["actor.0.weight"].shape[1])) * 2
    x = rows.astype(np.float32).astype(np.float64)
    for layer in range(len(hidden) + 1):
        x = (np.tanh(x) if layer else x) @ weights[f"actor.{layer}.weight"].T + weights[f"actor.{layer}.bias"]
    if task is REACHER:
        x = np.concatenate((x, np.tile(weights["log_sd"], (20, 1))), axis=1)
    np.testing.assert_allclose(outputs_of(file, rows), x, rtol=0, atol=TOLERANCE)


def test_an_lstm_is_its_formula_over_a_hundred_steps():
    file, rng = lstm_file(), np.random.default_rng(2)
    rows, w = [grid_observation(rng) for _ in range(100)], double(lstm_file())
    h, c, expected = np.zeros(8), np.zeros(8), []
    for row in rows:
        sizes = np.tile(GRID.sizes, 4)
        one_hot = [float(number == k) for number, size in zip(row[1:], sizes, strict=True) for k in range(size)]
        seen = np.tanh(w["grid.weight"] @ np.array(one_hot) + w["grid.bias"])
        x = np.tanh(w["encoder.weight"] @ np.concatenate((seen, row[:1])) + w["encoder.bias"])
        gates = w["lstm.weight_ih_l0"] @ x + w["lstm.bias_ih_l0"]
        gates += w["lstm.weight_hh_l0"] @ h + w["lstm.bias_hh_l0"]
        i, f, g, o = gates.reshape(4, 8)
        c = c / (1 + np.exp(-f)) + np.tanh(g) / (1 + np.exp(-i))
        h = np.tanh(c) / (1 + np.exp(-o))
        expected.append(w["actor.weight"] @ h + w["actor.bias"])
    np.testing.assert_allclose(outputs_of(file, rows), expected, rtol=0, atol=TOLERANCE)


class TestAgainstTorch:
    """What the training's networks compute is what the exported file computes."""

    def exported(self, config, spaces, card, path):
        torch = pytest.importorskip("torch")
        from netlab.agents.networks import make_network

        network = make_network(config, spaces, np.random.default_rng(0))
        with torch.no_grad():  # fresh weights hardly move the output: 0.01
            for name, weight in network.named_parameters():
                weight.copy_(torch.from_numpy(np.random.default_rng(len(name)).normal(size=weight.shape) * 0.3))
        weights = {name: weight.detach().numpy() for name, weight in network.named_parameters()}
        write_policy(export_policy(card, weights), path)
        return network, read_policy(path)

    @pytest.mark.parametrize("task", [CARTPOLE, REACHER], ids=lambda task: task.name)
    def test_mlp(self, tmp_path, task):
        torch = pytest.importorskip("torch")
        from netlab.agents.networks import Inputs
        from netlab.agents.ppo_config import PPOConfig
        from netlab.agents.ppo_spaces import PPOSpaces

        card = PolicyCard(name="mlp", kind="mlp", task=task, features=RICH)
        size = max(part.stop for part in RICH.layout(task).values())
        spaces = PPOSpaces(observation=size, action=task.action)
        network, file = self.exported(PPOConfig(), spaces, card, tmp_path / "p.safetensors")
        rows = np.random.default_rng(1).normal(size=(50, size)).astype(np.float32)
        with torch.no_grad():
            output, _ = network(Inputs(torch.from_numpy(rows), torch.zeros((50, 0))))
        np.testing.assert_allclose(outputs_of(file, rows), output.numpy(), rtol=0, atol=TOLERANCE)

    def test_lstm(self, tmp_path):
        torch = pytest.importorskip("torch")
        from netlab.agents.networks import Inputs, Sequences
        from netlab.agents.ppo_config import PPOConfig
        from netlab.agents.ppo_spaces import PPOSpaces

        card = PolicyCard(name="lstm", kind="lstm", task=GRID_WORLD, features=FeatureSpec(), grid=GRID)
        config = PPOConfig(network="lstm", grid=GRID, minibatches=4)
        spaces = PPOSpaces(observation=13, action=GRID_WORLD.action)
        network, file = self.exported(config, spaces, card, tmp_path / "p.safetensors")
        rng = np.random.default_rng(1)
        rows = np.array([grid_observation(rng) for _ in range(60)], np.float32)
        sequences = Sequences(torch.arange(60), ((60, 1),), torch.zeros((2, 1, config.lstm_units)))
        with torch.no_grad():
            output, _ = network(Inputs(torch.from_numpy(rows), torch.zeros((60, 0)), sequences))
        np.testing.assert_allclose(outputs_of(file, rows), output.numpy(), rtol=0, atol=TOLERANCE)
