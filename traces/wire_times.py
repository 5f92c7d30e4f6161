"""WireTimes: how long packets occupy links with rates, by the kernel's integer arithmetic, over many links.

The twin of ``WireTime``. All unsigned, as in the kernel: numpy's wrap-around is the kernel's.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from netlab.traces.link_columns import LinkColumns

__all__ = ["WireTimes"]

_NS_PER_S = np.uint64(10**9)
_U32 = np.uint64(2**32 - 1)
_MOST_REMEMBERED = 64


class WireTimes:
    """Nanoseconds on the wire of each link.

    Args:
        columns: The states of the links; to be made anew when they change.
    """

    def __init__(self, columns: LinkColumns) -> None:
        numbers = columns.numbers
        self._overhead_bytes = numbers["packet_overhead_bytes"]
        self._has_cells = bool(numbers["cell_size_bytes"].any())
        self._is_in_cells = numbers["cell_size_bytes"] > 0
        self._cell_bytes = np.maximum(numbers["cell_size_bytes"], 1).astype(np.uint64)
        self._cell_on_wire = (numbers["cell_size_bytes"] + numbers["cell_overhead_bytes"]).astype(np.uint64)
        self._rate = np.maximum(columns.rate_bytes_per_s, np.uint64(1))
        self._by_length: dict[int, NDArray[np.int64]] = {}

    def of(self, length_bytes: int | NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the time of one length, or of one a link, ``[links]``; means nothing without a rate."""
        if not isinstance(length_bytes, int):
            return self._compute(length_bytes)
        if length_bytes not in self._by_length:
            if len(self._by_length) >= _MOST_REMEMBERED:
                self._by_length.clear()
            self._by_length[length_bytes] = self._compute(np.int64(length_bytes))
        return self._by_length[length_bytes]

    def _compute(self, length_bytes: NDArray[np.int64] | np.int64) -> NDArray[np.int64]:
        length = (length_bytes + self._overhead_bytes).astype(np.uint64)
        if self._has_cells:
            cells = (length & _U32) // self._cell_bytes
            cells += length > (cells * self._cell_bytes & _U32)
            length = np.where(self._is_in_cells, cells * self._cell_on_wire & _U32, length)
        return (length * _NS_PER_S // self._rate).view(np.int64)
