"""stable-baselines3's PPO learns behind a network: one environment untouched, many through the adapter."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("stable_baselines3")

import torch
from stable_baselines3 import PPO

from netlab.envs.cartpole import CartPole
from netlab.envs.registry import make_vector_task
from netlab.envs.vector.network import VectorNetwork
from netlab.envs.virtual.virtual_network import VirtualNetwork
from netlab.training.stable_baselines import StableBaselinesEnv

NETWORK = "wifi-normal"
PAGE = Path(__file__).parents[2] / "docs" / "stable-baselines3.md"
EPISODES, EVAL_SEED = 32, 10_000


@pytest.fixture(autouse=True)
def _log_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have its logger keep its folder where pytest removes it, and not below /tmp."""
    monkeypatch.setenv("SB3_LOGDIR", str(tmp_path))


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def returns(model: PPO | None) -> np.ndarray[Any, Any]:
    """Return what the first episode of each of 32 runs earns: of a model, or of actions drawn at random."""
    env = VectorNetwork(make_vector_task("CartPole-v1", EPISODES), NETWORK)
    rows, _ = env.reset(seed=EVAL_SEED)
    draws = np.random.default_rng(1)
    earned, live = np.zeros(EPISODES), np.ones(EPISODES, dtype=bool)
    while live.any():
        actions = draws.integers(0, 2, EPISODES) if model is None else model.predict(rows, deterministic=True)[0]
        rows, rewards, terminated, truncated, _ = env.step(actions)
        earned += rewards * live
        live &= ~(terminated | truncated)
    return earned


def test_one_environment_is_learned_untouched() -> None:
    env = VirtualNetwork(CartPole(), NETWORK)
    model = PPO(
        "MlpPolicy", env, n_steps=512, n_epochs=6, learning_rate=1e-3, gae_lambda=0.98, seed=1, device="cpu"
    )
    model.learn(4096)
    assert model.num_timesteps == 4096
    # Random actions stand 26 ticks, deviation 13: the mean of 32 episodes is above 36 once in 10^5.
    assert returns(None).mean() < 36.0
    assert returns(model).mean() > 72.0


def test_many_environments_are_learned_through_the_adapter() -> None:
    env = StableBaselinesEnv(VectorNetwork(make_vector_task("CartPole-v1", 16), NETWORK))
    model = PPO("MlpPolicy", env, n_steps=64, batch_size=128, n_epochs=8, learning_rate=1e-3, seed=1, device="cpu")
    model.learn(8192)
    assert model.num_timesteps == 8192
    lengths = [episode["l"] for episode in model.ep_info_buffer or ()]
    assert len(lengths) == 100  # the last 100 of those that ended, as it keeps them
    assert returns(model).mean() > 100.0  # random actions stand 26


def test_the_example_of_the_page_runs(capsys: pytest.CaptureFixture[str]) -> None:
    blocks, names = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL), {}
    for block in blocks:  # the second scores what the first has trained
        exec(compile(block, PAGE.name, "exec"), names)
    printed, said = capsys.readouterr().out.splitlines(), re.findall(r"# prints (.*)", "".join(blocks))
    assert printed[: len(said)] == said
    scores = dict(re.match(r"(\S+) +(\d+\.\d) \+- \d+\.\d$", line).groups() for line in printed[len(said) :])
    assert list(scores) == ["None", "wifi-normal", "wifi-degraded"]
    assert all(5.0 < float(mean) <= 500.0 for mean in scores.values())


def test_it_is_installed_as_the_page_says() -> None:
    (words,) = re.findall(r"^    pip install -c (\S+) (\S+)", PAGE.read_text(), re.MULTILINE)
    constraints = (PAGE.parents[1] / words[0]).read_text().replace("_", "-").splitlines()
    assert [line for line in constraints if line.startswith(f"{words[1]}==")]
