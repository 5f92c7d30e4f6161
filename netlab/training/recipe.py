"""TrainingRecipe: all that makes a policy but the seed, as a TOML file says it.

::

    name = "cartpole-scheduled"
    task = "CartPole-v1"
    network = "random"              what training meets: a preset, a file, a distribution; "none" for no network

    [control]                       how it is controlled there (envs/virtual/options.py)
    [play]                          how the finished policy is to be played; as [control] unless given
    [ppo]                           every number of the learner (agents/ppo_config.py)
    [model]                         fit a one-step model beside the policy

Recipes that netlab ships stand in ``recipes/``, a file each; ``netlab train NAME`` runs one.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import Annotated, Literal

import msgspec
from msgspec import Meta, Struct

from netlab.agents.model_card import MAX_DEGREE, MAX_HIDDEN, MAX_MEMBERS
from netlab.agents.ppo_config import PPOConfig
from netlab.did_you_mean import did_you_mean
from netlab.envs.virtual.options import NetworkOptions
from netlab.errors import SpecError
from netlab.messages import PRINTABLE
from netlab.network_words import NO_NETWORK, placed_network
from netlab.traces.text_file import read_text_file
from netlab.traces.toml_text import read_toml

__all__ = ["ModelRecipe", "TrainingRecipe", "find_recipe", "recipe_text", "shipped_recipes"]

_SUFFIX = ".toml"
_MOST_BYTES = 1 << 20
ShortText = Annotated[str, Meta(min_length=1, max_length=200, pattern=PRINTABLE)]
NetworkWords = Annotated[str, Meta(min_length=1, max_length=4096)]
FileName = Annotated[str, Meta(min_length=1, max_length=100, pattern="^[A-Za-z0-9][A-Za-z0-9._-]*$")]


class ModelRecipe(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How a one-step model is fitted beside a policy, from ticks of its own play without a network.

    Attributes:
        transitions: How many ticks are logged.
        explore_ratio: Share of them that play a random action instead.
        degree: Highest degree of the monomials the model is linear in.
        hidden: Units of its tanh layer; 0 for none.
        members: How many models are fitted, each to its own draw of the ticks.
    """

    transitions: Annotated[int, Meta(ge=100, le=1_000_000)] = 2_000
    explore_ratio: Annotated[float, Meta(ge=0.0, le=1.0)] = 0.3
    degree: Annotated[int, Meta(ge=1, le=MAX_DEGREE)] = 1
    hidden: Annotated[int, Meta(ge=0, le=MAX_HIDDEN)] = 0
    members: Annotated[int, Meta(ge=1, le=MAX_MEMBERS)] = 5


