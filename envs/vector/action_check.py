"""ActionCheck: refuse what is no action of the space, for many rows at once; as ``ValueCodec`` does for one."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from netlab.envs.vector.flights import Bools
from netlab.envs.virtual.spaces import bounds_of
from netlab.errors import LocalProtocolError
from netlab.messages import Space
from netlab.traces.quantity import shown

__all__ = ["ActionCheck"]


class ActionCheck:
    """Knows the space of actions.

    Args:
        space: Of one action.
        n: Number of rows.
    """

    def __init__(self, space: Space, n: int) -> None:
        self._space = space
        self._shape = (n, *space.shape)
        self._dtype = np.dtype(space.dtype)
        self._low, self._high = bounds_of(space)

    def __call__(self, actions: NDArray[Any], who: Bools) -> NDArray[Any]:
        """Return actions in the space's type; those of other rows than ``who`` ``[n]`` are not looked at.

        Raises:
            LocalProtocolError: They are not of the space.
        """
        try:
            actions = np.asarray(actions)
        except ValueError as error:  # rows of different lengths
            raise LocalProtocolError(f"{shown(actions)} are no actions: {error}") from error
        if actions.shape != self._shape:
            raise LocalProtocolError(
                f"actions of shape {list(actions.shape)}: must be {list(self._shape)}, one a row"
            )
        if self._space.kind == "discrete":
            return self._discrete(actions, who)
        if not np.can_cast(actions.dtype, self._dtype, "same_kind"):
            raise LocalProtocolError(f"actions of type {actions.dtype}: must be {self._dtype}")
        actions = actions.astype(self._dtype, copy=False)
        # What is not a number is neither above nor below.
        inside = (actions >= self._low) & (actions <= self._high)
        inside &= np.isfinite(actions)
        if not inside.all() and not inside[who].all():
            raise LocalProtocolError("an action outside its bounds, or that is no number")
        return actions

    def _discrete(self, actions: NDArray[Any], who: Bools) -> NDArray[Any]:
        if actions.dtype.kind not in "iu":
            raise LocalProtocolError(f"actions of type {actions.dtype}: must be whole numbers")
        # As unsigned numbers those below 0 are above all.
        outside = actions.astype(np.int64, copy=False).view(np.uint64) >= self._space.n
        if np.count_nonzero(outside) and (outside & who).any():
            raise LocalProtocolError(f"an action outside 0 .. {self._space.n - 1}")
        return actions
