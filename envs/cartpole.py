"""CartPole: Gymnasium's CartPole-v1 as a task; neutral is a step of its physics without force.

The physics is Gymnasium's own code. Only the force of a neutral tick differs, or of one with a disturbance, and
Gymnasium takes the force from an attribute: a tick is its push to the right with that attribute set.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium.envs.classic_control.cartpole import CartPoleEnv
from numpy.typing import NDArray

from netlab.control.values import Value
from netlab.envs.bound import number_within, rate_within
from netlab.envs.gymnasium_space import action_space, observation_space
from netlab.envs.task import Step
from netlab.errors import LocalProtocolError
from netlab.messages import TaskDescription

__all__ = ["LIMIT_TICKS", "CartPole", "disturbance_n"]

LIMIT_TICKS = 500
MAX_PUSH_N = 1000.0
"""Observations stay finite: a force without bound would end in NaN, which no limit ends an episode for."""
_PUSH_RIGHT = 1
_DISTURBANCE_STREAM = 1
"""Keeps the draws of the disturbance apart from Gymnasium's own, which come from the bare seed."""


class CartPole:
    """Balance a pole on a cart: +1 a tick until it leans 12 degrees, is 2.4 m off, or 500 ticks are over.

    Args:
        rate_hz: Ticks a second. The physics steps 20 ms a tick whatever the rate: at 50 Hz it is real time.
        push_n: Standard deviation of a random force in N that is added each tick, whatever is played.

    Raises:
        SpecError: No rate, or the disturbance is no standard deviation.
    """

    def __init__(self, rate_hz: float = 50.0, push_n: float = 0.0) -> None:
        self._env: Any = CartPoleEnv()
        self._force_n = float(self._env.force_mag)
        self._push_n = push_n
        self._pushes_n = disturbance_n(0, push_n)
        self._ticks = 0
        self._live = False
        self.description = TaskDescription(
            name="CartPole-v1",
            rate_hz=rate_within(rate_hz),
            observation=observation_space(self._env.observation_space),
            action=action_space(self._env.action_space),
        )

    @property
    def state(self) -> NDArray[np.float32]:
        """Return the true state ``[4]``, which is the observation; zeros before the first episode."""
        return np.zeros(4, np.float32) if self._env.state is None else np.array(self._env.state, np.float32)

    def reset(self, seed: int) -> NDArray[Any]:
        """Begin an episode; returns x, x_dot, theta, theta_dot ``[4]``, float32."""
        observation, _ = self._env.reset(seed=seed)
        if self._push_n:
            self._pushes_n = disturbance_n(seed, self._push_n)
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
            force_n = 0.0
        elif isinstance(action, int) and 0 <= action <= 1:
            force_n = self._force_n if action else -self._force_n
        else:
            raise LocalProtocolError(f"{action!r:.200} is not an action of CartPole: must be 0, 1 or neutral")
        self._env.force_mag = force_n + self._pushes_n[self._ticks] if self._push_n else force_n
        observation, reward, terminated, _, _ = self._env.step(_PUSH_RIGHT)
        self._ticks += 1
        truncated = self._ticks >= LIMIT_TICKS
        self._live = not (terminated or truncated)
        return Step(np.asarray(observation), float(reward), bool(terminated), truncated)

    def close(self) -> None:
        """Close Gymnasium's environment."""
        self._env.close()


def disturbance_n(seed: int, push_n: float) -> NDArray[np.float64]:
    """Return the random force in N at each tick of the episode with this seed ``[500]``, normal around 0.

    Raises:
        SpecError: ``push_n`` is not a standard deviation.
    """
    push_n = number_within("push_n", push_n, 0.0, MAX_PUSH_N, hint="an action pushes with 10 N")
    if not push_n:
        return np.zeros(LIMIT_TICKS)
    return np.random.default_rng((seed, _DISTURBANCE_STREAM)).normal(0.0, push_n, LIMIT_TICKS)
