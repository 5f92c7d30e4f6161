"""CartPoleColumns: N copies of CartPole, equal to ``netlab.envs.cartpole`` to the last bit.

The state is kept in double precision, as Gymnasium keeps it, and shown in single. The equations are
those of R. Florian, "Correct equations for the dynamics of the cart-pole system" (2007), without friction, which
Gymnasium steps by explicit Euler; floating-point sums depend on their order, so the order here is Gymnasium's.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from netlab.envs.cartpole import LIMIT_TICKS, CartPole, disturbance_n
from netlab.envs.vector.first_states import FirstStates
from netlab.envs.vector.pcg64 import first_doubles
from netlab.envs.vector.vector_task import MAX_ROWS, row_count

__all__ = ["CartPoleColumns"]

_STATES = 4
_GRAVITY_M_S2 = 9.8
_POLE_KG = 0.1
_TOTAL_KG = 1.0 + _POLE_KG
_HALF_POLE_M = 0.5
_POLE_KG_M = _POLE_KG * _HALF_POLE_M
_FORCES_N = np.array([-10.0, 10.0])
_TICKS_S = np.array([0.0, 0.02])
"""What passes for a row that has no tick, and for one that has."""
_LIMITS = np.array([[2.4], [12 * 2 * np.pi / 360]])
"""Of the cart's place in m and of the pole's angle."""


class CartPoleColumns:
    """Balance N poles; a ``VectorTask``.

    Args:
        n: Number of rows.
        rate_hz: Ticks a second, for the description.
        push_n: Standard deviation of a random force in N that is added each tick; the single task's own draws.

    Raises:
        SpecError: No number of rows, no rate, or the disturbance is no standard deviation.
    """

    def __init__(self, n: int, rate_hz: float = 50.0, push_n: float = 0.0) -> None:
        self.description = CartPole(rate_hz, push_n).description
        self.n = n = row_count(n)
        self.observations = np.zeros((n, _STATES), np.float32)
        self.state = self.observations
        self.rewards = np.zeros(n)
        self.terminated = np.zeros(n, np.bool_)
        self.truncated = np.zeros(n, np.bool_)
        self._push_n = push_n
        self._pushes_n = np.zeros((n, LIMIT_TICKS) if push_n else (0, LIMIT_TICKS))
        self._first_push = np.arange(n) * LIMIT_TICKS
        self._ticks = np.zeros(n, np.int64)
        self._first = FirstStates(_first_two_states)
        self._second = np.zeros((_STATES, n))  # of a row just reset, after a neutral tick
        self._motion, self._steps = np.zeros((2, _STATES, n))  # x, x_dot, theta, theta_dot
        self._speeds = self._motion[1::2]
        self._places_now = self._motion[0::2]
        self._tick_s = np.zeros(n)
        self._force_n = np.zeros(n)
        self._cos, self._sin, self._temp, self._work = np.zeros((4, n))
        self._accelerations = self._steps[1::2]  # of the cart, of the pole
        self._place_steps = self._steps[0::2]
        # In full: to broadcast a number takes longer.
        self._pole_kg, self._total_kg, self._pole_kg_m, self._half_pole_m, self._gravity_m_s2, self._third = (
            np.full(n, value)
            for value in (_POLE_KG, _TOTAL_KG, _POLE_KG_M, _HALF_POLE_M, _GRAVITY_M_S2, 4.0 / 3.0)
        )
        self._places = np.zeros((2, n))
        self._outside = np.zeros((2, n), np.bool_)

    def prepare(self, seeds: NDArray[np.int64]) -> None:
        """Draw the first states of episodes to come ``[m]``."""
        self._first.prepare(seeds)

    def reset(self, mask: NDArray[np.bool_], seeds: NDArray[np.int64]) -> None:
        """Begin an episode in the rows of the mask.

        Raises:
            LocalProtocolError: A seed of these rows is below 0.
        """
        rows = np.flatnonzero(mask)
        if not rows.size:
            return
        states = self._first.take(seeds[rows])
        first = states[:, :_STATES]
        self._motion[:, rows] = first.T
        self._second[:, rows] = states[:, _STATES:].T
        self.observations[rows] = first
        self._ticks[rows] = 0
        self.rewards[rows] = 0.0
        self.terminated[rows] = False
        self.truncated[rows] = False
        if self._push_n:
            for row in rows.tolist():
                self._pushes_n[row] = disturbance_n(int(seeds[row]), self._push_n)

    def step(self, actions: NDArray[Any], neutral: NDArray[np.bool_], active: NDArray[np.bool_]) -> None:
        """Push left (0), right (1) or not at all (neutral) for one tick in the active rows."""
        _FORCES_N.take(actions, mode="clip", out=self._force_n)
        np.copyto(self._force_n, 0.0, where=neutral)
        if self._push_n:
            # Rows that have ended stand behind their last push; what they would read is not used.
            self._force_n += self._pushes_n.take(self._first_push + self._ticks, mode="clip")
        self._accelerate()
        # By the old speeds, and not at all where there is no tick.
        _TICKS_S.take(active.view(np.int8), mode="clip", out=self._tick_s)
        self._place_steps[:] = self._speeds
        self._steps *= self._tick_s
        self._motion += self._steps
        self.observations[:] = self._motion.T
        self._ticks += active
        np.abs(self._places_now, out=self._places)
        np.greater(self._places, _LIMITS, out=self._outside)
        np.logical_or(self._outside[0], self._outside[1], out=self.terminated)
        np.greater_equal(self._ticks, LIMIT_TICKS, out=self.truncated)
        np.copyto(self.rewards, 1.0, where=active)

    def first_tick(self, mask: NDArray[np.bool_]) -> None:
        """Live through the tick after the reset of these rows, neutral; it was drawn ahead."""
        if self._push_n:
            self.step(np.zeros(self.n, np.int64), np.ones(self.n, np.bool_), mask)
            return
        np.copyto(self._motion, self._second, where=mask)
        self.observations[:] = self._motion.T
        self._ticks += mask
        np.copyto(self.rewards, 1.0, where=mask)

    def _accelerate(self) -> None:
        """Write the accelerations under the force, every row's."""
        cos, sin, temp, work, (cart, pole) = self._cos, self._sin, self._temp, self._work, self._accelerations
        _, _, theta, theta_dot = self._motion
        np.cos(theta, out=cos)
        np.sin(theta, out=sin)
        np.square(theta_dot, out=temp)
        temp *= self._pole_kg_m
        temp *= sin
        temp += self._force_n
        temp /= self._total_kg
        np.square(cos, out=work)
        work *= self._pole_kg
        work /= self._total_kg
        np.subtract(self._third, work, out=work)
        work *= self._half_pole_m
        sin *= self._gravity_m_s2
        np.multiply(cos, temp, out=pole)
        np.subtract(sin, pole, out=pole)
        pole /= work
        np.multiply(pole, self._pole_kg_m, out=cart)
        cart *= cos
        cart /= self._total_kg
        np.subtract(temp, cart, out=cart)


def _first_two_states(seeds: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return first states and those a neutral tick later, ``[m, 8]``.

    They are uniform within 0.05 of upright rest, as Gymnasium draws them: one tick never ends an episode.
    """
    parts = range(0, len(seeds), MAX_ROWS)  # more may be drawn ahead than one object steps
    return np.concatenate([_two_states(seeds[start : start + MAX_ROWS]) for start in parts])


def _two_states(seeds: NDArray[np.int64]) -> NDArray[np.float64]:
    first = -0.05 + 0.1 * first_doubles(seeds, _STATES)
    poles = CartPoleColumns(len(seeds))
    poles._motion[:] = first.T
    every = np.ones(len(seeds), np.bool_)
    poles.step(np.zeros(len(seeds), np.int64), every, every)
    return np.concatenate((first, poles._motion.T), axis=1)
