"""Tasks by name. To add one, see docs/adding-an-environment.md."""

from __future__ import annotations

import math
from collections.abc import Callable

from netlab.did_you_mean import did_you_mean
from netlab.envs.cartpole import CartPole
from netlab.envs.config import DEFAULT_RATE_HZ
from netlab.envs.task import Task
from netlab.errors import SpecError

__all__ = ["TASKS", "find_task", "make_task"]

TASKS: dict[str, Callable[[float], Task]] = {"CartPole-v1": CartPole}
"""Name -> what makes the task for a rate in ticks a second."""

_MAX_RATE_HZ = 100_000.0


def make_task(name: str, rate_hz: float = DEFAULT_RATE_HZ) -> Task:
    """Return a new task.

    Raises:
        SpecError: No task has this name, or the rate is not one a loop can run at.
    """
    if not (math.isfinite(rate_hz) and 0.0 < rate_hz <= _MAX_RATE_HZ):
        raise SpecError(f"{rate_hz}: must be above 0 and at most {_MAX_RATE_HZ:g}", key="rate_hz")
    return find_task(name)(rate_hz)


def find_task(name: str) -> Callable[[float], Task]:
    """Return what makes the task of this name.

    Raises:
        SpecError: There is none.
    """
    make = TASKS.get(name)
    if make is None:
        hint = did_you_mean(name, TASKS) or f"one of: {', '.join(TASKS)}"
        raise SpecError(f"no task is called {name!r:.100}", key="task", hint=hint)
    return make
