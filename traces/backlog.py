"""Backlog: how many packets are in a link, by the moments at which they leave.

Looks at the moments only when it has to: a queue far from its limit costs an append.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from heapq import heappop, heappush

__all__ = ["Backlog"]

_LEAST_LOOK = 1024


class Backlog:
    """The packets in one link; each leaves at its moment, as if timers were ideal."""

    __slots__ = ("_leave_ns", "_look_at", "add")

    def __init__(self) -> None:
        self._leave_ns: list[int] = []  # a heap
        self._look_at = _LEAST_LOOK
        # Once a packet: not worth a frame of Python's.
        self.add: Callable[[int], None] = partial(heappush, self._leave_ns)
        """Put a packet in that leaves at this moment."""

    def has_room(self, now_ns: int, limit_packets: int) -> bool:
        """Tell whether fewer than ``limit_packets`` are in; those due by ``now_ns`` have left."""
        count = len(self._leave_ns)
        if count < limit_packets and count < self._look_at:
            return True
        count = self.count(now_ns)
        self._look_at = max(2 * count, _LEAST_LOOK)
        return count < limit_packets

    def count(self, now_ns: int) -> int:
        """Return how many are in; those due by ``now_ns`` have left."""
        leave_ns = self._leave_ns
        while leave_ns and leave_ns[0] <= now_ns:
            heappop(leave_ns)
        return len(leave_ns)
