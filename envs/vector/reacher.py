"""ReacherColumns: N copies of Reacher; the equations are the single one's, on columns."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from netlab.envs.reacher import LIMIT_TICKS, Reacher, advance, first_motion, observe, reward_of
from netlab.envs.two_link_arm import ArmMotion
from netlab.envs.vector.first_states import FirstStates
from netlab.envs.vector.pcg64 import first_doubles
from netlab.envs.vector.vector_task import row_count

__all__ = ["ReacherColumns"]

_SEEN = 10
_DRAWS = 4


class ReacherColumns:
    """Move N arms to their targets; a ``VectorTask``.

    Args:
        n: Number of rows.
        rate_hz: Ticks a second, for the description.

    Raises:
        SpecError: No number of rows, or no rate.
    """

    def __init__(self, n: int, rate_hz: float = 25.0) -> None:
        self.description = Reacher(rate_hz).description
        self.n = n = row_count(n)
        self.observations = np.zeros((n, _SEEN), np.float32)
        self.state = self.observations
        self.rewards = np.zeros(n)
        self.terminated = np.zeros(n, np.bool_)
        self.truncated = np.zeros(n, np.bool_)
        self._motion = np.zeros((len(ArmMotion._fields), n))
        self._targets_m = np.zeros((2, n))
        self._actions = np.zeros((2, n))
        self._ticks = np.zeros(n, np.int64)
        self._first = FirstStates(lambda seeds: first_doubles(seeds, _DRAWS))

    def prepare(self, seeds: NDArray[np.int64]) -> None:
        """Draw what begins the episodes to come ``[m]``."""
        self._first.prepare(seeds)

    def reset(self, mask: NDArray[np.bool_], seeds: NDArray[np.int64]) -> None:
        """Begin an episode in the rows of the mask.

        Raises:
            LocalProtocolError: A seed of these rows is below 0.
        """
        rows = np.flatnonzero(mask)
        if not rows.size:
            return
        motion, *targets_m = first_motion(self._first.take(seeds[rows]))
        self._motion[:, rows] = motion
        self._targets_m[:, rows] = targets_m
        self.observations[rows] = observe(motion, *targets_m).T
        self._ticks[rows] = 0
        self.rewards[rows] = 0.0
        self.truncated[rows] = False

    def step(self, actions: NDArray[Any], neutral: NDArray[np.bool_], active: NDArray[np.bool_]) -> None:
        """Apply shares of the full torques ``[n, 2]`` for one tick in the active rows, none in neutral ones."""
        self._actions.fill(0.0)
        np.copyto(self._actions, actions.T, where=active & ~neutral)
        motion = advance(ArmMotion(*self._motion), *self._actions)
        np.copyto(self._motion, motion, where=active)
        seen = observe(ArmMotion(*self._motion), *self._targets_m)
        np.copyto(self.observations.T, seen, casting="same_kind")
        np.copyto(self.rewards, reward_of(seen, *self._actions), where=active)
        self._ticks += active
        np.greater_equal(self._ticks, LIMIT_TICKS, out=self.truncated)
