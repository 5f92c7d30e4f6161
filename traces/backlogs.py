"""Backlogs: how many packets are in each of many links, by the moments at which they leave.

The twin of ``Backlog``: looks at the moments only when a limit could have been reached.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["Backlogs"]

_LEAST_LOOK = 256
_NEVER_NS = -(2**63)

Moments = NDArray[np.int64]
Clock = NDArray[np.int64] | np.int64


class Backlogs:
    """The packets in each link; each leaves at its moment, as if timers were ideal.

    Args:
        links: How many.
    """

    def __init__(self, links: int) -> None:
        self._links = links
        self._rows: list[Moments] = []
        self._look_at = _LEAST_LOOK

    def add(self, leave_ns: Moments) -> None:
        """Put one packet in each link; ``_NEVER_NS`` where there is none."""
        self._rows.append(leave_ns)

    def has_room(
        self, now_ns: Clock, limit_packets: Moments, least_limit: int, taken: NDArray[np.bool_] | None = None
    ) -> NDArray[np.bool_] | None:
        """Tell which links hold fewer packets than their limit; None for all.

        Args:
            now_ns: Those due by then have left, ``[links]`` or one moment.
            limit_packets: ``[links]``.
            least_limit: The least of them.
            taken: Which links have another packet that is not in yet, ``[links]``.
        """
        most = len(self._rows) + (taken is not None)
        if most < least_limit and most < self._look_at:
            return None
        counts = self.count(now_ns)
        if taken is not None:
            counts = counts + taken
        return counts < limit_packets

    def has_room_for(self, now_ns: Clock, packets: int, least_limit: int) -> bool:
        """Tell whether every link has room for so many packets even if none leaves meanwhile."""
        most = len(self._rows) + packets
        if most < self._look_at and most <= least_limit:
            return True
        return int(self.count(now_ns).max()) + packets <= least_limit

    def count(self, now_ns: Clock) -> Moments:
        """Return how many packets are in each link, ``[links]``; those due by ``now_ns`` have left."""
        if not self._rows:
            return np.zeros(self._links, dtype=np.int64)
        rows = np.array(self._rows)
        inside = rows > now_ns
        counts: Moments = inside.sum(axis=0)
        self._pack(rows, inside, int(counts.max()))
        return counts

    def _pack(self, rows: Moments, inside: NDArray[np.bool_], most: int) -> None:
        """Keep what is inside, in as few rows as the fullest link needs."""
        if most == len(rows):
            return
        rows[~inside] = _NEVER_NS
        self._rows = list(np.sort(rows, axis=0)[len(rows) - most :])
        self._look_at = max(2 * most, _LEAST_LOOK)
