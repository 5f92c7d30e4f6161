"""How fast a policy is trained, network on: netlab's PPO against stable-baselines3's with equal hyper-parameters.

::

    netlab's Trainer        <--- VectorNetwork
    stable-baselines3's PPO <--- DummyVecEnv of single VirtualNetworks
    stable-baselines3's PPO <--- StableBaselinesEnv <--- VectorNetwork

The job is the shipped recipe for CartPole on random networks, cut short. Each learner begins anew in each round,
on one thread, and all make equally many steps. Making environments and networks is not counted. A step is not
equal work for both: netlab learns from those that asked for an action, stable-baselines3, which knows none of it,
from all. The note says what share asked.
"""

from __future__ import annotations

import importlib.util
import statistics
from collections.abc import Callable
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import numpy as np

from netlab.bench.figure import Figure, spread_text
from netlab.bench.step_rates import Stopwatch, Way, measure_in_turn, rates_text, ratios
from netlab.errors import FeatureMissing
from netlab.install_hint import install_hint

if TYPE_CHECKING:
    from stable_baselines3 import PPO
    from stable_baselines3.common.vec_env import VecEnv

    from netlab.training.recipe import TrainingRecipe

__all__ = ["train_speed"]

RECIPE = "cartpole-scheduled"
STEPS = 40_960
ENVIRONMENTS = 64
ROUNDS = 3
SEED = 1
SINGLE_TARGET, VECTOR_TARGET = 4.0, 1.5


def train_speed(say: Callable[[str], None]) -> Figure:
    """Train equally many steps each way, in turn."""
    _require_learners()
    from netlab.agents.one_thread import one_thread

    recipe = _recipe()
    steps = recipe.ppo.iterations * recipe.ppo.iteration_steps
    makers = {"single ones": _single_environments, "our vector environment": _vector_environment}
    ways = [Way("netlab", lambda watch: _train(recipe, watch))]
    for name, make in makers.items():
        ways.append(Way(f"stable-baselines3 on {name}", _learner(recipe, make)))
    with one_thread():
        rates = measure_in_turn(ways, ROUNDS, say)
    single, vector = (ratios(rates[0].wall, other.wall) for other in rates[1:])
    processor = [statistics.median(ratios(rates[0].processor, other.processor)) for other in rates[1:]]
    value, beside = statistics.median(single), statistics.median(vector)
    return Figure(
        name="train-speed",
        value=value,
        unit=f"times stable-baselines3 on single environments; {beside:.3g} times on our vector environment",
        target=f"at least {SINGLE_TARGET:g} and {VECTOR_TARGET:g} times",
        holds=value >= SINGLE_TARGET and beside >= VECTOR_TARGET,
        n=ROUNDS,
        spread=f"{spread_text(single, 'times')}; {spread_text(vector, 'times')}",
        note=f"{RECIPE}, {ENVIRONMENTS} environments, {steps} steps each; medians of ratios within a round, of "
        f"processor time {processor[0]:.3g} and {processor[1]:.3g}; {rates_text(rates)}; "
        f"{_asked_ratio(recipe):.0%} of the steps ask and are learned from by netlab, all by stable-baselines3 "
        f"{version('stable-baselines3')}, torch {version('torch')}, one thread",
    )


def _require_learners() -> None:
    missing = [name for name in ("torch", "stable_baselines3") if importlib.util.find_spec(name) is None]
    if missing:
        hint = install_hint("rl", "stable-baselines3")
        words = f"{' and '.join(missing)} not installed"
        raise FeatureMissing("compare learners", words=words, hint=hint)


def _recipe() -> TrainingRecipe:
    """Return the recipe, cut short."""
    from msgspec import structs

    from netlab.training.recipe import find_recipe

    recipe = find_recipe(RECIPE)
    return structs.replace(
        recipe, ppo=structs.replace(recipe.ppo, environments=ENVIRONMENTS, total_steps=STEPS, grid=None)
    )


