"""DrawBlock: the generators of many links side by side, each at its own place in its own stream.

Rows of draws are made for all links at once, only as they are needed; each link reads down its own column.

::

    row   link 0   link 1   link 2          Each link stands at its own row: a lost packet takes fewer draws.
     0      u        u        u             When the block is used up, every link's words are taken from where it
     1      u   <-at u        u             stands, and become row 0 of the next block.
     2      u        u   <-at u   <-at

The twin of ``Taus113``, equal to it draw by draw.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from netlab.traces.model.taus113 import start_words, step_lanes

__all__ = ["DrawBlock", "Mask"]

Mask = NDArray[np.bool_] | None
"""Which links, ``[links]``; None for all of them."""

ROWS = 48


class DrawBlock:
    """One stream of 32-bit draws a link.

    Args:
        seeds: The seed of each.
    """

    def __init__(self, seeds: Sequence[int]) -> None:
        links = len(seeds)
        # words[row] are the four words from which row's draw is made; the words after it are words[row + 1].
        self._words = np.empty((ROWS + 1, 4, links), dtype=np.uint32)
        self._words[0] = np.array([start_words(seed) for seed in seeds], dtype=np.uint32).T
        self._draws = np.empty(ROWS * links, dtype=np.uint32)
        self._rows = self._draws.reshape(ROWS, links)
        self._links = links
        self._columns = np.arange(links)
        self._at = self._columns.copy()
        self._made = 0
        self._used = 0
        self._left, self._right = np.empty((2, 4, links), dtype=np.uint32)
        self._seeded: dict[int, int] = {}

    def seed(self, link: int, seed: int) -> None:
        """Begin the stream of a seed for one link."""
        start_words(seed)
        self._seeded[link] = seed

    def reserve(self, draws: int) -> None:
        """Make sure that each link can take as many draws as this, ``ROWS`` at most, before the next reserve."""
        if self._seeded or self._used + draws > ROWS:
            self._begin_again()
        self._used += draws
        while self._made < self._used:
            self._make_row(self._made)
            self._made += 1

    def draw(self, who: Mask) -> NDArray[np.uint32]:
        """Take the next draw of the links named; what is returned for the others means nothing."""
        draws: NDArray[np.uint32] = self._draws.take(self._at, mode="clip")
        if who is None:
            self._at += self._links
        else:
            self._at += who * self._links
        return draws

    @property
    def places(self) -> NDArray[np.int64]:
        """Where each link's next draw lies, for ``at`` before the next ``reserve``; not to be kept."""
        return self._at

    def skip(self, who: NDArray[np.bool_]) -> None:
        """Take the next draw of the links named without looking at it."""
        self._at += who * self._links

    def at(self, places: NDArray[np.int64]) -> NDArray[np.uint32]:
        """Return the draws at places, which are those of links that took them; the others mean nothing."""
        return self._draws.take(places, mode="clip")

    def _make_row(self, row: int) -> None:
        step_lanes(self._words[row], self._words[row + 1], self._left, self._right)
        np.bitwise_xor.reduce(self._words[row + 1], axis=0, out=self._rows[row])

    def _begin_again(self) -> None:
        """Make the words where each link stands the first of a new block."""
        row = self._at // self._links
        self._words[0] = self._words[row, :, self._columns].T
        for link, seed in self._seeded.items():
            self._words[0, :, link] = start_words(seed)
        self._seeded.clear()
        self._at[:] = self._columns
        self._made = self._used = 0
