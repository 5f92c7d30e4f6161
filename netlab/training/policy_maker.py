"""PolicyMaker: the policy file that a recipe makes of trained weights, its model fitted to its own play.

::

    weights --card--> PolicyFile --own play, where [model] asks--> PolicyFile with a LearnedModel

Knows no learner: the weights may be of a run at its end, or of one that was saved on the way. Needs no torch.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import msgspec
from numpy.typing import NDArray

from netlab.agents.model_card import ModelCard
from netlab.agents.model_columns import tensor_shapes
from netlab.agents.policy_card import PolicyCard, Training
from netlab.agents.policy_export import export_policy
from netlab.agents.policy_file import MAX_BYTES, PolicyFile
from netlab.agents.ppo_spaces import PPOSpaces
from netlab.agents.training_memory import refuse_beyond_memory, require_memory
from netlab.errors import SpecError
from netlab.messages import TaskDescription
from netlab.scoring.course import describe
from netlab.training.own_play import fit_own_model
from netlab.training.recipe import TrainingRecipe

__all__ = ["PolicyMaker", "as_utf8"]

_CARD_BYTES = 1 << 20
"""Room in a policy file for all that is no weight."""
_FITTED_RATIO = 0.8
"""At most this share of the transitions is fitted to; the rest measures errors."""

Weights = Mapping[str, NDArray[Any]]


class PolicyMaker:
    """Makes policies by one recipe and seed.

    Args:
        recipe: How.
        seed: Of the training run.
        command: What was typed, for the card; empty for what would make the same.
        versions: Of what trained it, for the card.

    Raises:
        SpecError: There is no such task, or its model could not be fitted.
    """

    def __init__(self, recipe: TrainingRecipe, seed: int, command: str, versions: Mapping[str, str]) -> None:
        self._recipe, self._seed = recipe, seed
        self._command = as_utf8(command or f"netlab train {recipe.name} --seed {seed}")
        self._versions = dict(versions)
        self._task = describe(recipe.task, recipe.control.rate_hz, recipe.options)
        self._model_bytes = _model_bytes(recipe, self._task)

    def policy(self, weights: Weights, steps: int) -> PolicyFile:
        """Return the policy; fits its model where the recipe asks for one.

        Args:
            weights: Of the network in training, by name.
            steps: How many made them, of all environments together.

        Raises:
            SpecError: The play that a model is to be fitted to is too short.
        """
        recipe, card = self._recipe, self._card(steps)
        policy = export_policy(card, weights)
        if recipe.model is None:
            return policy
        model = fit_own_model(recipe, policy, self._seed)
        card = msgspec.structs.replace(card, features=recipe.played.features, predictor="learned")
        return export_policy(card, weights, model)

    def require_memory(self) -> None:
        """Refuse, before an environment is made for it, a training that this machine has not the memory for.

        Raises:
            SpecError: It has not.
        """
        layout = self._recipe.control.features.layout(self._task)
        size = max(part.stop for part in layout.values())
        require_memory(self._recipe.ppo, PPOSpaces(observation=size, action=self._task.action))

    def require_room(self, weights: Weights) -> None:
        """Refuse, before the training, a policy that could not be made, or written, after it.

        Raises:
            SpecError: It is too large.
        """
        kept = export_policy(self._card(0), weights).weights
        found = sum(weight.nbytes for weight in kept.values()) + self._model_bytes
        room = MAX_BYTES - _CARD_BYTES
        if found > room:
            problem = f"a policy of {found} bytes: a policy file has room for {room}"
            raise SpecError(problem, key="ppo", hint="choose fewer units, or a smaller model")

    def _card(self, steps: int) -> PolicyCard:
        """Return the card of the policy after so many steps, as it is without a model."""
        recipe, played = self._recipe, self._recipe.played
        return PolicyCard(
            name=recipe.name,
            summary=recipe.summary,
            kind=recipe.ppo.network,
            task=self._task,
            features=recipe.control.features,
            grid=recipe.ppo.grid,
            choose=recipe.choose,
            actuator=played.actuator,
            horizon_ticks=played.horizon,
            fallback=played.fallback,
            training=Training(
                command=self._command,
                seed=self._seed,
                steps=steps,
                versions=self._versions,
                network=as_utf8(recipe.network),
            ),
        )


def as_utf8(text: str) -> str:
    """Return words in which bytes of a path that are no UTF-8 stand as they can be written."""
    return text.encode("utf-8", "backslashreplace").decode()


def _model_bytes(recipe: TrainingRecipe, task: TaskDescription) -> int:
    """Return how large the model will be; refuse, before the training, one that could not be fitted after it."""
    asked, space = recipe.model, task.observation
    if asked is None:
        return 0
    if not (space.kind == "box" and space.dtype.startswith("float")):
        raise SpecError(
            f"{task.name} is seen as {space.dtype}{list(space.shape)}: a model is of floats",
            key="model",
            hint="leave [model] out",
        )
    card = ModelCard(
        task=task.name,
        observation=space,
        action=task.action,
        degree=asked.degree,
        members=asked.members,
        hidden=asked.hidden,
    )
    shapes = tensor_shapes(card)
    terms = shapes["weight"][1]
    least = math.ceil(2 * terms / _FITTED_RATIO)
    if asked.transitions < least:
        problem = f"{asked.transitions}: {terms} terms of degree {asked.degree} need at least {least}"
        raise SpecError(problem, key="model.transitions", hint="log more transitions, or choose a lower degree")
    refuse_beyond_memory(
        2 * 8 * math.floor(_FITTED_RATIO * asked.transitions) * terms,  # all of them, and a member's draw
        f"{asked.transitions} transitions of {terms} terms each",
        "model.transitions",
        "log fewer transitions, or choose a lower degree",
    )
    return 8 * sum(math.prod(shape) for shape in shapes.values())
