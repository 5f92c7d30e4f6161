"""PPOSpaces: what a learner sees and does, as sizes; equal spaces are what makes a checkpoint fit."""

from __future__ import annotations

import math
from typing import Annotated, Any, Literal, get_args

import gymnasium
import numpy as np
from msgspec import Meta, Struct

from netlab.errors import SpecError
from netlab.messages import Space

__all__ = ["PPOSpaces", "learnable_action"]

_Dtype = Literal["int32", "int64", "uint8", "float32", "float64"]
_LARGEST = float(np.finfo(np.float32).max)

Size = Annotated[int, Meta(ge=0, le=2**24)]


class PPOSpaces(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What goes into the networks and what comes out.

    Attributes:
        observation: d, how many float32 numbers an observation has.
        action: The actions.
        privileged: p, how many numbers the critic sees beside them; 0 for none.
    """

    observation: Size
    action: Space
    privileged: Size = 0

    @property
    def output(self) -> int:
        """Return how many numbers the policy network puts out: logits, or as many means as actions have."""
        return self.action.n if self.action.kind == "discrete" else math.prod(self.action.shape)

    def describe(self) -> str:
        """Return the spaces in words."""
        action = self.action
        acts = (
            f"one of {action.n} actions"
            if action.kind == "discrete"
            else f"actions {action.dtype}{list(action.shape)}"
        )
        also = f" and {self.privileged} privileged ones" if self.privileged else ""
        return f"observations of {self.observation} numbers{also}, {acts}"


def learnable_action(space: gymnasium.Space[Any]) -> Space:
    """Return the view of one environment's action space that PPO can learn.

    Raises:
        SpecError: Neither discrete from 0 nor a box of floats.
    """
    if isinstance(space, gymnasium.spaces.Discrete) and space.start == 0:
        return Space(kind="discrete", dtype="int64", n=int(space.n))
    if isinstance(space, gymnasium.spaces.Box) and space.dtype is not None and space.dtype.kind == "f":
        name = next((one for one in get_args(_Dtype) if space.dtype == np.dtype(one)), None)
        if name is not None and space.shape:
            shape = tuple(int(side) for side in space.shape)
            return Space(kind="box", dtype=name, shape=shape, low=_bounds(space.low), high=_bounds(space.high))
    hint = "wrap the environment so that its actions are Discrete from 0 or a Box of floats"
    raise SpecError(f"PPO does not learn actions of {space}", key="action space", hint=hint)


def _bounds(values: Any) -> tuple[float, ...]:
    """Return bounds, infinite ones as the largest float32: JSON has no infinity."""
    return tuple(float(value) for value in np.clip(np.ravel(values).astype(float), -_LARGEST, _LARGEST))
