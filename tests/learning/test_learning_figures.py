"""The figures ``train-speed`` and ``train-time``: measured, fair, refused where nothing learns. Not how fast."""

from __future__ import annotations

import importlib.util
import json
import re
from types import SimpleNamespace

import pytest
from click.testing import CliRunner
from msgspec import structs

from netlab.bench import step_rates, train_speed, train_time
from netlab.bench.step_rates import Stopwatch
from netlab.cli.main import main
from netlab.errors import LearningError
from netlab.training.recipe import find_recipe


@pytest.mark.parametrize(
    ("ours_s", "single_s", "vector_s", "holds"),
    [(10.0, 41.0, 15.5, True), (10.0, 39.0, 15.5, False), (10.0, 41.0, 14.5, False), (11.0, 41.0, 15.5, False)],
    ids=["fast enough", "single ones too fast", "vector too fast", "ours too slow"],
)
def test_train_speed_is_what_the_clock_says_of_learning(monkeypatch, ours_s, single_s, vector_s, holds):
    """All three learn; only how long that takes is planted."""
    pytest.importorskip("stable_baselines3")
    from stable_baselines3 import PPO
    from stable_baselines3.common.vec_env import DummyVecEnv

    from netlab.agents.trainer import Trainer

    clock = SimpleNamespace(now_s=0.0)
    clock.perf_counter = clock.process_time = lambda: clock.now_s
    monkeypatch.setattr(step_rates, "time", clock)
    trained, learned = Trainer.run, PPO.learn

    def run(self, *args, **kwargs):
        clock.now_s += ours_s
        return trained(self, *args, **kwargs)

    def learn(self, *args, **kwargs):
        clock.now_s += single_s if isinstance(self.env.venv, DummyVecEnv) else vector_s
        return learned(self, *args, **kwargs)

    monkeypatch.setattr(Trainer, "run", run)
    monkeypatch.setattr(PPO, "learn", learn)
    monkeypatch.setattr(train_speed, "ENVIRONMENTS", 4)
    monkeypatch.setattr(train_speed, "STEPS", 512)
    monkeypatch.setattr(train_speed, "ROUNDS", 2)
    one_network = structs.replace(train_speed._recipe(), network="wifi-normal")  # a thousand take seconds to make
    monkeypatch.setattr(train_speed, "_recipe", lambda: one_network)
    figure = train_speed.train_speed(lambda text: None)
    assert figure.name == "train-speed" and figure.n == 2 and figure.holds is holds
    assert figure.value == pytest.approx(single_s / ours_s)
    beside = f"{vector_s / ours_s:.3g} times on our vector environment"
    assert figure.unit == f"times stable-baselines3 on single environments; {beside}"
    assert figure.target == "at least 4 and 1.5 times"
    assert "4 environments, 512 steps each" in figure.note and "one thread" in figure.note
    assert re.search(r"; [1-9]\d?% of the steps ask", figure.note)  # behind this network not every one


def test_train_speed_leaves_no_folder_behind(monkeypatch, tmp_path):
    """stable-baselines3 makes one for its log whenever it learns, unless it is given a logger."""
    pytest.importorskip("stable_baselines3")
    monkeypatch.setenv("SB3_LOGDIR", str(tmp_path / "log"))
    shipped = train_speed._recipe()
    tiny = structs.replace(shipped.ppo, environments=2, horizon_steps=8, total_steps=16, minibatches=2)
    small = structs.replace(shipped, network="wifi-normal", ppo=tiny)
    assert train_speed._learner(small, train_speed._vector_environment)(Stopwatch()) == 16
    assert not (tmp_path / "log").exists()


