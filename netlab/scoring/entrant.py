"""Entrant: a policy that is to be scored, from a file or by its name, with the task it is for.

::

    FILE.safetensors | PolicyFile --.
    name ---------------------------+--find_entrant--> Entrant --make(task, seed)--> (Policy, Predictor)
"""

from __future__ import annotations

import os
from typing import Literal

from msgspec import Struct

from netlab.agents.network_policy import NetworkPolicy, single_predictor
from netlab.agents.policy import Recipe, find_policy
from netlab.agents.policy_file import SUFFIX, PolicyFile, read_policy
from netlab.control.policy import Persistence, Policy, Predictor
from netlab.envs.registry import TASKS
from netlab.envs.virtual.options import NetworkOptions
from netlab.errors import SpecError
from netlab.messages import TaskDescription
from netlab.scoring.course import describe

__all__ = ["Entrant", "find_entrant"]


class Entrant(Struct, frozen=True, kw_only=True):
    """A policy to be scored: either out of a file, or what a name makes.

    Attributes:
        name: Of the policy.
        task: Name of what it controls.
        rate_hz: Ticks a second it is for; None for the task's own.
        file: What its file holds.
        recipe: What makes it, where it has no file.
    """

    name: str
    task: str
    rate_hz: float | None = None
    file: PolicyFile | None = None
    recipe: Recipe | None = None

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
        if self.file is not None:
            policy = NetworkPolicy(self.file.card, self.file.weights, task, run_seed)
            return policy, single_predictor(self.file)
        assert self.recipe is not None
        return self.recipe.make(task, run_seed)

    @property
    def played(self) -> NetworkOptions:
        """How it is to be played unless told otherwise: as its file says; by name scheduled where it predicts."""
        if self.file is not None:
            card = self.file.card
            if card.actuator != "scheduled":
                return NetworkOptions(actuator=card.actuator, features=card.features)
            horizon: int | Literal["adaptive"] = card.horizon_ticks or "adaptive"
            return NetworkOptions(actuator="scheduled", horizon=horizon, features=card.features)
        _, predictor = self.make(describe(self.task))
        if isinstance(predictor, Persistence):
            return NetworkOptions()
        return NetworkOptions(actuator="scheduled", horizon="adaptive")


def find_entrant(policy: PolicyFile | str | os.PathLike[str]) -> Entrant:
    """Return the policy of a file, or the one with this name.

    Raises:
        SpecError: There is none, or the file is no policy file.
    """
    if not isinstance(policy, PolicyFile):
        words = os.fspath(policy)
        if not words.endswith(SUFFIX):
            return _named(find_policy(words))
        policy = read_policy(words)
    card = policy.card
    return Entrant(name=card.name, task=card.task.name, rate_hz=card.task.rate_hz, file=policy)


def _named(recipe: Recipe) -> Entrant:
    """Return a policy without a file; its task is the first one that it does not refuse."""
    for task in TASKS:
        if not recipe.refusal(describe(task)):
            return Entrant(name=recipe.name, task=task, recipe=recipe)
    raise SpecError(f"{recipe.name} controls no task that is known here: {', '.join(TASKS)}", key="policy")
