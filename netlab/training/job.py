"""TrainingJob: one recipe, one seed: trained, with a model beside it where asked for, and made a policy file.

::

    recipe --make_environment--> N rows --Trainer--> weights --.
       `------- [model]: its own play, logged --fit_model--> LearnedModel --export--> PolicyFile
"""

from __future__ import annotations

import os
import platform
from collections.abc import Callable
from importlib import metadata

import numpy as np

import netlab
from netlab.agents.policy_file import PolicyFile
from netlab.agents.scalars import Scalars
from netlab.agents.trainer import Trainer, warn_python
from netlab.agents.training_result import TrainingProgress, TrainingResult
from netlab.errors import KernelError, NetlabError
from netlab.training.environments import make_environment
from netlab.training.policy_maker import PolicyMaker
from netlab.training.recipe import TrainingRecipe
from netlab.training.saved_run import RunIdentity, SavedRun

__all__ = ["TrainingJob", "make_environment"]


class TrainingJob:
    """Train one policy.

    Args:
        recipe: What makes it.
        seed: Of everything that is random.
        checkpoint_path: Where the run is saved and resumed from; empty for nowhere.
        report: Told after each iteration.
        warn: Told what went wrong without ending the run.
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
        warn: Callable[[str], None] = warn_python,
        curves: str | os.PathLike[str] = "",
        is_resumed: bool = False,
        command: str = "",
    ) -> None:
        self._maker = PolicyMaker(recipe, seed, command, _versions())
        self._maker.require_memory()
        self._warn = warn
        saved = SavedRun.read(checkpoint_path, recipe, seed) if is_resumed else None
        self._env = make_environment(recipe, seed)
        self._scalars: Scalars | None = None
        try:
            self._scalars = Scalars(curves, 0 if saved is None else saved.result.steps + 1) if curves else None
            self._trainer = Trainer(
                self._env,
                recipe.ppo,
                seed=seed,
                checkpoint_path=checkpoint_path,
                note=RunIdentity.of(recipe).note,
                report=report,
                warn=warn,
                scalars=self._scalars,
                resume=None if saved is None else saved.checkpoint,
            )
            self._maker.require_room(self._trainer.weights)
        except BaseException:
            self._close()
            raise

    @property
    def unsaved(self) -> NetlabError | None:
        """Why the checkpoint does not hold the run as it is now; None where it does."""
        return self._trainer.unsaved

    @property
    def saved_iterations(self) -> int:
        """How many iterations the checkpoint holds; 0 where there is nothing in it."""
        return max(0, self._trainer.saved_iteration)

    def stop(self, reason: str) -> None:
        """End the training after the present iteration, saved; may be called from a signal handler."""
        self._trainer.stop(reason)

    def train(self) -> TrainingResult:
        """Train to the end or until stopped.

        Raises:
            LearningError: The run diverged; its last good checkpoint is kept.
        """
        try:
            return self._trainer.run()
        finally:
            self._close()

    def export(self, result: TrainingResult) -> PolicyFile:
        """Return the policy as it is after training; fits its model where the recipe asks for one.

        Args:
            result: How the run went.

        Raises:
            SpecError: The play that a model is to be fitted to is too short.
        """
        weights = {name: np.array(weight) for name, weight in self._trainer.weights.items()}
        return self._maker.policy(weights, result.steps)

    def discard_checkpoint(self) -> None:
        """Remove the checkpoint where this run has written it: the policy is what it was for."""
        if self._trainer.file is not None:
            self._trainer.file.remove()

    def _close(self) -> None:
        """Close what the training needed; curves that cannot be written to their end cost nothing else."""
        self._env.close()
        if self._scalars is not None:
            try:
                self._scalars.close()
            except KernelError as error:
                self._warn(str(error))


def _versions() -> dict[str, str]:
    return {
        "netlab": netlab.__version__,
        "numpy": np.__version__,
        "python": platform.python_version(),
        "torch": metadata.version("torch"),
    }
