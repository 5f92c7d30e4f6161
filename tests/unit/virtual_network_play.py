"""Plays a policy behind VirtualNetwork and writes down each tick; for tests alone."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from netlab.control.feature_spec import FeatureSpec
from netlab.control.policy import Policy
from netlab.control.question import Question
from netlab.control.values import Value
from netlab.envs.task import Step, Task
from netlab.envs.virtual.virtual_network import VirtualNetwork

MAX_STEPS = 20_000


class PlayedTick(NamedTuple):
    """What one tick did."""

    tick: int
    source: str
    age_ticks: int
    action: object
    reward: float


RICH = FeatureSpec(stack=3, actions=4, age=True, acknowledgement=5, network=True)


class Remembering:
    """Decides at random and remembers what it was asked and what it said."""

    def __init__(self, seed: int = 0, actions: int = 2) -> None:
        self._rng = np.random.default_rng(seed)
        self._actions = actions
        self.asked: list[Question] = []
        self.said: list[Value] = []

    def decide(self, question: Question) -> Value:
        self.asked.append(question)
        self.said.append(int(self._rng.integers(self._actions)))
        return self.said[-1]

    def reset(self) -> None:
        self.asked.clear()
        self.said.clear()


class Watched:
    """A task that remembers what was applied to it."""

    def __init__(self, task: Task) -> None:
        self._task = task
        self.description = task.description
        self.applied: list[tuple[object, float]] = []

    def reset(self, seed: int) -> Any:
        self.applied.clear()
        return self._task.reset(seed)

    def step(self, action: Value | None) -> Step:
        step = self._task.step(action)
        self.applied.append((action.tolist() if isinstance(action, np.ndarray) else action, step.reward))
        return step

    def close(self) -> None:
        self._task.close()


def play_episode(
    env: VirtualNetwork, watched: Watched, policy: Policy, seed: int | None = None
) -> tuple[list[PlayedTick], list[dict[str, Any]]]:
    """Return the ticks of one episode, and the info of the reset and of each step."""
    _, info = env.reset(seed=seed)
    policy.reset()
    infos, ticks = [info], []

    def note() -> None:
        if infos[-1]["ticked"]:
            assert infos[-1]["tick"] == len(ticks), "a step makes one tick, and they follow one another"
            action, reward = watched.applied[-1]
            ticks.append(PlayedTick(len(ticks), infos[-1]["played"], infos[-1]["age_ticks"], action, reward))
        assert len(watched.applied) == len(ticks)

    note()
    for _ in range(MAX_STEPS):
        question = env.question
        assert (question is not None) == infos[-1]["asked"]
        action = env.action_space.sample() if question is None else policy.decide(question)
        _, _, terminated, truncated, info = env.step(action)
        infos.append(info)
        note()
        if terminated or truncated:
            return ticks, infos
    raise AssertionError("the episode does not end")
