"""WireTime: how long a packet occupies a link with a rate, by the kernel's integer arithmetic.

::

    length (MAC header included) + overhead --whole cells--> cells * (cell size + cell overhead) --> ns at the rate

Lengths that overhead makes negative come out as absurd as they do in the kernel: everything is unsigned.
"""

from __future__ import annotations

from netlab.traces.qdisc_state import U32_MAX, QdiscState

__all__ = ["NS_PER_S", "WireTime"]

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
