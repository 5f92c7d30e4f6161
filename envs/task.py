"""Task: an environment as the control loop sees it, with a neutral action that no peer can send.

::

    reset(seed) -> o_0 ; step(a_k | None) -> Step(o_k+1, reward, terminated, truncated)
"""

from __future__ import annotations

from typing import Any, Protocol

from msgspec import Struct
from numpy.typing import NDArray

from netlab.control.values import Value
from netlab.messages import MAX_RATE_HZ, MIN_RATE_HZ, TaskDescription

__all__ = ["MAX_RATE_HZ", "MIN_RATE_HZ", "Step", "Task"]


class Step(Struct, frozen=True):
    """What one tick made of the environment.

    Attributes:
        observation: ``[*shape]``, dtype of the task's observation space.
        reward: Reward of the tick.
        terminated: The episode ended by the task's own rules.
        truncated: The episode ended by its time limit.
    """

    observation: NDArray[Any]
    reward: float
    terminated: bool
    truncated: bool


class Task(Protocol):
    """What is controlled; its description says at which pace (``netlab.envs.pace``)."""

    description: TaskDescription

    def reset(self, seed: int) -> NDArray[Any]:
        """Begin an episode and return its first observation; the seed alone decides it."""
        ...

    def step(self, action: Value | None) -> Step:
        """Live through one tick under an action; None is the neutral action, which every task must have."""
        ...

    def close(self) -> None:
        """Give back what the task holds."""
        ...
