"""Policies by name or file: what each one is made of and which tasks it can serve.

::

    a name of RECIPES -----------.
    NAME | NAME-SEED, shipped ---+--find_policy--> Recipe --refusal(task)--> "" | why not
    FILE.safetensors ------------'                        --make(task, run_seed)--> (Policy, Predictor)

To add one that is code: write its file, then its line in ``RECIPES``. One that was trained: ``shipped_policies``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from msgspec import Struct

from netlab.actuator_traits import ACTUATOR_TRAITS
from netlab.agents.cartpole_linear import LinearCartPole
from netlab.agents.cartpole_physics import CartPolePhysics
from netlab.agents.shipped_policies import shipped_names, shipped_path, shipped_policies
from netlab.control.policy import Persistence, Policy, Predictor
from netlab.did_you_mean import did_you_mean
from netlab.errors import SpecError
from netlab.messages import ActuatorName, TaskDescription

if TYPE_CHECKING:
    from netlab.agents.policy_file import PolicyFile

__all__ = ["RECIPES", "Recipe", "find_policy", "make_policy"]


class Recipe(Struct, frozen=True, kw_only=True):
    """How to make a policy.

    Attributes:
        name: As people type it; of a file given by its path, what it calls itself.
        summary: What it does, in one line.
        make: Makes a fresh policy and its predictor for one session of a task; the run's seed, beside it, is what
            draws of a ``sampled`` policy follow from.
        refusal: Says why a task cannot be served; empty where it can.
        file: What its file holds; None of one that is code.
    """

    name: str
    summary: str
    make: Callable[[TaskDescription, int], tuple[Policy, Predictor]]
    refusal: Callable[[TaskDescription], str]
    file: PolicyFile | None = None

    @property
    def sha256(self) -> str:
        """Of its file's bytes, which is read once; empty of one that is code."""
        return "" if self.file is None else self.file.sha256

    def problem_with(self, actuator: ActuatorName) -> str:
        """Say why it cannot be played out so; empty where it can."""
        if ACTUATOR_TRAITS[actuator].asks_again and self.file is not None and self.file.card.remembers_decisions:
            return f"{actuator} asks anew about ticks that were decided, and this policy remembers what it decided"
        return ""

    @property
    def horizon_ticks(self) -> int | None:
        """D that it was made for, perhaps ``ADAPTIVE_HORIZON``; None where that is none, or none in particular."""
        return None if self.file is None else self.file.card.scheduled_ticks

    def serve(self, task: TaskDescription, run_seed: int = 0) -> tuple[Policy, Predictor]:
        """Return a fresh policy for a task, and its predictor.

        Args:
            task: What it is to control.
            run_seed: Of the run, which draws of a ``sampled`` policy follow from.

        Raises:
            SpecError: It cannot serve this task.
        """
        refusal = self.refusal(task)
        if refusal:
            raise SpecError(f"policy {self.name!r} cannot serve: {refusal}", key="policy")
        return self.make(task, run_seed)


def find_policy(name: str) -> Recipe:
    """Return the recipe of this name, or of the policy in this file.

    Args:
        name: As in ``RECIPES``, of a shipped policy, or the path of a policy file, which ends in ``.safetensors``.

    Raises:
        SpecError: There is none, or the file is no policy file.
    """
    recipe = RECIPES.get(name)
    if recipe is not None:
        return recipe
    shipped = shipped_path(name)
    if shipped is None and not name.endswith(".safetensors"):
        known = ", ".join((*RECIPES, *shipped_names()))
        hint = did_you_mean(name, (*RECIPES, *shipped_names(), *shipped_policies()))
        hint = hint or f"one of: {known}, or a file.safetensors"
        raise SpecError(f"no policy is called {name!r:.100}", key="policy", hint=hint)
    from netlab.agents.network_policy import read_recipe  # it asks for a library that policies of code need not

    return read_recipe(name) if shipped is None else read_recipe(shipped, name)


def make_policy(name: str, task: TaskDescription, run_seed: int = 0) -> tuple[Policy, Predictor]:
    """Return a fresh policy of this name for a task, and its predictor.

    Args:
        name: As ``find_policy`` takes it.
        task: What it is to control.
        run_seed: Of the run, which draws of a ``sampled`` policy follow from.

    Raises:
        SpecError: There is no such policy, or it cannot serve this task.
    """
    return find_policy(name).serve(task, run_seed)


def _refuse_all_but_cartpole(task: TaskDescription) -> str:
    """Judge by the spaces too: the name is only the peer's word."""
    if task.name != "CartPole-v1":
        return f"task {task.name!r} is not CartPole-v1"
    seen, act = task.observation, task.action
    if seen.kind != "box" or seen.shape != (4,) or not seen.dtype.startswith("float"):
        return f"observations are {seen.dtype}{list(seen.shape)}, not 4 floats"
    if act.kind != "discrete" or act.n != 2:
        return f"actions are {act.kind} with n={act.n}, not discrete with n=2"
    return ""


RECIPES: dict[str, Recipe] = {
    recipe.name: recipe
    for recipe in (
        Recipe(
            name="linear",
            summary="linear state feedback on the newest observation as it is",
            make=lambda task, run_seed: (LinearCartPole(), Persistence()),
            refusal=_refuse_all_but_cartpole,
        ),
        Recipe(
            name="linear-predict",
            summary="linear state feedback on the state predicted by physics over the pending actions",
            make=lambda task, run_seed: (LinearCartPole(), CartPolePhysics()),
            refusal=_refuse_all_but_cartpole,
        ),
    )
}
