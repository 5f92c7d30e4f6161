"""TablePool: the distribution tables of many links in one array; links that share a table share its entries.

::

    entries  [0 | table A ............ | table B .....]      link i draws entries[start[i] + draw % size[i]]
              `- stands in for "no table"
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["TablePool"]

Table = tuple[int, ...]


class TablePool:
    """Tables by link.

    Args:
        links: How many.
    """

    def __init__(self, links: int) -> None:
        self._of_link: list[Table | None] = [None] * links
        self._stale = True
        self.entries = np.zeros(1, dtype=np.int64)
        self.start = np.zeros(links, dtype=np.int64)
        self.size = np.ones(links, dtype=np.uint32)
        self.has_table = np.zeros(links, dtype=bool)
        self.index_mask: NDArray[np.uint32] | None = None

    def put(self, link: int, table: Table | None) -> None:
        """Give a link a table, or none."""
        if table is not self._of_link[link]:
            self._of_link[link] = table
            self._stale = True

    def settle(self) -> None:
        """Lay the tables out anew where a link has another one."""
        if not self._stale:
            return
        self._stale = False
        start_of: dict[Table, int] = {}
        # By identity first: hashing a table of thousands of entries once a link would dominate.
        start_by_id: dict[int, int] = {}
        parts: list[Table] = [(0,)]
        length = 1
        for link, table in enumerate(self._of_link):
            self.has_table[link] = table is not None
            if table is None:
                self.start[link], self.size[link] = 0, 1
                continue
            start = start_by_id.get(id(table))
            if start is None:
                start = start_of.get(table)
                if start is None:
                    start = start_of[table] = length
                    parts.append(table)
                    length += len(table)
                start_by_id[id(table)] = start
            self.start[link], self.size[link] = start, len(table)
        self.entries = np.concatenate([np.array(part, dtype=np.int64) for part in parts])
        size = self.size
        is_power_of_two = not (size & (size - np.uint32(1))).any()
        self.index_mask = size - np.uint32(1) if is_power_of_two else None

    def draw(self, draws: NDArray[np.uint32]) -> NDArray[np.int64]:
        """Return the entry of each link's table that its draw picks, ``[links]``; 0 where it has no table."""
        index = draws % self.size if self.index_mask is None else draws & self.index_mask
        entries: NDArray[np.int64] = self.entries.take(self.start + index, mode="clip")
        return entries
