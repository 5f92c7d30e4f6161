"""VectorTask: N copies of a task as numpy columns, each row equal to the single task step by step.

::

    prepare(seeds [m])                      optional: first states are drawn ahead, many at once
    reset(mask [n], seeds [n])          --> observations, state; rewards 0, no flags       rows of the mask
    step(actions, neutral, active [n])  --> observations, state, rewards, flags            active rows

Rows outside the mask keep every value they had, so each row has its own episodes: when one ends and when the
next begins is the caller's business, and so are the network and the actuators between a policy and these ticks.
"""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from netlab.envs.bound import whole_within
from netlab.messages import TaskDescription

__all__ = ["MAX_ROWS", "KnowsFirstTick", "VectorTask", "row_count"]

MAX_ROWS = 1 << 16
"""More would take memory, and hardly less time a row."""


def row_count(n: object) -> int:
    """Return a number of rows; for who makes a ``VectorTask``, before it takes memory.

    Raises:
        SpecError: It is none, or too many.
    """
    return whole_within("n", n, 1, MAX_ROWS, hint="how many rows are played at once, for example 256")


class VectorTask(Protocol):
    """What is controlled, N times.

    The arrays below are made once and written in place: copy what must outlive the next call. A row is
    meaningless before its first reset, and so is a step of a row whose episode has ended.

    Attributes:
        description: The single task's own.
        n: Number of rows.
        observations: ``[n, *shape]``, dtype of the observation space; finite in rows that play, nobody looks.
        rewards: ``[n]`` of the rows' last ticks; 0 after a reset.
        terminated: ``[n]``; the episode ended by the task's own rules.
        truncated: ``[n]``; the episode ended by its time limit.
        state: ``[n, s]``, the true state for a critic in training; may be ``observations`` itself.
    """

    description: TaskDescription
    n: int
    observations: NDArray[Any]
    rewards: NDArray[np.float64]
    terminated: NDArray[np.bool_]
    truncated: NDArray[np.bool_]
    state: NDArray[np.float32]

    def prepare(self, seeds: NDArray[np.int64]) -> None:
        """Draw the first states of episodes to come ``[m]``; changes how long their resets take, nothing else."""
        ...

    def reset(self, mask: NDArray[np.bool_], seeds: NDArray[np.int64]) -> None:
        """Begin an episode in the rows of the mask; ``seeds`` ``[n]`` decides it as in the single task.

        Raises:
            LocalProtocolError: A seed of these rows is below 0.
        """
        ...

    def step(self, actions: NDArray[Any], neutral: NDArray[np.bool_], active: NDArray[np.bool_]) -> None:
        """Live through one tick in the active rows.

        Args:
            actions: ``[n]`` for a discrete space, ``[n, *shape]`` for a box, of the action space: the caller
                has checked them. Those of neutral and of inactive rows are not looked at.
            neutral: ``[n]``; the rows that play the task's neutral action.
            active: ``[n]``; the rows that have a tick.
        """
        ...


@runtime_checkable
class KnowsFirstTick(Protocol):
    """A task that prepares its first tick too: in real time no action can be there for it yet."""

    def first_tick(self, mask: NDArray[np.bool_]) -> None:
        """Live through the tick after a reset, neutral, in the rows of the mask; as ``step`` does."""
        ...
