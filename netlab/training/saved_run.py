"""SavedRun: a training run in a checkpoint, and which recipe it is a run of.

::

    recipe, network --RunIdentity--> note of the checkpoint
    checkpoint --SavedRun.read(recipe, seed)--> resumed by a TrainingJob | made a policy as it is (--export)

A run is told by what its numbers follow from: by the recipe less what is only done with the weights afterwards,
and by the network itself, as the words for it may name a file that changes.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping
from typing import Annotated, Any

import msgspec
import numpy as np
from msgspec import Meta, Struct, structs

from netlab.agents.checkpoint import Checkpoint, read_checkpoint
from netlab.agents.policy_file import PolicyFile
from netlab.agents.training_result import TrainingResult
from netlab.errors import SpecError
from netlab.network_words import NO_NETWORK, find_network
from netlab.training.policy_maker import PolicyMaker, as_utf8
from netlab.training.recipe import TrainingRecipe

__all__ = ["RunIdentity", "SavedRun"]

_HINT = "use the recipe, --seed, --steps and --network that it was begun with, or begin a new run elsewhere"


class RunIdentity(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What tells runs apart that train otherwise.

    Attributes:
        recipe: All of it that training follows from.
        network_sha256: Of the network, as JSON.
    """

    recipe: TrainingRecipe
    network_sha256: Annotated[str, Meta(pattern="^[0-9a-f]{64}$")]

    @classmethod
    def of(cls, recipe: TrainingRecipe) -> RunIdentity:
        """Return the identity of a run.

        Raises:
            NetlabError: There is no such network.
        """
        words = as_utf8(recipe.network)
        trained = structs.replace(recipe, summary="-", network=words, play=None, model=None, choose="greedy")
        network = msgspec.json.encode(find_network(recipe.network), order="sorted")
        return cls(recipe=trained, network_sha256=hashlib.sha256(network).hexdigest())

    @property
    def note(self) -> str:
        """It in one line, for a checkpoint."""
        return msgspec.json.encode(self).decode()

    def difference(self, other: RunIdentity) -> str:
        """Return the first thing that this run has otherwise than the other, with both values; empty for none."""
        mine, theirs = (dict(_leaves(structs.replace(one.recipe, network=NO_NETWORK))) for one in (self, other))
        for name in mine | theirs:
            if mine.get(name) != theirs.get(name):
                return f"its {name} is {_shown(mine.get(name))}, not {_shown(theirs.get(name))}"
        if self.network_sha256 == other.network_sha256:
            return ""
        if self.recipe.network == other.recipe.network:
            return f"its network {_shown(self.recipe.network)} has changed since"
        return f"its network is {_shown(self.recipe.network)}, not {_shown(other.recipe.network)}"


class SavedRun(Struct, frozen=True):
    """A run as it was saved.

    Attributes:
        checkpoint: All that it is.
        recipe: What it is a run of.
    """

    checkpoint: Checkpoint
    recipe: TrainingRecipe

    @classmethod
    def read(cls, path: str | os.PathLike[str], recipe: TrainingRecipe, seed: int) -> SavedRun:
        """Return the run in a checkpoint.

        Args:
            path: The checkpoint.
            recipe: What it must be a run of.
            seed: Which it must have.

        Raises:
            SpecError: There is none, or it is of another recipe or seed: says what is otherwise.
        """
        checkpoint = read_checkpoint(path)
        try:
            identity = msgspec.json.decode(checkpoint.card.note, type=RunIdentity)
        except (msgspec.DecodeError, SpecError) as error:
            problem = f"does not say which recipe it is a run of: {checkpoint.card.note!r:.100}"
            raise SpecError(
                problem, path, "checkpoint", "begin a new run: another netlab has saved this one"
            ) from error
        difference = identity.difference(RunIdentity.of(recipe))
        if not difference and checkpoint.card.seed != seed:
            difference = f"its seed is {checkpoint.card.seed}, not {seed}"
        if difference:
            raise SpecError(f"is of another recipe or seed: {difference}", path, "checkpoint", _HINT)
        return cls(checkpoint, recipe)

    @property
    def result(self) -> TrainingResult:
        """How the run went so far."""
        card = self.checkpoint.card
        return TrainingResult(
            iterations=card.iteration,
            steps=card.iteration * card.config.iteration_steps,
            stopped_by="export" if card.iteration < card.config.iterations else "",
            episodes=card.finished,
            mean_return=float(np.mean(card.recent)) if card.recent else None,
            seconds=0.0,
            saved_iterations=card.iteration,
        )

    def policy(self, command: str = "") -> PolicyFile:
        """Return the policy of the run as it is; fits its model where the recipe asks for one.

        Args:
            command: What was typed, for the card.

        Raises:
            SpecError: Nothing has been learned yet.
        """
        card = self.checkpoint.card
        if not card.iteration:
            raise SpecError(
                "nothing was learned before the run was saved", key="export", hint="go on with --resume"
            )
        maker = PolicyMaker(self.recipe, card.seed, command, card.versions)
        return maker.policy(self.checkpoint.weights, self.result.steps)


def _leaves(value: object, name: str = "") -> Iterator[tuple[str, object]]:
    """Return every value of a document with its dotted key."""
    plain: Any = msgspec.to_builtins(value)
    if isinstance(plain, Mapping):
        for key, one in plain.items():
            yield from _leaves(one, f"{name}.{key}" if name else str(key))
    else:
        yield name, plain


def _shown(value: object) -> str:
    return "not given" if value is None else f"{value!r:.80}"
