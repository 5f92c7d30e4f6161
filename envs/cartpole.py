"""CartPole: Gymnasium's CartPole-v1 as a task; neutral is a step of its physics without force.

The physics is Gymnasium's own code. Only the force of a neutral tick differs, and Gymnasium takes the force
from an attribute: neutral is its push to the right while that attribute is zero.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium.envs.classic_control.cartpole import CartPoleEnv
from numpy.typing import NDArray

from netlab.control.values import Value
from netlab.envs.gymnasium_space import action_space, observation_space
from netlab.envs.task import Step
from netlab.errors import LocalProtocolError
from netlab.messages import TaskDescription

__all__ = ["CartPole"]

_MAX_EPISODE_TICKS = 500
_PUSH_RIGHT = 1


class CartPole:
    """Balance a pole on a cart: +1 a tick until it leans 12 degrees, is 2.4 m off, or 500 ticks are over.

    Args:
        rate_hz: Ticks a second. The physics steps 20 ms a tick whatever the rate: at 50 Hz it is real time.
    """

    def __init__(self, rate_hz: float = 50.0) -> None:
        self._env: Any = CartPoleEnv()
        self._force_n = float(self._env.force_mag)
        self._ticks = 0
        self._live = False
        self.description = TaskDescription(
            name="CartPole-v1",
            rate_hz=rate_hz,
            observation=observation_space(self._env.observation_space),
            action=action_space(self._env.action_space),
        )

    def reset(self, seed: int) -> NDArray[Any]:
        """Begin an episode; returns x, x_dot, theta, theta_dot ``[4]``, float32."""
        observation, _ = self._env.reset(seed=seed)
        self._ticks = 0
        self._live = True
        return np.asarray(observation)

    def step(self, action: Value | None) -> Step:
        """Push left (0), right (1) or not at all (None) for one tick.

        Raises:
            LocalProtocolError: Another action, or the episode is over.
        """
        if not self._live:
            raise LocalProtocolError("CartPole stepped outside an episode: reset it first")
        if action is None:
            self._env.force_mag = 0.0
            observation, reward, terminated, _, _ = self._env.step(_PUSH_RIGHT)
            self._env.force_mag = self._force_n
        elif isinstance(action, int) and 0 <= action <= 1:
            observation, reward, terminated, _, _ = self._env.step(action)
        else:
            raise LocalProtocolError(f"{action!r:.200} is not an action of CartPole: must be 0, 1 or neutral")
        self._ticks += 1
        truncated = self._ticks >= _MAX_EPISODE_TICKS
        self._live = not (terminated or truncated)
        return Step(np.asarray(observation), float(reward), bool(terminated), truncated)

    def close(self) -> None:
        """Close Gymnasium's environment."""
        self._env.close()
