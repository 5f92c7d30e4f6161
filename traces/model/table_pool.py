"""TablePool: the distribution tables of many links in one array; links that share a table share its entries.

::

    entries  [0 | table A ............ | table B .....| room]   link i draws entries[start[i] + draw % size[i]]
              `- stands in for "no table"

A table that comes is appended; those that no link uses any more are cleared away once they are most of it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["TablePool"]

Table = tuple[int, ...]

_LEAST_WASTE = 2**17


class _Place(NamedTuple):
    """Where a table lies, and its least entry."""

    table: Table
    start: int
    least: int


class TablePool:
    """Tables by link.

    Args:
        links: How many; each begins without a table.
    """

    def __init__(self, links: int) -> None:
        self._of_link: list[Table | None] = [None] * links
        self.start = np.zeros(links, dtype=np.int64)
        self.size = np.ones(links, dtype=np.uint32)
        self.has_table = np.zeros(links, dtype=bool)
        self.least = np.zeros(links, dtype=np.int64)
        self._index_mask: NDArray[np.uint32] | None = None
        self._stale = True
        self._begin_empty()

    def _begin_empty(self) -> None:
        self._entries = np.zeros(1, dtype=np.int16)
        self._length = 1
        self._place_of: dict[Table, _Place] = {}
        # By identity first: hashing a table of thousands of entries once a link would dominate.
        self._place_by_id: dict[int, _Place] = {}

    def put(self, link: int | slice, table: Table | None) -> None:
        """Give a link a table, or none; or several links the same."""
        links = range(len(self._of_link))[link] if isinstance(link, slice) else (link,)
        if all(table is self._of_link[one] for one in links):
            return
        for one in links:
            self._of_link[one] = table
        self._stale = True
        self.has_table[link] = table is not None
        if table is None:
            self.start[link], self.size[link], self.least[link] = 0, 1, 0
            return
        place = self._place(table)
        self.start[link], self.size[link], self.least[link] = place.start, len(table), place.least

    def settle(self) -> None:
        """Bring what is derived from all tables up to date."""
        if not self._stale:
            return
        self._stale = False
        used = {id(table): len(table) for table in self._of_link if table is not None}
        if self._length > 2 * sum(used.values()) + _LEAST_WASTE:
            self._begin_empty()
            for link, table in enumerate(self._of_link):
                if table is not None:
                    self.start[link] = self._place(table).start
        size, one = self.size, np.uint32(1)
        self._index_mask = None if (size & (size - one)).any() else size - one

    def draw(self, draws: NDArray[np.uint32]) -> NDArray[np.int16]:
        """Return the entry of each link's table that its draw picks, ``[..., links]``; 0 where it has no table."""
        index = draws % self.size if self._index_mask is None else draws & self._index_mask
        return self._entries.take(self.start + index, mode="clip")

    def _place(self, table: Table) -> _Place:
        place = self._place_by_id.get(id(table))
        if place is None:
            place = self._place_of.get(table)
            if place is None:
                place = self._append(table)
            if len(self._place_by_id) > 2 * len(self._of_link):
                self._place_by_id.clear()
            # Held here the table stays alive, so that its identity stays its own.
            self._place_by_id[id(table)] = place = place._replace(table=table)
        return place

    def _append(self, table: Table) -> _Place:
        start, self._length = self._length, self._length + len(table)
        if self._length > len(self._entries):
            self._entries = np.resize(self._entries, 2 * self._length)
        self._entries[start : self._length] = table
        place = self._place_of[table] = _Place(table, start, min(table))
        return place
