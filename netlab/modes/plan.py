"""RunPlan: a request with every name looked up and every number settled; what any mode plays.

::

    RunRequest --RunPlan.of--> RunPlan --Mode.play--> Played
       policy FILE | name        what makes it, task, actuator, D

What the request leaves open ``settle_control`` settles. The policy's file is read here, once.
"""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct

from netlab.agents.policy import Recipe
from netlab.agents.policy_card import PolicyCard
from netlab.envs.registry import make_task
from netlab.episode.run import placed_policy
from netlab.errors import ProfileError, SpecError
from netlab.lab_impairment import CLEAN
from netlab.messages import ActuatorName, FallbackName, TaskDescription
from netlab.modes.request import Between, RunRequest
from netlab.scoring.entrant import Entrant, find_entrant
from netlab.settled_control import AskedControl, settle_control
from netlab.traces.pair import ProfilePair
from netlab.traces.presets import parse_preset

__all__ = ["RunPlan"]


class RunPlan(Struct, frozen=True, kw_only=True):
    """What is played.

    Attributes:
        policy: Name of the policy, or the absolute path of its file.
        recipe: What makes it, its file's contents in it where it has one.
        task: What it controls, at the rate it was made for.
        options: Numbers that change the task, by name.
        network: The network as it was asked for; empty for a clean link.
        pair: What that is; None for a clean link.
        actuator: ``newest``, ``scheduled``, ``planned`` or ``stop-and-wait``.
        horizon_ticks: D; ``ADAPTIVE_HORIZON``: the agent chooses it; 1 where the actuator has none.
        fallback: ``neutral`` or ``hold``.
        episodes: How many.
        seed: Of the links and of the episodes' seeds.
    """

    policy: str
    recipe: Recipe
    task: TaskDescription
    options: dict[str, float]
    network: str
    pair: ProfilePair | None
    actuator: ActuatorName
    horizon_ticks: int
    fallback: FallbackName
    episodes: int
    seed: int

    @classmethod
    def of(cls, request: RunRequest, between: Between) -> RunPlan:
        """Return the plan of a request.

        Args:
            request: What is asked for.
            between: What stands between environment and policy where it is played.

        Raises:
            SpecError: There is no such policy or task, one is not for the other, or options contradict each other.
            ProfileError: The network is none, or no D fits it.
            FeatureMissing: The task needs a library that is not installed.
        """
        policy = placed_policy(request.policy, Path())
        entrant = find_entrant(policy)
        task, pair = _served_task(entrant, request), _pair(request.network)
        asked = AskedControl(
            actuator=request.actuator, horizon_ticks=request.horizon_ticks, fallback=request.fallback
        )
        known = None if between == "network" else pair or CLEAN
        control = settle_control(entrant, asked, known, task.rate_hz)
        return cls(
            policy=policy,
            recipe=entrant.recipe,
            task=task,
            options=request.options,
            network=request.network,
            pair=pair,
            actuator=control.actuator,
            horizon_ticks=1 if control.horizon_ticks is None else control.horizon_ticks,
            fallback=control.fallback,
            episodes=request.episodes,
            seed=request.seed,
        )

    @property
    def name(self) -> str:
        """What the policy is called."""
        return self.recipe.name

    @property
    def card(self) -> PolicyCard | None:
        """What the policy's file says of it; None of one that is code."""
        return None if self.recipe.file is None else self.recipe.file.card


def _served_task(entrant: Entrant, request: RunRequest) -> TaskDescription:
    """Return the task, which the policy serves."""
    name = request.task or entrant.task
    task = make_task(name, entrant.rate_hz if name == entrant.task else None, request.options)
    task.close()
    refusal = entrant.recipe.refusal(task.description)
    if refusal:
        problem = f"policy {entrant.name!r} cannot serve: {refusal}"
        raise SpecError(problem, key="--task" if request.task else "policy", hint=f"it is for {entrant.task}")
    return task.description


def _pair(words: str) -> ProfilePair | None:
    if not words:
        return None
    if words.startswith("trace="):
        hint = "make a profile of it (netlab trace fit), or name it as trace of a [[link]] (docs/labs.md)"
        raise SpecError(f"{words[:80]!r}: a trace is no network of a run", key="--network", hint=hint)
    pair = parse_preset(words)
    if pair.loss_ratio_mean >= 1.0:
        hint = "for outages use a schedule with steps of loss = 100%"
        raise ProfileError(f"--network {words[:80]}: one direction loses everything", hint)
    return pair
