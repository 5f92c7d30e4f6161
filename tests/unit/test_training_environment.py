"""What a recipe trains in is what it names: task, options, network, seed, what is seen, what its critic knows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from msgspec import structs

from netlab.control.feature_spec import FeatureSpec
from netlab.envs.registry import make_vector_task
from netlab.envs.vector.network import VectorNetwork
from netlab.envs.virtual.options import NetworkOptions
from netlab.traces.network_pool import NetworkPool
from netlab.traces.toml_network import parse_network
from netlab.training.environments import make_environment
from netlab.training.recipe import TrainingRecipe, find_recipe

N = 4
SEEN = NetworkOptions(features=FeatureSpec(stack=2, age=True))
NETWORKS = {
    "none": None,
    "wifi-degraded@oneway": "wifi-degraded@oneway",
    "random-loss": NetworkPool(parse_network("random-loss"), 7),
}


def recipe(network: str, *, privileged: bool = False) -> TrainingRecipe:
    made = find_recipe("cartpole-baseline")
    ppo = structs.replace(made.ppo, environments=N, privileged_critic=privileged)
    return structs.replace(made, network=network, control=SEEN, options={"push_n": 3.0}, ppo=ppo)


def played(env: Any) -> dict[str, np.ndarray]:
    """Return what comes of 150 steps in which nothing is ever done but 1."""
    observations, infos = env.reset(seed=3)
    found: dict[str, list[Any]] = {"seen": [], "asked": [], "rewards": []}
    for _ in range(150):
        found["seen"].append(observations.copy())
        found["asked"].append(infos["asked"].copy())
        observations, rewards, _, _, infos = env.step(np.ones(N, dtype=np.int64))
        found["rewards"].append(rewards.copy())
    env.close()
    return {name: np.array(rows) for name, rows in found.items()}


@pytest.mark.parametrize("network", NETWORKS)
def test_it_plays_what_one_made_by_hand_plays(network: str) -> None:
    task = make_vector_task("CartPole-v1", N, options={"push_n": 3.0})
    by_hand = played(VectorNetwork(task, NETWORKS[network], SEEN))
    ours = played(make_environment(recipe(network), 7))
    for name, rows in by_hand.items():
        np.testing.assert_array_equal(ours[name], rows, err_msg=name)
    assert by_hand["asked"].all() == (network == "none")


def test_networks_are_drawn_with_the_seed_of_the_training() -> None:
    one, again, other = (played(make_environment(recipe("random-loss"), seed))["asked"] for seed in (7, 7, 8))
    assert np.array_equal(one, again) and not np.array_equal(one, other)


@pytest.mark.parametrize("privileged", [False, True])
def test_the_critic_is_told_more_where_the_recipe_says_so(privileged: bool) -> None:
    env = make_environment(recipe("wifi-degraded", privileged=privileged), 7)
    assert ("privileged" in env.reset(seed=3)[1]) is privileged
    env.close()
