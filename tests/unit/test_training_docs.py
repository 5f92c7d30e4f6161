"""The page on training says what is true: its examples run, and what it names exists."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from netlab.agents.policy_file import read_policy
from netlab.cli.eval import eval_
from netlab.cli.main import main
from netlab.cli.train import train
from netlab.scoring.score import Score
from netlab.training.recipe import ModelRecipe, TrainingRecipe, find_recipe, shipped_recipes

PAGE = (Path(__file__).parents[2] / "docs" / "training.md").read_text()


def test_the_example_trains_and_scores(tmp_path, monkeypatch):
    pytest.importorskip("torch")
    monkeypatch.chdir(tmp_path)
    (text,) = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)
    Path("small.toml").write_text(text)
    done = CliRunner().invoke(main, ["train", "small.toml"])
    assert done.exit_code == 0, done.stderr
    card = read_policy("small-1.safetensors").card
    assert (card.actuator, card.horizon_ticks, card.predictor) == ("scheduled", "adaptive", "learned")
    done = CliRunner().invoke(main, ["eval", "small-1.safetensors", "--episodes", "4"])
    assert done.exit_code == 0, done.stderr
    assert "scheduled adaptive, neutral" in done.stdout
    words = ["--mode", "model", "--network", "wifi-normal"]
    done = CliRunner().invoke(main, ["run", "small-1.safetensors", *words])
    assert done.exit_code == 0, done.stderr
    assert "scheduled adaptive, wifi-normal" in done.stdout


def test_the_python_example_scores(capsys):
    (block,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    exec(compile(block, "docs/training.md", "exec"), {})
    mean, error, least = map(float, capsys.readouterr().out.splitlines()[0].split())
    assert 0.0 < least <= mean <= 500.0 and error >= 0.0


@pytest.mark.parametrize("name", shipped_recipes())
def test_every_recipe_is_on_the_page_as_it_says_of_itself(name):
    assert f"| `{name}` | {find_recipe(name).summary} |\n" in PAGE


@pytest.mark.parametrize("name", [*TrainingRecipe.__struct_fields__, *ModelRecipe.__struct_fields__])
def test_every_key_is_on_the_page(name):
    assert re.search(rf"`{name}`|`\[{name}\]`", PAGE), name


@pytest.mark.parametrize("command", [train, eval_], ids=["train", "eval"])
def test_every_option_is_on_the_page(command):
    common = {"--on", "--virtual-time", "--check", "--debug"}
    for parameter in command.params:
        for option in parameter.opts:
            if option.startswith("--") and option not in common and option != "--output":
                assert option in PAGE, option


def test_what_a_score_has_beside_its_figures_is_said():
    assert "clock" in Score.__struct_fields__ and "`clock` is `model`" in PAGE
