"""RowRing: many rings at once, each read newest first as one piece of memory.

Knows numbers by the tick they belong to, not what they are. A row keeps each item twice, and backwards::

    capacity 4, ticks 6 .. 9      place   0  1  2  3 | 4  5  6  7
    place of tick t: -t mod 4     tick    8  7  6  9 | 8  7  6  9
                                                   `--------'        the three newest from tick 9 on: 9 8 7

so whatever the newest tick, what is wanted is adjacent, and a row is read with one copy.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["RowRing"]

_FLOAT_BYTES = 4


class RowRing:
    """Hold the newest items of each row by tick.

    Args:
        rows: N, how many rings.
        capacity: Items that each keeps.
        width: Numbers of an item.
        count: Items that ``newest`` reads, at most ``capacity``.
    """

    def __init__(self, rows: int, capacity: int, width: int, count: int) -> None:
        self._capacity = capacity
        self._width = width
        self._twice = 2 * capacity
        self._data = np.zeros((rows, self._twice, width), np.float32)
        flat = self._data.reshape(-1)
        item_bytes = _FLOAT_BYTES * width
        # An item, and a run of items, as one element each: numpy then copies them whole.
        self._items = flat.view(np.dtype((np.void, item_bytes)))
        self._runs: NDArray[Any] = np.ndarray(
            (rows * self._twice - count + 1,),
            np.dtype((np.void, item_bytes * count)),
            buffer=flat.data,
            strides=(item_bytes,),
        )
        self._first = np.arange(rows, dtype=np.int64) * self._twice

    def put(self, rows: NDArray[np.intp], ticks: NDArray[np.int64], items: NDArray[np.float32]) -> None:
        """Store one item in some rows.

        Args:
            rows: Which, ``[m]``.
            ticks: The tick of each item, ``[m]``; it replaces the item ``capacity`` ticks before.
            items: ``[m, width]``.
        """
        places = self._first[rows] + -ticks % self._capacity
        whole = np.ascontiguousarray(items).view(self._items.dtype).reshape(-1)
        self._items[places] = whole
        places += self._capacity
        self._items[places] = whole

    def fill(self, rows: NDArray[np.intp], items: NDArray[np.float32]) -> None:
        """Store ``items`` ``[m, width]`` at every tick of some rows ``[m]``."""
        self._data[rows] = items[:, None, :]

    def newest(self, ticks: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return of each row the items of ``tick``, ``tick - 1``, ... side by side, ``[N, count * width]``.

        Args:
            ticks: Where each row begins, ``[N]``.
        """
        found: NDArray[np.float32] = self._runs[self._first + -ticks % self._capacity].view(np.float32)
        return found.reshape(ticks.size, -1)
