"""Numbers and files that are none: refused by name, before anything is reckoned with them."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec
import numpy as np
import pytest
from gymnasium.envs.classic_control.cartpole import CartPoleVectorEnv
from gymnasium.vector import AutoresetMode
from msgspec import structs
from policy_files import CARTPOLE, GRID, GRID_WORLD, linear_file
from toy_vector_env import ToyVectorEnv

from netlab.agents.acting import require_cells
from netlab.agents.policy_card import PolicyCard
from netlab.agents.policy_file import read_policy, write_policy
from netlab.agents.ppo_config import GridLayout, PPOConfig
from netlab.agents.tensor_file import read_file
from netlab.agents.trainer import Trainer
from netlab.errors import LearningError, SpecError

OLD_CARD = (
    b'{"format":1,"name":"old","summary":"","kind":"mlp","task":%b,"features":{},"grid":null,"choose":"greedy",'
    b'"sampling_seed":0,"actuator":"newest","horizon_ticks":null,"predictor":"none","model":null,"training":'
    b'{"command":"netlab train x","seed":1,"steps":64,"versions":{"torch":"2"},"network":"none","scores":{}}}'
)
"""As netlab wrote cards before a fallback was on them; ``scores`` was always empty."""


def test_a_card_without_a_fallback_is_read():
    card = msgspec.json.decode(OLD_CARD % msgspec.json.encode(CARTPOLE), type=PolicyCard)
    assert card.fallback == "neutral" and card.training.steps == 64
    again = msgspec.json.decode(msgspec.json.encode(structs.replace(card, fallback="hold")), type=PolicyCard)
    assert again.fallback == "hold"
    with pytest.raises(msgspec.ValidationError, match="scores"):
        text = OLD_CARD.replace(b'"scores":{}', b'"scores":{"clean":500.0}')
        msgspec.json.decode(text % msgspec.json.encode(CARTPOLE), type=PolicyCard)


def test_stop_and_wait_repeats_nothing(tmp_path: Path):
    made = linear_file()
    card = structs.replace(made.card, actuator="stop-and-wait", fallback="hold")
    with pytest.raises(SpecError, match="stop-and-wait plays each decision once"):
        write_policy(structs.replace(made, card=card), tmp_path / "x.safetensors")


def test_the_physics_of_a_pole_has_two_actions(tmp_path: Path):
    made = linear_file()
    task = structs.replace(CARTPOLE, action=structs.replace(CARTPOLE.action, n=3))
    card = structs.replace(made.card, task=task, predictor="cartpole-physics")
    with pytest.raises(SpecError, match="4 observations and 2 actions"):
        write_policy(structs.replace(made, card=card), tmp_path / "x.safetensors")


@pytest.mark.parametrize("number", [np.nan, 0.5, -1.0, 5.0, np.inf])
def test_what_is_no_cell_of_a_grid_is_refused(number: float):
    row = np.zeros((2, GRID.cells * len(GRID.sizes)), np.float32)
    require_cells(row, GRID)
    row[1, 3] = number  # the first of a cell's integers, which takes 0 .. 4
    with pytest.raises(SpecError, match="no whole numbers within"):
        require_cells(row, GRID)


def test_a_grid_that_one_hot_would_be_a_gigabyte_is_refused():
    assert GRID_WORLD.observation.shape == (13,) and GridLayout().one_hot_size == 980
    GridLayout(cells=4096, sizes=(16,))
    with pytest.raises(SpecError, match="at most 65536 together"):
        GridLayout(cells=4096, sizes=(17,))


def test_a_pipe_or_a_device_is_no_file(tmp_path: Path):
    """Neither waited for nor read to its end, which it has not."""
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", Path("/dev/zero"), tmp_path):
        with pytest.raises(SpecError, match="is not a plain file"):
            read_file(path, max_bytes=1 << 20, what="a policy file")
        with pytest.raises(SpecError, match="is not a plain file"):
            read_policy(path)


def test_a_file_that_is_too_large_is_not_read(tmp_path: Path):
    path = tmp_path / "sparse"
    with path.open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(SpecError, match="is larger than 1048576 bytes"):
        read_file(path, max_bytes=1 << 20, what="a policy file")


SMALL = PPOConfig(total_steps=256, environments=4, horizon_steps=16, epochs=1, minibatches=2, hidden_units=(8,))


def test_a_grid_without_numbers_ends_the_training_before_anything_is_kept(tmp_path: Path):
    env = CartPoleVectorEnv(4)
    config = structs.replace(SMALL, network="lstm", lstm_units=8, grid=GridLayout(cells=1, sizes=(2,)))
    with pytest.raises(LearningError, match=r"grid: .*; nothing was learned, and nothing is saved") as caught:
        Trainer(env, config, checkpoint_path=tmp_path / "run").run()
    assert not (tmp_path / "run").exists()
    assert caught.value.exit_code == 1 and "grid.start" in caught.value.hint


class Blinded(ToyVectorEnv):
    """Its observations are none from some step on, where nothing is asked."""

    steps = 0

    def step(self, actions):
        self.steps += 1
        observations, rewards, terminated, truncated, infos = super().step(actions)
        if self.steps == 16:
            observations = np.where(infos["asked"][:, None], observations, np.float32(np.nan))
            assert np.isnan(observations).any()
        return observations, rewards, terminated, truncated, infos


def test_a_last_observation_that_is_none_is_blamed_on_the_environment_too():
    """The row that a rollout ends in may be written over by that of its last decision, once it was looked at."""
    env = Blinded(4, AutoresetMode.SAME_STEP, length=5, cut=True, asks_odd=False)
    with pytest.raises(LearningError, match="iteration 1: last observations of the environments are not finite"):
        Trainer(env, SMALL).run()