def test_both_learners_are_asked_for_the_same():
    pytest.importorskip("stable_baselines3")
    import torch

    recipe = train_speed._recipe()
    shipped = find_recipe(train_speed.RECIPE)
    assert recipe == structs.replace(shipped, ppo=structs.replace(shipped.ppo, total_steps=40_960))
    assert recipe.ppo.environments == 64 and recipe.network != "none"
    small = structs.replace(recipe, network="wifi-normal", ppo=structs.replace(recipe.ppo, environments=2))
    ppo, learner = small.ppo, train_speed._ppo(small, train_speed._single_environments(small))
    assert (learner.n_envs, learner.n_steps, learner.n_epochs) == (2, ppo.horizon_steps, ppo.epochs)
    assert learner.batch_size * ppo.minibatches == ppo.iteration_steps
    assert (learner.gamma, learner.gae_lambda) == (ppo.discount, ppo.gae_lambda)
    assert (learner.ent_coef, learner.vf_coef) == (ppo.entropy_weight, ppo.value_weight)
    assert learner.max_grad_norm == ppo.gradient_norm and learner.target_kl is None
    assert learner.clip_range(1.0) == ppo.clip_ratio and learner.normalize_advantage
    assert (learner.lr_schedule(1.0), learner.lr_schedule(0.25)) == (ppo.learning_rate, ppo.learning_rate / 4)
    assert learner.policy.optimizer.defaults["eps"] == ppo.adam_epsilon
    for layers in (learner.policy.mlp_extractor.policy_net, learner.policy.mlp_extractor.value_net):
        assert [type(one) for one in layers] == [torch.nn.Linear, torch.nn.Tanh] * 2
        assert [one.out_features for one in layers[::2]] == list(ppo.hidden_units)
    ours = train_speed._vector_environment(small)
    assert learner.observation_space == ours.observation_space and learner.action_space == ours.action_space


def test_rewards_are_scaled_for_both():
    pytest.importorskip("stable_baselines3")
    recipe = train_speed._recipe()
    small = structs.replace(recipe, network="wifi-normal", ppo=structs.replace(recipe.ppo, environments=2))
    env = train_speed._scaled(train_speed._vector_environment(small), 0.25)
    env.seed(1)
    env.reset()
    earned = {
        float(reward)
        for _ in range(20)
        for reward in env.step(env.unwrapped.get_attr("action_space")[0].sample())[1]
    }
    assert earned <= {0.0, 0.25, 0.5} and 0.25 in earned  # the first step has the reward of tick 0 too


@pytest.mark.parametrize(
    ("figure", "library"),
    [("train-speed", "stable_baselines3"), ("train-speed", "torch"), ("train-time", "torch")],
)
def test_where_nothing_learns_it_says_so(monkeypatch, figure, library):
    found = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *rest: None if name == library else found(name, *rest)
    )
    done = CliRunner().invoke(main, ["bench", figure, "--json"])
    assert done.exit_code == 1
    (document,) = json.loads(done.stdout)["figures"]
    assert document["value"] is None and not document["holds"] and library in document["note"]
    assert "pip install" in done.stderr


def test_train_time_is_measured(monkeypatch):
    pytest.importorskip("torch")
    monkeypatch.setattr(train_time, "SEEDS", (1,))
    monkeypatch.setattr(train_time, "OPTIONS", ("--steps", "1"))  # one iteration
    figure = train_time.train_time(lambda text: None)
    assert figure.name == "train-time" and figure.n == 1
    assert (train_time.TARGET_S, train_time.SOLVED_RETURN) == (120.0, 475.0)
    assert train_time.RECIPES == ("cartpole-baseline", "cartpole-predictor")
    assert figure.value is not None and figure.value > 0.0
    assert not figure.holds  # however fast: what came of one iteration is worth nothing
    assert "cartpole-predictor" in figure.note and "8192 steps" in figure.note


def test_a_training_that_fails_is_no_figure(monkeypatch):
    monkeypatch.setattr(train_time, "RECIPES", ("no-such-recipe",))
    with pytest.raises(LearningError, match="no-such-recipe ended with status 2"):
        train_time.train_time(lambda text: None)
