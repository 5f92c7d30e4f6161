"""Tasks by name, one at a time or as columns. To add one, see docs/adding-an-environment.md."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

from msgspec import Struct

from netlab.did_you_mean import did_you_mean
from netlab.envs.cartpole import CartPole
from netlab.envs.doorkey import DoorKey
from netlab.envs.reacher import Reacher
from netlab.envs.task import MAX_RATE_HZ, Task
from netlab.envs.vector.cartpole import CartPoleColumns
from netlab.envs.vector.doorkey import AIDS, DoorKeyColumns
from netlab.envs.vector.reacher import ReacherColumns
from netlab.envs.vector.vector_task import VectorTask
from netlab.errors import SpecError
from netlab.traces.quantity import shown

__all__ = ["TASKS", "TaskEntry", "find_task", "make_task", "make_vector_task"]

_MAX_ROWS = 1 << 16
_MOST_WHOLE = 2.0**53
"""Up to here a float holds every whole number."""


class TaskEntry(Struct, frozen=True, kw_only=True):
    """How a task is made.

    Attributes:
        make: Takes a rate in ticks a second, and options by name.
        rate_hz: The rate where nobody asks for another: the task's real time.
        columns: Takes a number of rows, a rate, and options by name; None where there is no vectorised twin.
        options: Names of the numbers that change the task.
        aids: Names of the numbers that make its twin easier to learn, for training alone.
        has_goal: Whether its own rules end an episode at its goal alone: what is terminated has succeeded.
    """

    make: Callable[..., Task]
    rate_hz: float
    columns: Callable[..., VectorTask] | None = None
    options: tuple[str, ...] = ()
    aids: tuple[str, ...] = ()
    has_goal: bool = False


TASKS: dict[str, TaskEntry] = {
    "CartPole-v1": TaskEntry(make=CartPole, rate_hz=50.0, columns=CartPoleColumns, options=("push_n",)),
    "MiniGrid-DoorKey-8x8-v0": TaskEntry(
        make=DoorKey,
        rate_hz=10.0,
        columns=DoorKeyColumns,
        options=("limit_ticks",),
        aids=AIDS,
        has_goal=True,
    ),
    "netlab/Reacher-v0": TaskEntry(make=Reacher, rate_hz=25.0, columns=ReacherColumns),
}


def make_task(name: str, rate_hz: float | None = None, options: Mapping[str, float] | None = None) -> Task:
    """Return a new task.

    Args:
        name: Its name.
        rate_hz: Ticks a second; None for the task's own rate.
        options: Numbers that change the task, by name: ``push_n`` of CartPole, ``limit_ticks`` of DoorKey.

    Raises:
        FeatureMissing: The task needs a library that is not installed.
        SpecError: No task has this name, it has no such option, or the rate is not one a loop can run at.
    """
    entry = find_task(name)
    return entry.make(_rate(entry, rate_hz), **_known(name, options or {}, entry.options, "option"))


def make_vector_task(
    name: str,
    n: int,
    rate_hz: float | None = None,
    options: Mapping[str, float] | None = None,
    aids: Mapping[str, float] | None = None,
) -> VectorTask:
    """Return ``n`` rows of a task, equal to as many single ones with the same options.

    Args:
        name: The task's name.
        n: Number of rows.
        rate_hz: Ticks a second; None for the task's own rate.
        options: Numbers that change the task, by name, as for ``make_task``.
        aids: Numbers that make it easier to learn, by name; only for training, and no longer the single task.

    Raises:
        SpecError: No task has this name, it has no twin, no such option or aid, or a number is out of range.
    """
    entry = find_task(name)
    if entry.columns is None:
        raise SpecError(
            f"{name!r} has no vectorised twin",
            key="task",
            hint="docs/adding-an-environment.md says how to add one",
        )
    if not 1 <= n <= _MAX_ROWS:
        raise SpecError(f"{n}: must be 1 .. {_MAX_ROWS}", key="n")
    known = _known(name, options or {}, entry.options, "option")
    return entry.columns(n, _rate(entry, rate_hz), **known, **_known(name, aids or {}, entry.aids, "aid"))


def find_task(name: str) -> TaskEntry:
    """Return how the task of this name is made.

    Raises:
        SpecError: There is none.
    """
    entry = TASKS.get(name)
    if entry is None:
        hint = did_you_mean(name, TASKS) or f"one of: {', '.join(TASKS)}"
        raise SpecError(f"no task is called {name!r:.100}", key="task", hint=hint)
    return entry


def _rate(entry: TaskEntry, rate_hz: float | None) -> float:
    if rate_hz is None:
        return entry.rate_hz
    if not 0.0 < rate_hz <= MAX_RATE_HZ:
        raise SpecError(f"{shown(rate_hz)}: must be above 0 and at most {MAX_RATE_HZ:g}", key="rate_hz")
    return rate_hz


def _known(name: str, given: Mapping[str, float], known: Collection[str], what: str) -> Mapping[str, float]:
    for key in given:
        if key not in known:
            hint = did_you_mean(key, known) or (f"one of: {', '.join(known)}" if known else f"it has no {what}s")
            raise SpecError(f"{name} has no {what} {key!r:.100}", key=key[:100], hint=hint)
    return {key: _whole(value) for key, value in given.items()}


def _whole(value: float) -> float:
    """Return a whole number as one: a command line, and a field of floats in a file, have none."""
    return int(value) if isinstance(value, float) and value.is_integer() and abs(value) <= _MOST_WHOLE else value
