"""Recipes: files that say all that makes a policy but the seed."""

from __future__ import annotations

import os

import msgspec
import pytest

from netlab.agents.model_card import MAX_HIDDEN, MAX_MEMBERS
from netlab.agents.ppo_config import CARTPOLE, DOORKEY
from netlab.envs.registry import make_vector_task
from netlab.errors import NetlabError, SpecError
from netlab.network_words import find_network, training_network
from netlab.traces.network_pool import NetworkPool
from netlab.traces.pair import ProfilePair
from netlab.training.recipe import TrainingRecipe, find_recipe, shipped_recipes

SHIPPED = shipped_recipes()
HEAD = 'name = "mine"\nsummary = "mine"\ntask = "CartPole-v1"\n'


def written(folder, text: str) -> str:
    path = folder / "mine.toml"
    path.write_text(text)
    return str(path)


@pytest.mark.parametrize("name", SHIPPED)
def test_a_shipped_recipe_is_one_of_a_task_and_a_network_that_there_are(name):
    recipe = find_recipe(name)
    assert recipe.name == name
    assert recipe.summary and len(recipe.summary) <= 110
    make_vector_task(recipe.task, 2, recipe.control.rate_hz, recipe.options, recipe.aids)
    find_network(recipe.network)


def test_what_is_shipped():
    assert SHIPPED == (
        "cartpole-baseline",
        "cartpole-paper",
        "cartpole-paper-delay",
        "cartpole-paper-jitter",
        "cartpole-paper-loss",
        "cartpole-paper-none",
        "cartpole-predictor",
        "cartpole-scheduled",
        "doorkey-aware",
        "doorkey-baseline",
    )


def test_the_learner_is_the_one_that_is_documented_for_the_task():
    assert find_recipe("cartpole-baseline").ppo == CARTPOLE
    assert find_recipe("doorkey-baseline").ppo == DOORKEY
    aware = find_recipe("doorkey-aware").ppo
    assert msgspec.structs.replace(aware, total_steps=DOORKEY.total_steps) == DOORKEY


