"""The shipped policies: which there are, what their cards say, and that each can do what it was trained for."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest
from click.testing import CliRunner

from netlab.agents.network_policy import NetworkPolicy
from netlab.agents.policy import RECIPES, find_policy
from netlab.agents.policy_file import read_policy
from netlab.agents.policy_network import network_shapes
from netlab.agents.shipped_policies import (
    kind_of,
    shipped_names,
    shipped_path,
    shipped_policies,
    training_seeds,
)
from netlab.cli.main import main
from netlab.scoring.scorer import score
from netlab.training.recipe import find_recipe, shipped_recipes

KINDS = shipped_recipes()
"""Of each recipe that is shipped there are policies."""
ABLATION = tuple(f"cartpole-paper-{what}" for what in ("delay", "jitter", "loss", "none"))
SHIPPED = shipped_policies()


def test_each_has_a_recipe_and_a_first_seed_and_a_name_alone_is_that() -> None:
    assert tuple(shipped_names()) == KINDS
    for kind in KINDS:
        assert shipped_path(kind) == shipped_path(f"{kind}-1") == SHIPPED[f"{kind}-1"]
        assert find_policy(kind).sha256 == find_policy(f"{kind}-1").sha256
    assert {kind_of(name) for name in SHIPPED} == set(KINDS)
    assert not {*SHIPPED, *KINDS} & RECIPES.keys()
    assert shipped_path("cartpole") is shipped_path("cartpole-paper-0") is shipped_path("") is None


def test_training_seeds_are_of_one_kind_alone() -> None:
    """``cartpole-paper`` is the beginning of the names of other kinds too."""
    assert training_seeds("cartpole-paper") == [f"cartpole-paper-{seed}" for seed in range(1, 6)]
    assert training_seeds("cartpole") == training_seeds("cartpole-paper-1") == []
    assert sorted(name for kind in KINDS for name in training_seeds(kind)) == sorted(SHIPPED)


def test_no_two_are_one() -> None:
    assert len({find_policy(name).sha256 for name in SHIPPED}) == len(SHIPPED)


@pytest.mark.parametrize("name", SHIPPED)
def test_a_card_says_what_made_it(name: str) -> None:
    recipe = find_policy(name)
    assert recipe.file is not None and recipe.name == name
    card, training = recipe.file.card, recipe.file.card.training
    kind, seed = kind_of(name), name.rpartition("-")[2]
    assert card.name == kind and card.summary
    assert training is not None
    assert training.command == f"netlab train {kind} --seed {seed}"
    assert (training.seed, training.steps > 100_000) == (int(seed), True)
    assert {"netlab", "torch", "numpy", "python"} <= training.versions.keys()
    assert training.network == find_recipe(kind).network


@pytest.mark.parametrize("name", SHIPPED)
def test_weights_are_finite_and_of_the_cards_shape(name: str) -> None:
    file = read_policy(SHIPPED[name])
    shapes = network_shapes(file.card, file.weights)
    assert {key: weight.shape for key, weight in file.weights.items()} == shapes
    tensors = [*file.weights.values(), *(file.model.tensors.values() if file.model is not None else ())]
    assert all(np.isfinite(tensor).all() for tensor in tensors)
    assert all(float(np.abs(weight).max()) < 100.0 for weight in file.weights.values())
    NetworkPolicy(file.card, file.weights)


@pytest.mark.parametrize("name", [name for name in SHIPPED if kind_of(name) not in ABLATION])
def test_each_does_without_a_network_what_it_was_trained_for(name: str) -> None:
    """n = 4 episodes: CartPole to its limit, DoorKey to its goal. What an ablation leaves out may be missed."""
    told = score(name, episodes=4, seed=1000)
    if told.successes is None:
        assert told.returns == (500.0,) * 4
    else:
        assert told.success_ratio == 1.0


def test_they_run_with_what_a_core_install_has() -> None:
    script = (  # a module that is None cannot be imported
        "import sys; sys.modules |= dict.fromkeys(['torch', 'minigrid', 'tensorboard']);"
        "from netlab.scoring.scorer import score; from netlab.demo import demo_experiment;"
        "[score(name, episodes=1) for name in sys.argv[1:]]; demo_experiment(1, (), 1, 1)"
    )
    subprocess.run([sys.executable, "-c", script, *KINDS], check=True)


def test_the_list_is_of_all_of_them_and_says_how_they_are_played() -> None:
    said = CliRunner().invoke(main, ["agent", "policies", "--json"])
    listed = {one["name"]: one for one in json.loads(said.stdout)}
    assert list(listed) == [*RECIPES, *SHIPPED]
    assert listed["linear"]["task"] == "CartPole-v1" and listed["linear"]["training"] is None
    predictor = listed["cartpole-predictor-1"]
    assert (predictor["actuator"], predictor["horizon_ticks"], predictor["predictor"]) == (
        "scheduled",
        18,
        "learned",
    )
    assert predictor["training"]["seed"] == 1 and len(predictor["sha256"]) == 64
    text = CliRunner().invoke(main, ["agent", "policies"]).stdout
    heads = [line.split()[0] for line in text.splitlines() if not line.startswith(" ")]
    assert heads == [*RECIPES, *KINDS]
    assert text.count("seeds 1, 2, 3, 4, 5") == len(KINDS)
    assert "CartPole-v1, scheduled D=18" in text and "netlab train doorkey-aware --seed 1; " in text
