"""TrainingJob: one recipe, one seed: trained, with a model beside it where asked for, and made a policy file.

::

    recipe --environment--> VectorNetwork --Trainer--> weights --.
       `------- [model]: its own play, logged --fit_model--> LearnedModel --export--> PolicyFile
"""

from __future__ import annotations

import hashlib
import math
import os
import platform
from collections.abc import Callable
from importlib import metadata

import msgspec
import numpy as np
from msgspec import Struct

import netlab
from netlab.agents.checkpoint import Checkpoint, read_checkpoint
from netlab.agents.model_card import ModelCard
from netlab.agents.model_columns import tensor_shapes
from netlab.agents.policy_card import PolicyCard, Training
from netlab.agents.policy_export import export_policy
from netlab.agents.policy_file import MAX_BYTES, PolicyFile
from netlab.agents.scalars import Scalars
from netlab.agents.trainer import Trainer, TrainingProgress, TrainingResult
from netlab.envs.registry import make_vector_task
from netlab.envs.vector.network import VectorNetwork
from netlab.errors import SpecError
from netlab.messages import TaskDescription
from netlab.training.network import training_network
from netlab.training.own_play import fit_own_model
from netlab.training.recipe import TrainingRecipe

__all__ = ["Trained", "TrainingJob", "make_environment"]

_CARD_BYTES = 1 << 20
"""Room in a policy file for all that is no weight."""
_FITTED_RATIO = 0.8
"""At most this share of the transitions is fitted to; the rest measures errors."""


class Trained(Struct, frozen=True):
    """What came of a job.

    Attributes:
        policy: The policy; of a run that was stopped as it was then.
        result: How the run went.
    """

    policy: PolicyFile
    result: TrainingResult


class TrainingJob:
    """Train one policy.

    Args:
        recipe: What makes it.
        seed: Of everything that is random.
        checkpoint_path: Where the run is saved and resumed from; empty for nowhere.
        report: Told after each iteration.
        curves: Folder for TensorBoard; empty for none.
        is_resumed: Go on from the checkpoint.
        command: What was typed, for the policy's card; empty for what would make the same.

    Raises:
        NetlabError: The recipe cannot be run, or there is nothing to resume from.
    """

    def __init__(
        self,
        recipe: TrainingRecipe,
        seed: int,
        *,
        checkpoint_path: str | os.PathLike[str] = "",
        report: Callable[[TrainingProgress], None] = lambda progress: None,
        curves: str | os.PathLike[str] = "",
        is_resumed: bool = False,
        command: str = "",
    ) -> None:
        self._recipe = recipe
        self._seed = seed
        self._command = command or f"netlab train {recipe.name} --seed {seed}"
        self._task = _description(recipe)
        model_bytes = _model_bytes(recipe, self._task)
        note = f"{recipe.name} {_fingerprint(recipe)}"
        resume = _matching(checkpoint_path, note) if is_resumed else None
        self._env = make_environment(recipe, seed)
        self._scalars = Scalars(curves) if curves else None
        self._trainer = Trainer(
            self._env,
            recipe.ppo,
            seed=seed,
            checkpoint_path=checkpoint_path,
            note=note,
            report=report,
            scalars=self._scalars,
            resume=resume,
        )
        self._require_room(model_bytes)

    def stop(self, reason: str) -> None:
        """End the training after the present iteration, saved; may be called from a signal handler."""
        self._trainer.stop(reason)

    def run(self) -> Trained:
        """Train, and make the policy file.

        Raises:
            LearningError: The run diverged; its last good checkpoint is kept.
        """
        result = self.train()
        return Trained(self.export(result), result)

    def train(self) -> TrainingResult:
        """Train to the end or until stopped.

        Raises:
            LearningError: The run diverged; its last good checkpoint is kept.
        """
        try:
            return self._trainer.run()
        finally:
            if self._scalars is not None:
                self._scalars.close()
            self._env.close()

    def export(self, result: TrainingResult) -> PolicyFile:
        """Return the policy as it is after training; fits its model where the recipe asks for one.

        Args:
            result: How the run went.

        Raises:
            SpecError: The play that a model is to be fitted to is too short.
        """
        recipe, card = self._recipe, self._card(result.steps)
        weights = {name: np.array(weight) for name, weight in self._trainer.weights.items()}
        policy = export_policy(card, weights)
        if recipe.model is None:
            return policy
        model = fit_own_model(recipe, policy, self._seed)
        card = msgspec.structs.replace(card, features=recipe.played.features, predictor="learned")
        return export_policy(card, weights, model)

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
            horizon_ticks=played.horizon if isinstance(played.horizon, int) else None,
            training=Training(
                command=self._command,
                seed=self._seed,
                steps=steps,
                versions=_versions(),
                network=recipe.network,
            ),
        )

    def _require_room(self, model_bytes: int) -> None:
        """Refuse, before the training, a policy that could not be made, or written, after it."""
        weights = export_policy(self._card(0), self._trainer.weights).weights
        found, room = sum(weight.nbytes for weight in weights.values()) + model_bytes, MAX_BYTES - _CARD_BYTES
        if found > room:
            problem = f"a policy of {found} bytes: a policy file has room for {room}"
            raise SpecError(problem, key="ppo", hint="choose fewer units, or a smaller model")


def make_environment(recipe: TrainingRecipe, seed: int) -> VectorNetwork:
    """Return the environments that a recipe trains in.

    Args:
        recipe: What trains.
        seed: Of the networks that are drawn.

    Raises:
        NetlabError: There is no such task or network.
    """
    task = make_vector_task(
        recipe.task, recipe.ppo.environments, recipe.control.rate_hz, options=recipe.options, aids=recipe.aids
    )
    network = training_network(recipe.network, seed)
    return VectorNetwork(task, network, recipe.control, is_privileged=recipe.ppo.privileged_critic)


def _description(recipe: TrainingRecipe) -> TaskDescription:
    return make_vector_task(recipe.task, 1, recipe.control.rate_hz, options=recipe.options).description


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
    return 8 * sum(math.prod(shape) for shape in shapes.values())


def _fingerprint(recipe: TrainingRecipe) -> str:
    """Return what tells recipes apart that train otherwise; what is done with the weights after it may change."""
    trained = msgspec.structs.replace(recipe, summary="", play=None, model=None, choose="greedy")
    return hashlib.sha256(msgspec.json.encode(trained, order="sorted")).hexdigest()[:16]


def _matching(path: str | os.PathLike[str], note: str) -> Checkpoint:
    """Return the checkpoint of a run of the same recipe.

    Raises:
        SpecError: There is none, or it is another recipe's.
    """
    checkpoint = read_checkpoint(path)
    if checkpoint.card.note != note:
        hint = "resume with the recipe, --steps and --network that it was begun with, or begin a new run"
        raise SpecError(
            f"is of another recipe: {checkpoint.card.note!r:.100}, not {note!r:.100}", path, "resume", hint
        )
    return checkpoint


def _versions() -> dict[str, str]:
    return {
        "netlab": netlab.__version__,
        "numpy": np.__version__,
        "python": platform.python_version(),
        "torch": metadata.version("torch"),
    }
