"""PPOConfig refuses what cannot be meant, by name and with the rule."""

from __future__ import annotations

import msgspec
import pytest

from netlab.agents.ppo_config import CARTPOLE, DOORKEY, GridLayout, PPOConfig
from netlab.errors import SpecError


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("discount", 1.5, "within 0 .. 1"),
        ("discount", float("nan"), "finite number"),
        ("gae_lambda", -0.1, "within 0 .. 1"),
        ("learning_rate", "fast", "finite number"),
        ("epochs", 0, "within 1"),
        ("epochs", 2.5, "whole number"),
        ("environments", True, "whole number"),
        ("environments", 10**9, "within 1"),
        ("minibatches", 10_000, "more than the 8192 steps"),
        ("network", "transformer", "mlp or lstm"),
        ("hidden_units", (), "1 .. 8"),
        ("hidden_units", (64, 0), "within 1"),
        ("grid", GridLayout(), "no use for a grid"),
        ("reset_every_iterations", 10_000, "hold more than"),
    ],
)
def test_a_number_out_of_its_bounds_is_refused_by_name(field: str, value: object, words: str) -> None:
    with pytest.raises(SpecError, match=words) as caught:
        PPOConfig(**{field: value})
    assert caught.value.key == field
    assert caught.value.hint


def test_an_iteration_that_no_checkpoint_holds_is_told_by_its_size() -> None:
    with pytest.raises(
        SpecError, match="65536 environments x 65536 steps are an iteration of 4294967296"
    ) as caught:
        PPOConfig(environments=65536, horizon_steps=65536, reset_every_iterations=1)
    assert (caught.value.key, caught.value.hint[:11]) == ("horizon_steps", "at most 256")
    PPOConfig(environments=65536, horizon_steps=256, reset_every_iterations=1)


def test_sequences_stay_whole() -> None:
    with pytest.raises(SpecError, match="more than the 4 environments"):
        PPOConfig(network="lstm", environments=4, minibatches=5)


def test_iterations_are_whole() -> None:
    assert PPOConfig(total_steps=8193).iterations == 2
    assert PPOConfig(total_steps=1).iterations == 1
    assert CARTPOLE.iteration_steps == 8192


def test_recipes_survive_a_file() -> None:
    for recipe in (CARTPOLE, DOORKEY):
        assert msgspec.json.decode(msgspec.json.encode(recipe), type=PPOConfig) == recipe
    assert DOORKEY.grid is not None
    assert DOORKEY.grid.stop == 147
    assert DOORKEY.grid.one_hot_size == 980
    with pytest.raises(msgspec.ValidationError, match="unknown field"):
        msgspec.json.decode(b'{"lambda": 0.9}', type=PPOConfig)


@pytest.mark.parametrize("wrong", [{"start": -1}, {"cells": 0}, {"sizes": ()}, {"sizes": (0,)}, {"sizes": (300,)}])
def test_a_grid_that_is_none_is_refused(wrong: dict) -> None:
    with pytest.raises(SpecError, match="must be"):
        GridLayout(**wrong)
