"""Entrant: a policy that is to be scored, from a file or by its name, with the task it is for.

::

    FILE.safetensors | NAME --find_policy--> Recipe --.
    PolicyFile, in memory ---------------------------+--> Entrant --make(task, seed)--> (Policy, Predictor)
"""

from __future__ import annotations

import os

from msgspec import Struct

from netlab.agents.network_policy import file_recipe
from netlab.agents.policy import Recipe, find_policy
from netlab.agents.policy_file import PolicyFile
from netlab.control.feature_spec import FeatureSpec
from netlab.control.policy import Persistence, Policy, Predictor
from netlab.envs.registry import TASKS
from netlab.errors import SpecError
from netlab.messages import ActuatorName, FallbackName, TaskDescription
from netlab.scoring.course import describe

__all__ = ["Entrant", "find_entrant"]


class Entrant(Struct, frozen=True, kw_only=True):
    """A policy to be scored.

    Attributes:
        recipe: What makes it, its file's contents in it where it has one.
        task: Name of what it controls.
        rate_hz: Ticks a second it is for; None for the task's own.
    """

    recipe: Recipe
    task: str
    rate_hz: float | None = None

    @property
    def name(self) -> str:
        """What it is called."""
        return self.recipe.name

    @property
    def file(self) -> PolicyFile | None:
        """What its file holds; None of one that is code."""
        return self.recipe.file

    @property
    def actuator(self) -> ActuatorName:
        """What plays its actions unless told otherwise: as its file says; of code, scheduled where it predicts."""
        if self.file is not None:
            return self.file.card.actuator
        _, predictor = self.make(describe(self.task))
        return "newest" if isinstance(predictor, Persistence) else "scheduled"

    @property
    def fallback(self) -> FallbackName:
        """What a tick without an action plays unless told otherwise."""
        return "neutral" if self.file is None else self.file.card.fallback

    @property
    def features(self) -> FeatureSpec:
        """What it is shown of a question."""
        return FeatureSpec() if self.file is None else self.file.card.features

    def check(self, task: TaskDescription) -> None:
        """Refuse a task that is not the one the policy was made for.

        Raises:
            SpecError: Says what differs.
        """
        if self.file is None:
            return
        for what, made_for, there_is in (
            ("observations", self.file.card.task.observation, task.observation),
            ("actions", self.file.card.task.action, task.action),
        ):
            if made_for != there_is:
                raise SpecError(
                    f"{self.name} cannot play {task.name}: its {what} are {made_for}, the task's {there_is}",
                    key="policy",
                    hint="train one for this task: netlab train --list",
                )

    def make(self, task: TaskDescription, run_seed: int = 0) -> tuple[Policy, Predictor]:
        """Return a fresh policy and its predictor, for the episodes of one run.

        Args:
            task: What is controlled.
            run_seed: Of the run: what a ``sampled`` policy draws follows from it.
        """
        return self.recipe.make(task, run_seed)


def find_entrant(policy: PolicyFile | str | os.PathLike[str]) -> Entrant:
    """Return the policy of a file, or the one with this name.

    Raises:
        SpecError: There is none, or the file is no policy file.
    """
    if not isinstance(policy, PolicyFile | str | os.PathLike):
        hint = "a policy's name (netlab agent policies), a path, or a PolicyFile"
        raise SpecError(f"{type(policy).__name__}: no policy", key="policy", hint=hint)
    recipe = file_recipe(policy) if isinstance(policy, PolicyFile) else find_policy(os.fspath(policy))
    if recipe.file is None:
        return Entrant(recipe=recipe, task=_first_task(recipe))
    task = recipe.file.card.task
    return Entrant(recipe=recipe, task=task.name, rate_hz=task.rate_hz)


def _first_task(recipe: Recipe) -> str:
    """Return the first task that a policy without a file does not refuse."""
    for task in TASKS:
        if not recipe.refusal(describe(task)):
            return task
    raise SpecError(f"{recipe.name} controls no task that is known here: {', '.join(TASKS)}", key="policy")