def test_a_file_gives_all_numbers(tmp_path):
    recipe = find_recipe(
        written(
            tmp_path,
            HEAD + 'network = "wifi-degraded@oneway"\nchoose = "sampled"\noptions = { push_n = 3 }\n'
            '[control]\nactuator = "scheduled"\nhorizon = 7\nfallback = "hold"\nfeatures = { actions = 8 }\n'
            "[ppo]\ntotal_steps = 1000\nhidden_units = [16, 16]\n[model]\ndegree = 2\n",
        )
    )
    assert (recipe.control.actuator, recipe.control.horizon, recipe.control.fallback) == ("scheduled", 7, "hold")
    assert recipe.played == recipe.control
    assert (recipe.ppo.total_steps, recipe.ppo.hidden_units, recipe.model.degree) == (1000, (16, 16), 2)
    assert recipe.options == {"push_n": 3} and isinstance(recipe.options["push_n"], int)
    assert msgspec.json.decode(msgspec.json.encode(recipe), type=TrainingRecipe) == recipe


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "missing required field `name`"),
        (HEAD.replace("mine", "../mine"), "name"),
        (HEAD + "stpes = 3\n", "unknown field `stpes`"),
        (HEAD + "[ppo]\nlearning_rate = -1\n", "mine.toml: ppo.learning_rate: -1: must be within 0 .. 10"),
        (HEAD + "[ppo.grid]\ncells = 0\n", "ppo.grid.cells: 0: must be within"),
        (HEAD + "[ppo]\nlearning_rate = 2000-01-01\n", "$.ppo.learning_rate"),
        (HEAD + "[control]\nfeatures = { stack = 0 }\n", "control.features.stack: 0: must be"),
        (HEAD + "[play]\nfeatures = { stack = 65 }\n", "play.features.stack: 65: must be"),
        (HEAD + "[control]\nrate_hz = 1e-9\n", "$.control.rate_hz"),
        (HEAD.replace('summary = "mine"', 'summary = "\\u001b[31m"'), "$.summary"),
        (HEAD + "[ppo]\nnetwork = 'cnn'\n", "network"),
        (HEAD + "[ppo]\nminibatches = 8193\n", "minibatches: 8193: more than the 8192 steps"),
        (HEAD + "[control]\nhorizon = 3\n", "control.horizon: 3: the newest actuator has no horizon"),
        (HEAD + "[play]\nactuator = 'scheduled'\n", "play.horizon: the scheduled actuator needs a horizon"),
        (
            HEAD + "[control]\nfeatures = { predicted = true }\n",
            "control.features.predicted: training has no model",
        ),
        (HEAD + "[play]\nfeatures = { predicted = true }\n", "play.features.predicted: nothing predicts"),
        (HEAD + "[play]\nfeatures = { stack = 2 }\n", "play.features: not what was seen in training"),
        (HEAD + "[play]\nrate_hz = 25.0\n", "play.rate_hz: not the rate of training"),
        (HEAD + "[model]\ntransitions = 3\n", "transitions"),
        (HEAD + f"[model]\nhidden = {MAX_HIDDEN + 1}\n", f"<= {MAX_HIDDEN} - at `$.model.hidden`"),
        (HEAD + f"[model]\nmembers = {MAX_MEMBERS + 1}\n", f"<= {MAX_MEMBERS} - at `$.model.members`"),
        (HEAD + "[model]\ndegree = 4\n", "<= 3 - at `$.model.degree`"),
        ("name = [[[", "mine.toml"),
    ],
    ids=str,
)
def test_what_is_no_recipe_is_refused_by_its_key(tmp_path, text, words):
    with pytest.raises(SpecError) as caught:
        find_recipe(written(tmp_path, text))
    assert words in str(caught.value)
    assert "mine.toml" in str(caught.value)
    assert caught.value.hint


def test_files_that_are_none(tmp_path):
    with pytest.raises(SpecError, match="cannot be read"):
        find_recipe(str(tmp_path / "none.toml"))
    (tmp_path / "folder.toml").mkdir()
    with pytest.raises(SpecError, match="not a plain file"):
        find_recipe(str(tmp_path / "folder.toml"))
    pipe = tmp_path / "pipe.toml"
    os.mkfifo(pipe)
    with pytest.raises(SpecError, match="not a plain file"):
        find_recipe(str(pipe))
    with pytest.raises(SpecError, match="larger than 1 MiB"):
        find_recipe(written(tmp_path, HEAD + "#" * (1 << 20)))
    (tmp_path / "mine.toml").write_bytes(b"name = '\xff'")
    with pytest.raises(SpecError, match=r"mine\.toml"):
        find_recipe(str(tmp_path / "mine.toml"))
    with pytest.raises(SpecError, match=r"mine\.toml"):
        find_recipe(written(tmp_path, "a = " + "[" * 20_000))


def test_a_mistyped_name_is_met_with_the_right_one():
    with pytest.raises(SpecError, match="no recipe is called") as caught:
        find_recipe("cartpole-sceduled")
    assert caught.value.hint == "did you mean 'cartpole-scheduled'?"
    with pytest.raises(SpecError) as caught:
        find_recipe("x")
    assert "one of: cartpole-baseline" in caught.value.hint


def test_networks_are_none_one_or_a_pool_by_the_seed():
    assert training_network("none", 1) is None
    assert isinstance(training_network("wifi-normal", 1), ProfilePair)
    first, same, other = (training_network("random", seed) for seed in (1, 1, 2))
    assert isinstance(first, NetworkPool)
    assert [first.pair(n) for n in range(8)] == [same.pair(n) for n in range(8)]
    assert [first.pair(n) for n in range(8)] != [other.pair(n) for n in range(8)]
    with pytest.raises(NetlabError, match="unknown network"):
        training_network("wifi", 1)
