"""CartPolePhysics: what CartPole-v1 does in one tick, as Gymnasium steps it; neutral is a step without force.

Frictionless cart and pole, forward Euler: positions move with the old velocities. One state at a time is plain
floats, since four numbers are too few for an array to pay; ``CartPolePhysicsColumns`` takes many. Both go through
the same formula and numpy's sine, so that a state gives the same bits alone and among others.

Source: Barto, Sutton and Anderson 1983, appendix (equations of motion); constants of Gymnasium's CartPole-v1.
"""

from __future__ import annotations

import math
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from netlab.control.values import Value
from netlab.errors import LocalProtocolError

__all__ = ["CartPolePhysics", "CartPolePhysicsColumns"]

_GRAVITY_M_S2 = 9.8
_CART_KG = 1.0
_POLE_KG = 0.1
_TOTAL_KG = _CART_KG + _POLE_KG
_HALF_POLE_M = 0.5
_FORCE_N = 10.0
_STEP_S = 0.02

Number = TypeVar("Number", float, NDArray[np.float64])


class CartPolePhysics:
    """Predict CartPole exactly, up to the rounding of the observation it starts from."""

    def predict(self, observation: NDArray[Any], action: Value | None) -> NDArray[Any]:
        """Return the observation ``[4]`` (float64) one tick later.

        Args:
            observation: x, x_dot, theta, theta_dot.
            action: 0, 1, or None for no force.

        Raises:
            LocalProtocolError: Another action.
        """
        x, x_dot, theta, theta_dot = observation.tolist()
        if not math.isfinite(theta):  # a peer may send numbers that overflow within a few steps
            return np.full(4, math.nan)
        sin, cos = float(np.sin(theta)), float(np.cos(theta))
        return np.array(_step(x, x_dot, theta, theta_dot, sin, cos, _force(action)))


class CartPolePhysicsColumns:
    """Predict many states at once, each with its action."""

    def predict(
        self, states: NDArray[Any], actions: NDArray[Any], neutral: NDArray[np.bool_]
    ) -> NDArray[np.float64]:
        """Return the observations ``[N, 4]`` (float64) one tick later.

        Args:
            states: x, x_dot, theta, theta_dot ``[N, 4]``.
            actions: 0 or 1 ``[N]``; not looked at where neutral.
            neutral: Where no force is applied ``[N]``.

        Raises:
            LocalProtocolError: Another action.
        """
        played = actions[~neutral]
        if played.size and not bool(((played == 0) | (played == 1)).all()):
            raise LocalProtocolError("one of the actions is none of CartPole's: must be 0, 1 or neutral")
        force = np.where(neutral, 0.0, np.where(actions == 1, _FORCE_N, -_FORCE_N))
        x, x_dot, theta, theta_dot = np.asarray(states, np.float64).T
        with np.errstate(over="ignore", invalid="ignore"):
            after = _step(x, x_dot, theta, theta_dot, np.sin(theta), np.cos(theta), force)
        stacked = np.stack(after, axis=1)
        stacked[~np.isfinite(theta)] = math.nan
        return stacked


def _step(
    x: Number, x_dot: Number, theta: Number, theta_dot: Number, sin: Number, cos: Number, force: Number
) -> tuple[Number, Number, Number, Number]:
    """Return the four state variables one tick later."""
    push = (force + _POLE_KG * _HALF_POLE_M * theta_dot * theta_dot * sin) / _TOTAL_KG
    theta_acc = (_GRAVITY_M_S2 * sin - cos * push) / (
        _HALF_POLE_M * (4.0 / 3.0 - _POLE_KG * cos * cos / _TOTAL_KG)
    )
    x_acc = push - _POLE_KG * _HALF_POLE_M * theta_acc * cos / _TOTAL_KG
    return (
        x + _STEP_S * x_dot,
        x_dot + _STEP_S * x_acc,
        theta + _STEP_S * theta_dot,
        theta_dot + _STEP_S * theta_acc,
    )


def _force(action: Value | None) -> float:
    if action is None:
        return 0.0
    if action == 1:
        return _FORCE_N
    if action == 0:
        return -_FORCE_N
    raise LocalProtocolError(f"{action!r:.200} is not an action of CartPole: must be 0, 1 or neutral")
