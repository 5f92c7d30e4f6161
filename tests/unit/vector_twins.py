"""Plays a vectorised task beside as many single ones and demands the same bits of both at every tick."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from netlab.control.values import Value
from netlab.envs.task import Task
from netlab.envs.vector.vector_task import VectorTask

Decide = Callable[[Any, np.ndarray, np.random.Generator], Value]


class Played(NamedTuple):
    ticks: int
    terminated: int
    truncated: int
    neutral: int
    idle: int


def play_both(columns: VectorTask, tasks: list[Any], decide: Decide, ticks: int, seed: int) -> Played:
    """Play random masks, neutral ticks and resets; ``decide`` chooses from the single task and its observation.

    Rows whose episode has ended wait for their reset, one tick or some, and keep what they had.
    """
    n = columns.n
    rng = np.random.default_rng(seed)
    assert len(tasks) == n
    assert columns.description == tasks[0].description
    on = np.ones(n, bool)
    next_seed = seed * 1000
    seeds = next_seed + np.arange(n)
    columns.reset(on, seeds)
    seen = [task.reset(int(one)) for task, one in zip(tasks, seeds, strict=True)]
    next_seed += n
    box = columns.description.action.kind == "box"
    actions = np.zeros((n, *columns.description.action.shape), np.float32 if box else np.int64)
    counts = dict.fromkeys(Played._fields, 0)
    ended = np.zeros(n, bool)
    for tick in range(ticks):
        _agree(columns, tasks, seen, None, on)
        active, neutral = (rng.random(n) < 0.9) & ~ended, rng.random(n) < 0.15
        for row in range(n):
            actions[row] = decide(tasks[row], seen[row], rng) if active[row] and not neutral[row] else 10**6
        before = _snapshot(columns)
        columns.step(actions, neutral, active)
        steps = {}
        for row in np.flatnonzero(active).tolist():
            action = None if neutral[row] else (actions[row].copy() if box else int(actions[row]))
            step = steps[row] = tasks[row].step(action)
            seen[row] = step.observation
            ended[row] = step.terminated or step.truncated
            counts["ticks"] += 1
            counts["terminated"] += step.terminated
            counts["truncated"] += step.truncated
            counts["neutral"] += bool(neutral[row])
        counts["idle"] += int((~active).sum())
        _agree(columns, tasks, seen, steps, active)
        for then, now in zip(before, _snapshot(columns), strict=True):
            assert then[~active].tobytes() == now[~active].tobytes()
        seeds = next_seed + np.arange(n)
        next_seed += n
        fresh = ended & (rng.random(n) < 0.7)
        if tick % 2:
            columns.prepare(seeds[fresh])
        columns.reset(fresh, seeds)
        ended &= ~fresh
        for row in np.flatnonzero(fresh).tolist():
            seen[row] = tasks[row].reset(int(seeds[row]))
            assert columns.rewards[row] == 0.0
            assert not columns.terminated[row]
            assert not columns.truncated[row]
    return Played(**counts)


def _agree(columns: VectorTask, tasks: list[Any], seen: list[Any], steps: Any, rows: np.ndarray) -> None:
    for row in np.flatnonzero(rows).tolist():
        assert columns.observations.dtype == seen[row].dtype
        assert columns.observations[row].tobytes() == seen[row].tobytes()
        assert columns.state.dtype == tasks[row].state.dtype == np.float32
        assert columns.state[row].tobytes() == tasks[row].state.tobytes()
        if steps is not None:
            step = steps[row]
            flags = (step.reward, step.terminated, step.truncated)
            assert (columns.rewards[row], columns.terminated[row], columns.truncated[row]) == flags


def _snapshot(columns: VectorTask) -> list[np.ndarray]:
    arrays = columns.observations, columns.rewards, columns.terminated, columns.truncated, columns.state
    return [array.copy() for array in arrays]


def singles(make: Callable[[], Task], n: int) -> list[Task]:
    return [make() for _ in range(n)]
