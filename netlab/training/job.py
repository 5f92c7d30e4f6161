"""TrainingJob: one recipe, one seed: trained, with a model beside it where asked for, and made a policy file.

::

    recipe --environment--> VectorNetwork --Trainer--> weights --.
       `------- [model]: its own play, logged --fit_model--> LearnedModel --export--> PolicyFile
"""

from __future__ import annotations

import hashlib
import os
import platform
from collections.abc import Callable
from importlib import metadata

import msgspec
import numpy as np
from msgspec import Struct

import netlab
from netlab.agents.checkpoint import Checkpoint, read_checkpoint
from netlab.agents.policy_card import PolicyCard, Training
from netlab.agents.policy_export import export_policy
from netlab.agents.policy_file import PolicyFile
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
        _require_predictable(recipe, self._task)
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
        recipe, played = self._recipe, self._recipe.played
        weights = {name: np.array(weight) for name, weight in self._trainer.weights.items()}
        card = PolicyCard(
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
                steps=result.steps,
                versions=_versions(),
                network=recipe.network,
            ),
        )
        policy = export_policy(card, weights)
        if recipe.model is None:
            return policy
        model = fit_own_model(recipe, policy, self._seed)
        card = msgspec.structs.replace(card, features=played.features, predictor="learned")
        return export_policy(card, weights, model)


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


def _require_predictable(recipe: TrainingRecipe, task: TaskDescription) -> None:
    """Refuse, before the training, a model of what no model can be of."""
    space = task.observation
    if recipe.model is not None and not (space.kind == "box" and space.dtype.startswith("float")):
        raise SpecError(
            f"{task.name} is seen as {space.dtype}{list(space.shape)}: a model is of floats",
            key="model",
            hint="leave [model] out",
        )


def _fingerprint(recipe: TrainingRecipe) -> str:
    return hashlib.sha256(msgspec.json.encode(recipe, order="sorted")).hexdigest()[:16]


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
