"""What N remotes have decided: the latest decision of each row, or all of the last ones by their target ticks."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from netlab.envs.vector.flights import Bools, Numbers, Places
from netlab.messages import Space

__all__ = ["Decisions", "LatestDecisions", "RingDecisions"]

_NONE = -1


class Decisions(Protocol):
    """What each row has decided."""

    def clear(self, rows: Places) -> None:
        """Forget the decisions of some rows, if they would be looked at."""
        ...

    def put(self, rows: Places, targets: Numbers, actions: NDArray[Any]) -> None:
        """Keep the decisions of some rows; ``targets`` ``[n]``, ``actions`` ``[n, ...]``."""
        ...

    def for_targets(self, targets: Numbers) -> NDArray[Any]:
        """Return the decision of each row for its target, ``[n, ...]``; without meaning where there is none."""
        ...


class LatestDecisions:
    """One decision a row: enough where nothing looks back.

    Args:
        n: Number of rows.
        space: Of an action.
    """

    def __init__(self, n: int, space: Space) -> None:
        self._actions = np.zeros((n, *space.shape), np.dtype(space.dtype))

    def clear(self, rows: Places) -> None:
        """Forget nothing: what is sent was decided before."""

    def put(self, rows: Places, targets: Numbers, actions: NDArray[Any]) -> None:
        """Keep the decisions of some rows; ``targets`` ``[n]``, ``actions`` ``[n, ...]``."""
        self._actions[rows] = actions.take(rows, axis=0)

    def for_targets(self, targets: Numbers) -> NDArray[Any]:
        """Return the decision of each row for its target, ``[n, ...]``; without meaning where there is none."""
        return self._actions


class RingDecisions:
    """The decisions of each row by target.

    Args:
        n: Number of rows.
        most_ticks: How many targets lie between the first and the last that are looked at.
        space: Of an action.
    """

    def __init__(self, n: int, most_ticks: int, space: Space) -> None:
        self._n = n
        self._size = 1 << most_ticks.bit_length()
        self._actions = np.zeros((n * self._size, *space.shape), np.dtype(space.dtype))
        self._targets = np.full(n * self._size, _NONE, dtype=np.int64)
        self._first = np.arange(n) * self._size

    def clear(self, rows: Places) -> None:
        """Forget the decisions of some rows."""
        self._targets.reshape(self._n, self._size)[rows] = _NONE

    def put(self, rows: Places, targets: Numbers, actions: NDArray[Any]) -> None:
        """Keep the decisions of some rows; ``targets`` ``[n]``, ``actions`` ``[n, ...]``."""
        targets = targets.take(rows)
        places = self._first.take(rows) + (targets & (self._size - 1))
        self._actions[places] = actions.take(rows, axis=0)
        self._targets[places] = targets

    def for_targets(self, targets: Numbers) -> NDArray[Any]:
        """Return the decision of each row for its target, ``[n, ...]``; without meaning where there is none."""
        return self._actions.take(self._first + (targets & (self._size - 1)), axis=0)

    def at(self, rows: Places, ticks: Numbers) -> tuple[NDArray[Any], Bools]:
        """Return what is decided for ticks ``[m]`` of some rows, ``[m, ...]``, and where anything is, ``[m]``."""
        places = self._first[rows] + (ticks & (self._size - 1))
        return self._actions[places], self._targets[places] == ticks
