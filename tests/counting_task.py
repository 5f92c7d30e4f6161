"""A task that takes turns and a policy for it, registered for a test: the right action is the turn's number."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from netlab.agents.policy import RECIPES, Recipe
from netlab.control import Persistence, Question, Value
from netlab.envs.registry import TASKS, TaskEntry
from netlab.envs.task import Step
from netlab.messages import Space, TaskDescription

__all__ = ["Count", "use_counting_task"]


class Count:
    """Counts its actions, whatever they are, and ends after so many; a tick of neutral changes nothing."""

    def __init__(self, rate_hz: float, turns: int) -> None:
        self.description = TaskDescription(
            name="Count",
            rate_hz=rate_hz,
            observation=Space(kind="box", dtype="int32", shape=(1,)),
            action=Space(kind="discrete", dtype="int32", n=1000),
            pace="turn-based",
        )
        self._turns = turns
        self._taken = 0

    def reset(self, seed: int) -> NDArray[Any]:
        self._taken = 0
        return np.zeros(1, np.int32)

    def step(self, action: Value | None) -> Step:
        self._taken += action is not None
        seen = np.array([self._taken], np.int32)
        return Step(seen, float(action is not None), self._taken >= self._turns, False)

    def close(self) -> None:
        pass


class Counter:
    """Decides 0, 1, 2 ... whatever it sees: only a protocol that keeps order makes them the turns."""

    def __init__(self) -> None:
        self._next = 0

    def decide(self, question: Question) -> int:
        self._next += 1
        return self._next - 1

    def reset(self) -> None:
        self._next = 0


def use_counting_task(monkeypatch: pytest.MonkeyPatch, turns: int) -> None:
    """Register the task ``Count`` and the policy ``counter``."""
    monkeypatch.setitem(TASKS, "Count", TaskEntry(make=lambda rate_hz: Count(rate_hz, turns), rate_hz=10.0))
    recipe = Recipe(
        name="counter", summary="", make=lambda task, run_seed: (Counter(), Persistence()), refusal=lambda task: ""
    )
    monkeypatch.setitem(RECIPES, "counter", recipe)
