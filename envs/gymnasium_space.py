"""Gymnasium's spaces as the wire's: which element type, which shape, which bounds travel.

Bounds of actions travel, because the edge refuses what is out of them; bounds of observations do not: nobody
checks them, and those of an image would not fit the first message.
"""

from __future__ import annotations

from typing import Any, Literal, get_args

import gymnasium
import numpy as np

from netlab.errors import SpecError
from netlab.messages import Space

__all__ = ["action_space", "observation_space"]

_Dtype = Literal["int32", "int64", "uint8", "float32", "float64"]
_MAX_BOUNDS = 4096


def observation_space(space: gymnasium.Space[Any]) -> Space:
    """Return the wire's view of an observation space.

    Raises:
        SpecError: Neither discrete from 0 nor a box of a type that travels.
    """
    return _convert(space, bounded=False)


def action_space(space: gymnasium.Space[Any]) -> Space:
    """Return the wire's view of an action space, bounds included.

    Raises:
        SpecError: Neither discrete from 0 nor a box of a type that travels, or too many bounds.
    """
    return _convert(space, bounded=True)


def _convert(space: gymnasium.Space[Any], bounded: bool) -> Space:
    if isinstance(space, gymnasium.spaces.Discrete):
        if space.start != 0:
            raise SpecError(
                f"{space}: must start at 0", key="space", hint="wrap the environment and shift its actions"
            )
        return Space(kind="discrete", dtype="int64", n=int(space.n))
    if not isinstance(space, gymnasium.spaces.Box):
        raise SpecError(
            f"{type(space).__name__} spaces do not travel: must be Discrete or Box",
            key="space",
            hint="flatten it with gymnasium.wrappers.FlattenObservation or one of your own",
        )
    low: tuple[float, ...] = ()
    high: tuple[float, ...] = ()
    if bounded:
        if space.low.size > _MAX_BOUNDS:
            raise SpecError(f"{space.low.size} bounds: at most {_MAX_BOUNDS} travel", key="space")
        low = tuple(float(bound) for bound in np.ravel(space.low))
        high = tuple(float(bound) for bound in np.ravel(space.high))
    box = Space(
        kind="box", dtype=_dtype(space), shape=tuple(int(side) for side in space.shape), low=low, high=high
    )
    problem = box.problem()
    if problem:
        raise SpecError(f"{space}: {problem}", key="space", hint="wrap the environment")
    return box


def _dtype(space: gymnasium.spaces.Box) -> _Dtype:
    for name in get_args(_Dtype):
        if space.dtype == np.dtype(name):
            found: _Dtype = name
            return found
    raise SpecError(
        f"boxes of {space.dtype} do not travel: must be one of {', '.join(get_args(_Dtype))}", key="space"
    )
