"""A task without a vectorised twin is trained on single environments side by side, to the same numbers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from msgspec import structs

pytest.importorskip("torch")

from counting_task import use_counting_task

from netlab.agents.policy_file import read_policy
from netlab.agents.ppo_config import PPOConfig
from netlab.agents.vector_steps import VectorSteps
from netlab.cli.main import main
from netlab.control.feature_spec import FeatureSpec
from netlab.envs.registry import TASKS
from netlab.envs.vector.network import VectorNetwork
from netlab.envs.virtual.options import NetworkOptions
from netlab.errors import SpecError
from netlab.training.environments import has_twin, make_environment
from netlab.training.job import TrainingJob
from netlab.training.recipe import ModelRecipe, TrainingRecipe

CARTPOLE, REACHER = "CartPole-v1", "netlab/Reacher-v0"
SEEN = FeatureSpec(actions=2, age=True)
PPO = PPOConfig(
    total_steps=2048,
    environments=4,
    horizon_steps=128,
    epochs=1,
    minibatches=4,
    hidden_units=(8,),
    privileged_critic=True,
    reset_every_iterations=3,
)


def recipe(task: str, network: str = "random", **changes: object) -> TrainingRecipe:
    control = NetworkOptions(actuator="scheduled", horizon=3, features=SEEN)
    return TrainingRecipe(
        name="small", summary="-", task=task, network=network, control=control, ppo=PPO, **changes
    )


def without_twin(monkeypatch: pytest.MonkeyPatch, task: str) -> None:
    monkeypatch.setitem(TASKS, task, structs.replace(TASKS[task], columns=None))


def trained(asked: TrainingRecipe, seed: int = 5) -> tuple[dict[str, np.ndarray], object]:
    job = TrainingJob(asked, seed)
    result = job.train()
    return dict(job.export(result).weights), structs.replace(result, seconds=0.0)


@pytest.mark.parametrize("task", [CARTPOLE, REACHER])
def test_it_learns_what_the_twin_would(monkeypatch, task):
    """Networks drawn anew for each episode, ends, time limits, what the critic alone is told: all is the same."""
    asked = recipe(task)
    weights, result = trained(asked)
    without_twin(monkeypatch, task)
    assert not has_twin(asked)
    single, single_result = trained(asked)
    assert single_result == result and result.episodes >= 4
    assert weights.keys() == single.keys()
    for name, weight in weights.items():
        assert np.array_equal(weight, single[name]), name


def test_at_a_time_limit_the_last_row_is_no_question(monkeypatch):
    """As with the twin: the answer to it was played, and what it led to nobody saw."""
    asked = recipe(REACHER)
    rows = [make_environment(asked, 1)]
    without_twin(monkeypatch, REACHER)
    rows.append(make_environment(asked, 1))
    assert [type(one) for one in rows] == [VectorNetwork, SyncVectorEnv]
    assert {one.metadata["autoreset_mode"] for one in rows} == {AutoresetMode.SAME_STEP}
    steps = [VectorSteps(one, wants_privileged=True) for one in rows]
    cuts = 0
    for one in steps:
        one.reset(3)
    for _ in range(220):
        twin, single = (one.step(np.zeros((4, 2), np.float32)) for one in steps)
        for name in ("cut", "cut_asked", "cut_observations", "cut_privileged", "rewards", "done", "ticked"):
            assert np.array_equal(getattr(twin, name), getattr(single, name)), name
        for name, told in twin.moment._asdict().items():
            assert np.array_equal(told, getattr(single.moment, name)), name
        assert not single.cut_asked.any()
        cuts += len(single.cut)
    assert cuts >= 4


def test_a_run_goes_on_to_the_same_numbers(monkeypatch, tmp_path):
    without_twin(monkeypatch, CARTPOLE)
    asked, path = recipe(CARTPOLE), tmp_path / "run.checkpoint.safetensors"
    whole, _ = trained(asked)
    first = TrainingJob(
        asked, 5, checkpoint_path=path, report=lambda told: told.iteration == 2 and first.stop("2")
    )
    assert first.train().iterations == 2
    second = TrainingJob(asked, 5, checkpoint_path=path, is_resumed=True)
    resumed = second.export(second.train()).weights
    assert all(np.array_equal(weight, resumed[name]) for name, weight in whole.items())


def test_a_model_is_fitted_without_a_twin_too(monkeypatch):
    without_twin(monkeypatch, CARTPOLE)
    play = NetworkOptions(actuator="scheduled", horizon=3, features=structs.replace(SEEN, predicted=True))
    asked = recipe(CARTPOLE, play=play, model=ModelRecipe(transitions=200))
    job = TrainingJob(structs.replace(asked, ppo=structs.replace(PPO, total_steps=512)), 1)
    assert job.export(job.train()).card.predictor == "learned"


def test_aids_are_a_twins(monkeypatch):
    without_twin(monkeypatch, CARTPOLE)
    with pytest.raises(SpecError, match="no vectorised twin, whose aids they are") as caught:
        make_environment(recipe(CARTPOLE, aids={"easy_share": 0.5}), 1)
    assert caught.value.key == "aids"


def test_the_command_says_that_it_will_be_slower(monkeypatch, tmp_path):
    use_counting_task(monkeypatch, turns=5)
    monkeypatch.chdir(tmp_path)
    Path("count.toml").write_text(
        'name = "count"\nsummary = "-"\ntask = "Count"\nnetwork = "wifi-normal"\n'
        "[ppo]\ntotal_steps = 64\nenvironments = 4\nhorizon_steps = 16\nminibatches = 2\nhidden_units = [4]\n"
    )
    done = CliRunner().invoke(main, ["train", "count.toml"])
    assert done.exit_code == 0, done.stderr
    assert "Count has no vectorised twin: 4 single environments, slower" in done.stderr
    assert read_policy("count-1.safetensors").card.task.name == "Count"
    done = CliRunner().invoke(main, ["eval", "count-1.safetensors", "--episodes", "2", "--network", "none"])
    assert done.exit_code == 0, done.stderr
    with_twin = CliRunner().invoke(main, ["train", "cartpole-baseline", "--steps", "1"])
    assert with_twin.exit_code == 0 and "twin" not in with_twin.stderr
