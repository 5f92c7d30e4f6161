"""Backlog, Backlogs: how many packets are in a link, in many links, by the moments at which they leave.

Look at the moments only when a limit could have been reached: a queue far from its limit costs an append.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from heapq import heappop, heappush

import numpy as np
from numpy.typing import NDArray

__all__ = ["Backlog", "Backlogs"]

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


_LEAST_ROWS = 256
_NEVER_NS = -(2**63)

Moments = NDArray[np.int64]
Clock = NDArray[np.int64] | np.int64


class Backlogs:
    """The packets in each link; each leaves at its moment, as if timers were ideal.

    ::

        row   link 0   link 1         A row a packet, copied. Of those that have left none is looked for until a
         0     t        t             limit could have been reached, or the rows are twice what the fullest link
         1     t        never         needed when last looked at: then they are packed.

    Args:
        links: How many.
    """

    def __init__(self, links: int) -> None:
        self._leave_ns: Moments = np.empty((_LEAST_ROWS, links), dtype=np.int64)
        self._rows = 0
        self._look_at = _LEAST_ROWS
        self._most = 0  # no link holds more

    def add(self, leave_ns: Moments) -> None:
        """Put one packet in each link; ``_NEVER_NS`` where there is none."""
        if self._rows == len(self._leave_ns):
            self._leave_ns = np.concatenate([self._leave_ns, np.empty_like(self._leave_ns)])
        self._leave_ns[self._rows] = leave_ns
        self._rows += 1
        self._most += 1

    def has_room(self, now_ns: Clock, limit_packets: Moments, least_limit: int) -> NDArray[np.bool_] | None:
        """Tell which links hold fewer packets than their limit; None for all.

        Args:
            now_ns: Those due by then have left, ``[links]`` or one moment.
            limit_packets: ``[links]``.
            least_limit: The least of them.
        """
        if self._rows < self._look_at and self._most < least_limit:
            return None
        counts = self.count(now_ns)
        return counts < limit_packets

    def has_room_for(self, now_ns: Clock, packets: int, least_limit: int) -> bool:
        """Tell whether every link has room for so many packets even if none leaves meanwhile."""
        if self._rows < self._look_at and self._most + packets <= least_limit:
            return True
        self.count(now_ns)
        return self._most + packets <= least_limit

    def count(self, now_ns: Clock) -> Moments:
        """Return how many packets are in each link, ``[links]``; those due by ``now_ns`` have left."""
        rows = self._leave_ns[: self._rows]
        inside = rows > now_ns
        counts: Moments = inside.sum(axis=0)
        self._most = int(counts.max())
        self._look_at = max(2 * self._most, _LEAST_ROWS)
        if len(rows) >= self._look_at:
            self._pack(rows, inside)
        return counts

    def _pack(self, rows: Moments, inside: NDArray[np.bool_]) -> None:
        """Keep what is inside, in as few rows as the fullest link needs."""
        rows[~inside] = _NEVER_NS
        rows.sort(axis=0)
        # At most half of them stay, so the two do not overlap.
        rows[: self._most] = rows[len(rows) - self._most :]
        self._rows = self._most
