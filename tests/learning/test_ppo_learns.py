"""PPO learns: a pole, something to remember, a number."""

from __future__ import annotations

import numpy as np
from gymnasium.envs.classic_control.cartpole import CartPoleVectorEnv
from msgspec import structs
from toy_vector_env import RecallVectorEnv, TargetVectorEnv

from netlab.agents.ppo_config import CARTPOLE, PPOConfig
from netlab.agents.trainer import Trainer


def test_cartpole_is_solved_by_the_recipe() -> None:
    result = Trainer(CartPoleVectorEnv(64), structs.replace(CARTPOLE, total_steps=120_000), seed=1).run()
    assert result.mean_return is not None
    assert result.mean_return > 195.0  # a random policy stands 22 steps


def test_the_lstm_remembers_what_it_was_shown() -> None:
    config = PPOConfig(
        total_steps=40_000,
        environments=32,
        horizon_steps=32,
        epochs=4,
        minibatches=4,
        learning_rate=3e-3,
        entropy_weight=0.01,
        reward_scale=1.0,
        network="lstm",
        lstm_units=16,
    )
    result = Trainer(RecallVectorEnv(32), config, seed=1).run()
    assert result.mean_return is not None
    assert result.mean_return > 0.95  # 0.5 without a memory


def test_without_a_memory_there_is_nothing_to_recall() -> None:
    config = PPOConfig(total_steps=20_000, environments=32, horizon_steps=32, minibatches=4, reward_scale=1.0)
    result = Trainer(RecallVectorEnv(32), config, seed=1).run()
    assert result.mean_return is not None
    assert abs(result.mean_return - 0.5) < 4.0 * 0.05  # 100 episodes: deviation 0.05


def test_a_gaussian_policy_finds_a_number() -> None:
    config = PPOConfig(
        total_steps=40_000,
        environments=32,
        horizon_steps=16,
        minibatches=4,
        learning_rate=3e-3,
        entropy_weight=0.0,
        reward_scale=1.0,
    )
    trainer = Trainer(TargetVectorEnv(32), config, seed=1)
    result = trainer.run()
    assert result.mean_return is not None
    assert result.mean_return > -0.03  # begins near -0.7; the best constant earns -1/12
    assert float(np.exp(trainer.weights["log_sd"][0])) < 0.2