def _asked_ratio(recipe: TrainingRecipe) -> float:
    """Return the share of steps that ask for an action, of random play."""
    from netlab.training.job import make_environment

    env = make_environment(recipe, SEED)
    env.reset(seed=SEED)
    env.action_space.seed(SEED)
    asked = [env.step(env.action_space.sample())[4]["asked"].mean() for _ in range(recipe.ppo.horizon_steps)]
    env.close()
    return float(np.mean(asked))


def _train(recipe: TrainingRecipe, watch: Stopwatch) -> int:
    from netlab.agents.trainer import Trainer
    from netlab.training.job import make_environment

    env = make_environment(recipe, SEED)
    trainer = Trainer(env, recipe.ppo, seed=SEED)
    watch.start()
    result = trainer.run()
    watch.stop()
    env.close()
    return result.steps


def _learner(recipe: TrainingRecipe, make: Callable[[TrainingRecipe], VecEnv]) -> Callable[[Stopwatch], int]:
    """Return what trains stable-baselines3's PPO in environments made by ``make``."""

    def run(watch: Stopwatch) -> int:
        env = _scaled(make(recipe), recipe.ppo.reward_scale)
        learner = _ppo(recipe, env)
        watch.start()
        learner.learn(recipe.ppo.iterations * recipe.ppo.iteration_steps)
        watch.stop()
        env.close()
        return int(learner.num_timesteps)

    return run


def _ppo(recipe: TrainingRecipe, env: VecEnv) -> PPO:
    """Return stable-baselines3's PPO with the recipe's hyper-parameters; its layers are tanh anyway."""
    from stable_baselines3 import PPO
    from stable_baselines3.common.logger import Logger

    ppo = recipe.ppo
    learner = PPO(
        "MlpPolicy",
        env,
        learning_rate=lambda left_ratio: ppo.learning_rate * (left_ratio if ppo.anneal else 1.0),
        n_steps=ppo.horizon_steps,
        batch_size=ppo.iteration_steps // ppo.minibatches,
        n_epochs=ppo.epochs,
        gamma=ppo.discount,
        gae_lambda=ppo.gae_lambda,
        clip_range=ppo.clip_ratio,
        ent_coef=ppo.entropy_weight,
        vf_coef=ppo.value_weight,
        max_grad_norm=ppo.gradient_norm,
        policy_kwargs={
            "net_arch": list(ppo.hidden_units),
            "optimizer_kwargs": {"eps": ppo.adam_epsilon},
        },
        seed=SEED,
        device="cpu",
    )
    learner.set_logger(Logger(None, []))  # its own would make a folder below /tmp and leave it there
    return learner


def _single_environments(recipe: TrainingRecipe) -> VecEnv:
    from stable_baselines3.common.vec_env import DummyVecEnv

    from netlab.envs.registry import make_task
    from netlab.envs.virtual.virtual_network import VirtualNetwork
    from netlab.network_words import training_network

    network = training_network(recipe.network, SEED)

    def make() -> VirtualNetwork:
        return VirtualNetwork(make_task(recipe.task, recipe.control.rate_hz), network, recipe.control)

    return DummyVecEnv([make] * recipe.ppo.environments)


def _vector_environment(recipe: TrainingRecipe) -> VecEnv:
    from netlab.training.job import make_environment
    from netlab.training.stable_baselines import StableBaselinesEnv

    return StableBaselinesEnv(make_environment(recipe, SEED))


def _scaled(env: VecEnv, reward_scale: float) -> VecEnv:
    """Return an environment whose rewards are scaled as netlab's learner scales them."""
    from stable_baselines3.common.vec_env import VecEnvWrapper

    class Scaled(VecEnvWrapper):
        def reset(self) -> Any:
            return self.venv.reset()

        def step_wait(self) -> Any:
            rows, rewards, done, infos = self.venv.step_wait()
            return rows, rewards * np.float32(reward_scale), done, infos

    return Scaled(env)
