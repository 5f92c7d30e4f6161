"""LinearCartPole: the sign of a linear state feedback pushes the cart left or right.

The gains are those of the linear-quadratic regulator of CartPole linearised at rest and stepped by Euler at
20 ms, state cost diag(1, 1, 10, 10), force cost 0.1 (``tests/unit/test_cartpole_linear.py`` derives them
again from the Riccati equation). The task has a full push either way and nothing between, so only the sign
counts. The weight on the angular rate makes it the most tolerant of delay among the weights tried.
"""

from __future__ import annotations

from netlab.control.question import Question

__all__ = ["GAINS", "LinearCartPole"]

GAINS = (2.6074, 5.3224, 50.7160, 15.3758)
"""Newtons for each metre, metre a second, radian, radian a second."""

_PUSH_LEFT = 0
_PUSH_RIGHT = 1


class LinearCartPole:
    """Decide on the state at the target tick as it is; keeps no state of its own."""

    def decide(self, question: Question) -> int:
        """Return 1 (push right) or 0 (push left) for a state ``[4]``: x, x_dot, theta, theta_dot."""
        x, x_dot, theta, theta_dot = question.state.tolist()
        force = GAINS[0] * x + GAINS[1] * x_dot + GAINS[2] * theta + GAINS[3] * theta_dot
        return _PUSH_RIGHT if force > 0.0 else _PUSH_LEFT

    def reset(self) -> None:
        """Forget nothing: there is nothing to forget."""
