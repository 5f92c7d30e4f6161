"""parity_wrapper: the episodes of one run as the wrapper for learning plays them, tick by tick.

::

    RunPlan --> VirtualNetwork <--action-- policy     episodes 0, 1, ... of the run with that seed
                     `--> TickRecord ...              as the services' tick log has them, but ticks begin at 0
"""

from __future__ import annotations

from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from netlab.actuator_traits import ACTUATOR_TRAITS
from netlab.control.policy import Policy
from netlab.control.values import Value
from netlab.envs.registry import make_task
from netlab.envs.task import Step, Task
from netlab.envs.virtual.options import NetworkOptions
from netlab.envs.virtual.virtual_network import VirtualNetwork
from netlab.lab_impairment import CLEAN
from netlab.messages import horizon_word
from netlab.modes.plan import RunPlan

__all__ = ["EpisodeTick", "play_in_wrapper"]


class EpisodeTick(Struct, frozen=True):
    """What one tick of an episode did.

    Attributes:
        episode: Number of the episode in its run.
        tick: Number of the tick in its episode.
        source: What was played: ``remote``, or which fallback.
        age_ticks: How old the observation behind it was; -1 of a fallback.
        action: What was played; None for neutral.
        reward: What it gave.
    """

    episode: int
    tick: int
    source: str
    age_ticks: int
    action: object
    reward: float


def play_in_wrapper(plan: RunPlan) -> list[EpisodeTick]:
    """Play all episodes of a plan.

    Raises:
        NetlabError: The network is none that the wrapper can do.
    """
    task = _Watched(make_task(plan.task.name, plan.task.rate_hz, plan.options))
    policy, predictor = plan.recipe.serve(task.description, plan.seed)
    env = VirtualNetwork(task, plan.pair or CLEAN, _options(plan), predictor=predictor)
    ticks: list[EpisodeTick] = []
    try:
        for episode in range(plan.episodes):
            _play(env, task, policy, ticks, plan.seed if episode == 0 else None)
    finally:
        env.close()
    return ticks


def _options(plan: RunPlan) -> NetworkOptions:
    horizon = horizon_word(plan.horizon_ticks) if ACTUATOR_TRAITS[plan.actuator].has_horizon else None
    return NetworkOptions(actuator=plan.actuator, horizon=horizon, fallback=plan.fallback)


def _play(env: VirtualNetwork, task: _Watched, policy: Policy, ticks: list[EpisodeTick], seed: int | None) -> None:
    """Play one episode, and add its ticks to the others."""
    policy.reset()
    _, info = env.reset(seed=seed)
    episode, is_over = info["episode"], False
    idle = np.zeros(env.action_space.shape or (), env.action_space.dtype)
    while True:
        if info["ticked"]:
            action, reward = task.last
            ticks.append(EpisodeTick(episode, info["tick"], info["played"], info["age_ticks"], action, reward))
        if is_over:
            return
        question = env.question
        answer = idle if question is None else policy.decide(question)  # what nobody asked for is not looked at
        _, _, terminated, truncated, info = env.step(answer)
        is_over = terminated or truncated


class _Watched:
    """A task that remembers what was applied to it last."""

    def __init__(self, task: Task) -> None:
        self.description = task.description
        self.last: tuple[object, float] = (None, 0.0)
        self._task = task

    def reset(self, seed: int) -> NDArray[Any]:
        return self._task.reset(seed)

    def step(self, action: Value | None) -> Step:
        step = self._task.step(action)
        self.last = (action.tolist() if isinstance(action, np.ndarray) else action, step.reward)
        return step

    def close(self) -> None:
        self._task.close()
