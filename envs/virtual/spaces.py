"""Spaces of a task as a learner sees them: Gymnasium's, made of the wire's."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np

from netlab.messages import Space

__all__ = ["action_space_of", "bounds_of", "feature_space_of"]


def action_space_of(space: Space) -> gymnasium.Space[Any]:
    """Return the Gymnasium space of one action; a bound that is not given is infinite."""
    if space.kind == "discrete":
        return gymnasium.spaces.Discrete(space.n)
    low, high = bounds_of(space)
    return gymnasium.spaces.Box(low, high, space.shape, np.dtype(space.dtype).type)


def bounds_of(space: Space) -> tuple[Any, Any]:
    """Return the least and the greatest of a box, ``[*shape]`` each, or a number where it is infinite."""
    low, high = (
        np.array(bound, dtype=space.dtype).reshape(space.shape) if bound else sign * np.inf
        for bound, sign in ((space.low, -1.0), (space.high, 1.0))
    )
    return low, high


def feature_space_of(size: int) -> gymnasium.spaces.Box:
    """Return the Gymnasium space of a row of features."""
    return gymnasium.spaces.Box(-np.inf, np.inf, (size,), np.float32)