class TrainingRecipe(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What makes a policy.

    Attributes:
        name: Of the policy, and of its file.
        summary: What it is, in one line.
        task: What it controls.
        network: What training meets, as ``parse_network`` reads it; ``none`` for no network. A file that a recipe
            names is seen from the recipe's own folder.
        options: Of the task, for example ``push_n``.
        aids: Of the task in training alone, for example ``easy_share``.
        control: How the task is controlled in training.
        play: How the finished policy is to be played; as in training unless given.
        ppo: Every number of the learner.
        model: How a model is fitted beside it; None for none.
        choose: Whether the policy plays the likeliest action or draws one.
    """

    name: FileName
    summary: ShortText
    task: ShortText
    network: NetworkWords = NO_NETWORK
    options: dict[ShortText, int | float] = {}
    aids: dict[ShortText, int | float] = {}
    control: NetworkOptions = NetworkOptions()
    play: NetworkOptions | None = None
    ppo: PPOConfig = PPOConfig()
    model: ModelRecipe | None = None
    choose: Literal["greedy", "sampled"] = "greedy"

    @property
    def played(self) -> NetworkOptions:
        """How the finished policy is to be played."""
        return self.play or self.control

    def output(self, seed: int) -> Path:
        """Return where a policy is written unless told."""
        return Path(f"{self.name}-{seed}.safetensors")

    def check(self, path: str = "") -> None:
        """Refuse what contradicts itself.

        Args:
            path: The file it came from, for messages.

        Raises:
            SpecError: Names the key.
        """
        for table, options in (("control", self.control), ("play", self.played)):
            try:
                options.check()
            except SpecError as error:
                rule = error.message.removeprefix(f"{error.key}: ")
                raise SpecError(rule, path, f"{table}.{error.key}", error.hint) from error
        if self.control.features.predicted:
            hint = "features of training are of what is seen; [play] may predict"
            raise SpecError("training has no model to predict with", path, "control.features.predicted", hint)
        if self.played.features.predicted and self.model is None:
            hint = "add a [model] table, or leave play.features.predicted out"
            raise SpecError("nothing predicts", path, "play.features.predicted", hint)
        if msgspec.structs.replace(self.played.features, predicted=False) != self.control.features:
            hint = "predicted alone may differ: what was trained has no eyes for more, or for less"
            raise SpecError("not what was seen in training", path, "play.features", hint)
        if self.played.rate_hz != self.control.rate_hz:
            hint = "let [control] and [play] say the same, or nothing"
            raise SpecError("not the rate of training", path, "play.rate_hz", hint)


def shipped_recipes() -> tuple[str, ...]:
    """Return the names of the recipes that netlab ships."""
    folder = resources.files("netlab.training") / "recipes"
    return tuple(sorted(one.name.removesuffix(_SUFFIX) for one in folder.iterdir() if one.name.endswith(_SUFFIX)))


def find_recipe(name: str) -> TrainingRecipe:
    """Return a shipped recipe by its name, or the one in a file.

    Raises:
        SpecError: There is none, or it is none.
    """
    if name in shipped_recipes():
        return _parse(recipe_text(name), f"{name}{_SUFFIX}")
    recipe = _parse(recipe_text(name), name)
    return msgspec.structs.replace(recipe, network=placed_network(recipe.network.strip(), Path(name).parent))


def recipe_text(name: str) -> bytes:
    """Return a recipe's file as it is.

    Raises:
        SpecError: There is no such recipe, or it cannot be read.
    """
    shipped = shipped_recipes()
    if name in shipped:
        return (resources.files("netlab.training") / "recipes" / f"{name}{_SUFFIX}").read_bytes()
    if not name.endswith(_SUFFIX):
        hint = did_you_mean(name, shipped) or f"one of: {', '.join(shipped)}; or a file{_SUFFIX}"
        raise SpecError(f"no recipe is called {name!r:.100}", key="recipe", hint=hint)
    return _read(Path(name))


def _read(path: Path) -> bytes:
    try:
        return read_text_file(path, _MOST_BYTES).encode()
    except ValueError as error:
        raise SpecError(str(error), path, hint="netlab train --list has the shipped ones") from None


def _parse(text: bytes, path: str | os.PathLike[str]) -> TrainingRecipe:
    hint = "docs/training.md has the keys, netlab train --show NAME a recipe that works"
    try:
        document = read_toml(text.decode())
        recipe = msgspec.convert(document, TrainingRecipe)
    except ValueError as error:  # what is no UTF-8, no TOML, or no recipe
        raise SpecError(str(error), path, hint=hint) from error
    except SpecError as error:
        rule = error.message.removeprefix(f"{error.key}: ")
        raise SpecError(rule, path, _whole_key(document, error), error.hint or hint) from error
    recipe.check(os.fspath(path))
    return recipe


def _whole_key(document: Mapping[str, object], found: SpecError) -> str:
    """Return the key of what a table refuses of itself, with the table's name."""
    for table, kind in (("ppo", PPOConfig), ("control", NetworkOptions), ("play", NetworkOptions)):
        try:
            msgspec.convert(document.get(table, {}), kind)
        except SpecError as error:
            if error.message == found.message:
                return f"{table}.{error.key}"
        except ValueError:
            continue
    return found.key
