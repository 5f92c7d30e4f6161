"""LimitWatch: the proof that no queue of many links has been full, without keeping the packets that are in them.

::

         first            second             now
    -------|----------------|------------------|->      All that came before ``first`` have left, so at most
           `--- packets counted since first ---'        those counted since are in.

``second`` becomes ``first`` once all that came before it have left. Counting is all that a packet costs; the marks
are looked at now and then, and often enough. Knows no packet's fate.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from netlab.errors import ProfileError

__all__ = ["LimitWatch"]

Bools = NDArray[np.bool_]
Numbers = NDArray[np.int64]

_LOOKS_A_LIMIT = 8
_LEFT_ALREADY = -(2**63)


class LimitWatch:
    """Counts the packets of each link.

    Args:
        links: How many.
        least_limit: No link's limit is lower.
    """

    def __init__(self, links: int, least_limit: int) -> None:
        self._count = np.zeros(links, dtype=np.int64)
        # The count at each mark, [first and second, links], and when all that came before the second has left.
        self._marked_count = np.zeros((2, links), dtype=np.int64)
        self._left_by_ns = np.zeros(links, dtype=np.int64)
        self._to_look_at = np.zeros(links, dtype=bool)
        self._between_looks = max(least_limit // _LOOKS_A_LIMIT, 1)
        self._since_look = 0
        self.looks = False
        """Whether some links are waiting to be looked at."""

    def begin_anew(self, links: Numbers) -> None:
        """Take note that these links are empty, and their clocks perhaps others."""
        self._left_by_ns[links] = _LEFT_ALREADY
        self._marked_count[:, links] = self._count[links]  # what came before was another episode's

    def count(self, who: Bools) -> None:
        """Count a packet of each of these links, ``[links]``."""
        self._count += who
        self._since_look += 1
        if self._since_look == self._between_looks:
            self._since_look = 0
            # Those that had less than this since they were last marked cannot be near their limit.
            np.greater_equal(self._count - self._marked_count[1], self._between_looks // 2, out=self._to_look_at)
            self.looks = bool(self._to_look_at.any())

    def look(self, links: Numbers, now_ns: Numbers, left_by_ns: Numbers, limit: Numbers) -> None:
        """Move the marks of links that wait for it and are about to have a packet.

        Args:
            links: Which have a packet; ``[n]``, as all others.
            now_ns: Their clocks.
            left_by_ns: When all that have come will have left.
            limit: How many packets their queues hold.

        Raises:
            ProfileError: A queue may have been full, or may be soon.
        """
        waiting = self._to_look_at[links]
        self._to_look_at[links] = False
        self.looks = bool(self._to_look_at.any())
        links, now_ns, limit = links[waiting], now_ns[waiting], limit[waiting]
        count = self._count[links]
        first_count, second_count = self._marked_count[:, links]
        moves = now_ns >= self._left_by_ns[links]
        self._marked_count[0, links] = first_count = np.where(moves, second_count, first_count)
        self._marked_count[1, links] = np.where(moves, count, second_count)
        self._left_by_ns[links] = np.where(moves, left_by_ns[waiting], self._left_by_ns[links])
        near = count - first_count + 2 * self._between_looks + 2 >= limit
        if near.any():
            at = int(np.flatnonzero(near)[0])
            raise ProfileError(
                f"link {links[at]}: {count[at] - first_count[at]} packets may be in flight at once, and its queue "
                f"holds {limit[at]}: whether it was full is not kept for links prepared ahead",
                hint="a higher rate, a shorter delay, or a limit below 256 packets, which is watched exactly",
            )
