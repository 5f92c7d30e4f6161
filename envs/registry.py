"""Tasks by name, one at a time or as columns: netlab's own, and those of installed packages.

To add one, see docs/adding-an-environment.md.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Mapping

from msgspec import Struct

from netlab.did_you_mean import did_you_mean
from netlab.envs.bound import rate_within
from netlab.envs.cartpole import CartPole
from netlab.envs.doorkey import DoorKey
from netlab.envs.installed_tasks import GROUP, find_installed, installed_names
from netlab.envs.reacher import Reacher
from netlab.envs.task import Task
from netlab.envs.vector.cartpole import CartPoleColumns
from netlab.envs.vector.doorkey import AIDS, DoorKeyColumns
from netlab.envs.vector.reacher import ReacherColumns
from netlab.envs.vector.vector_task import VectorTask, row_count
from netlab.errors import SpecError

__all__ = ["TASKS", "TaskEntry", "find_task", "make_task", "make_vector_task"]

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
        quantities: Name and unit of each number of the observation, for people; none where nobody has named them.
    """

    make: Callable[..., Task]
    rate_hz: float
    columns: Callable[..., VectorTask] | None = None
    options: tuple[str, ...] = ()
    aids: tuple[str, ...] = ()
    has_goal: bool = False
    quantities: tuple[tuple[str, str], ...] = ()


TASKS: dict[str, TaskEntry] = {
    "CartPole-v1": TaskEntry(
        make=CartPole,
        rate_hz=50.0,
        columns=CartPoleColumns,
        options=("push_n",),
        quantities=(("position", "m"), ("velocity", "m/s"), ("angle", "rad"), ("turning", "rad/s")),
    ),
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
        SpecError: No task has this name, it has no such option, the rate is not one a loop can run at, or what
            makes it takes no rate, or not the options that are declared for it.
    """
    entry = find_task(name)
    known = _known(name, options or {}, entry.options, "option")
    _require_parameters(name, entry.make, 1, entry.options)
    task = entry.make(_rate(entry, rate_hz), **known)
    if name not in TASKS and task.description.name != name:
        problem = f"{name!r:.100} describes itself as {task.description.name!r:.100}"
        hint = "policies and edges tell a task by the name in its description: let both be the same"
        raise SpecError(problem, key="task", hint=hint)
    return task


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
        hint = "docs/adding-an-environment.md says how to add one; netlab train does without"
        raise SpecError(f"{name!r} has no vectorised twin", key="task", hint=hint)
    n = row_count(n)
    known = _known(name, options or {}, entry.options, "option") | _known(name, aids or {}, entry.aids, "aid")
    _require_parameters(name, entry.columns, 2, (*entry.options, *entry.aids))
    return entry.columns(n, _rate(entry, rate_hz), **known)


def find_task(name: str) -> TaskEntry:
    """Return how the task of this name is made: netlab's own, else what an installed package declares.

    Raises:
        SpecError: There is none, or what is declared is none.
    """
    entry = TASKS.get(name)
    if entry is not None:
        return entry
    declared = find_installed(name)
    if declared is None:
        names = (*TASKS, *installed_names())
        hint = did_you_mean(name, names) or f"one of: {', '.join(names)}"
        raise SpecError(f"no task is called {name!r:.100}", key="task", hint=hint)
    if not isinstance(declared, TaskEntry):
        problem = f"{name!r:.100} of {GROUP} is a {type(declared).__name__}, not a TaskEntry"
        hint = "declare TaskEntry(make=..., rate_hz=...) of netlab.envs.registry (docs/adding-an-environment.md)"
        raise SpecError(problem, key="task", hint=hint)
    return declared


def _require_parameters(name: str, make: Callable[..., object], numbers: int, options: Collection[str]) -> None:
    """Refuse what could not be called as an entry says, before it is."""
    try:
        signature = inspect.signature(make)
    except ValueError:
        return  # code that does not say what it takes
    what = getattr(make, "__name__", type(make).__name__)
    taken = "a rate in ticks a second" if numbers == 1 else "a number of rows and a rate in ticks a second"
    try:
        signature.bind_partial(*range(numbers))
    except TypeError as error:
        hint = "docs/adding-an-environment.md has one that works"
        raise SpecError(f"{what} of {name} does not take {taken}", key="task", hint=hint) from error
    for option in options:
        try:
            signature.bind_partial(*range(numbers), **{option: 0})
        except TypeError as error:
            hint = f"give it a parameter {option!r}, or leave that out of its TaskEntry"
            problem = f"{what} of {name} does not take {option!r:.100}, which is declared for it"
            raise SpecError(problem, key="task", hint=hint) from error


def _rate(entry: TaskEntry, rate_hz: float | None) -> float:
    return entry.rate_hz if rate_hz is None else rate_within(rate_hz)


def _known(name: str, given: Mapping[str, float], known: Collection[str], what: str) -> dict[str, float]:
    for key in given:
        if key not in known:
            hint = did_you_mean(key, known) or (f"one of: {', '.join(known)}" if known else f"it has no {what}s")
            raise SpecError(f"{name} has no {what} {key!r:.100}", key=key[:100], hint=hint)
    return {key: _whole(value) for key, value in given.items()}


def _whole(value: float) -> float:
    """Return a whole number as one: a command line, and a field of floats in a file, have none."""
    return int(value) if isinstance(value, float) and value.is_integer() and abs(value) <= _MOST_WHOLE else value
