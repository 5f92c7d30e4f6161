"""WireTime, WireTimes: how long packets occupy a link with a rate, many links, by the kernel's integer arithmetic.

::

    length (MAC header included) + overhead --whole cells--> cells * (cell size + cell overhead) --> ns at the rate

Lengths that overhead makes negative come out as absurd as they do in the kernel: everything is unsigned, and
numpy's wrap-around is the kernel's.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from netlab.traces.model.link_columns import LinkColumns
from netlab.traces.qdisc_state import U32_MAX, QdiscState

__all__ = ["NS_PER_S", "WireTime", "WireTimes"]

NS_PER_S = 10**9
_U64_MAX = 2**64 - 1
_MOST_REMEMBERED = 4096


class WireTime(dict[int, int]):
    """Nanoseconds on the wire by length in bytes, computed once a length.

    Args:
        state: Its rate (which is not zero), overhead and cells count.
    """

    def __init__(self, state: QdiscState) -> None:
        super().__init__()
        self._state = state

    def __missing__(self, length_bytes: int) -> int:
        """Compute the time of a length, and remember it."""
        if len(self) >= _MOST_REMEMBERED:
            self.clear()
        state = self._state
        length = (length_bytes + state.packet_overhead_bytes) & _U64_MAX
        if state.cell_size_bytes:
            length = self._in_cells(length)
        time_ns = (length * NS_PER_S & _U64_MAX) // state.rate_bytes_per_s
        self[length_bytes] = time_ns = time_ns - 2**64 if time_ns >= 2**63 else time_ns
        return time_ns

    def _in_cells(self, length: int) -> int:
        size = self._state.cell_size_bytes
        cells = (length & U32_MAX) // size
        if length > cells * size & U32_MAX:
            cells += 1
        return cells * (size + self._state.cell_overhead_bytes) & U32_MAX


_WIDE_NS_PER_S = np.uint64(NS_PER_S)
_WIDE_U32_MAX = np.uint64(U32_MAX)
_MOST_COLUMNS = 64


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
            if len(self._by_length) >= _MOST_COLUMNS:
                self._by_length.clear()
            self._by_length[length_bytes] = self._compute(np.int64(length_bytes))
        return self._by_length[length_bytes]

    def _compute(self, length_bytes: NDArray[np.int64] | np.int64) -> NDArray[np.int64]:
        length = (length_bytes + self._overhead_bytes).astype(np.uint64)
        if self._has_cells:
            cells = (length & _WIDE_U32_MAX) // self._cell_bytes
            cells += length > (cells * self._cell_bytes & _WIDE_U32_MAX)
            length = np.where(self._is_in_cells, cells * self._cell_on_wire & _WIDE_U32_MAX, length)
        return (length * _WIDE_NS_PER_S // self._rate).view(np.int64)
