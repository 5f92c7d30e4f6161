"""PreparedDraws: the next few draws of many generators, made again each time the generators have moved on.

::

    words   row 0  s1s2 s1s2 s1s2 ...  |  s3s4 s3s4 s3s4 ...       two words an item: a generator is moved in two
            row 1  ...                                             copies, and xor of the halves is half of a draw

Without rows that are kept, a generator is seeded in place: nothing of it has been made ahead but what comes next.
The twin of ``Taus113``. Knows no packet.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from netlab.traces.model.taus113 import COMPONENTS, start_words_of

__all__ = ["PreparedDraws"]

_PAIRS = 2
_WORDS = 4


class PreparedDraws:
    """The next draws of each generator.

    Args:
        rows: How many of each.
        generators: How many generators; each is to be seeded.
    """

    def __init__(self, rows: int, generators: int) -> None:
        self.row_items = _PAIRS * generators
        """How far apart rows are, in places for ``move_to``."""
        self.draws: NDArray[np.int64] = np.zeros((rows, generators), dtype=np.int64)
        """``[rows, generators]``, 0 .. 2^32 - 1."""
        self.flat_draws: NDArray[np.int64] = self.draws.reshape(-1)
        # Two banks of words: the generators are moved from one into the other.
        self._banks = [_Bank(rows, generators) for _ in range(2)]
        # In full: broadcasting takes longer.
        self._constants = [_laid_out(place, generators) for place in range(4)]
        self._room = np.empty((2, _PAIRS, 2 * generators), dtype=np.uint32)
        self._halves = np.empty((rows, generators), dtype=np.uint64)
        halves = self._halves.view(np.uint32)
        self._two_halves = halves[:, 0::2], halves[:, 1::2]

    def seed(self, which: NDArray[np.int64], seeds: NDArray[np.uint64]) -> None:
        """Begin the streams of seeds, ``[n]`` both."""
        self._banks[0].now[:, which] = start_words_of(seeds).view(np.uint64).T

    def move_to(self, places: NDArray[np.int64]) -> None:
        """Let each generator stand elsewhere: its number and ``row_items`` for each draw that it has taken."""
        before, after = self._banks
        before.flat[0].take(places, mode="clip", out=after.now[0])
        before.flat[1].take(places, mode="clip", out=after.now[1])
        self._banks = [after, before]

    def make(self) -> None:
        """Make the draws that come next."""
        mask, left, tap, right = self._constants
        one, other = self._room
        bank = self._banks[0]
        for words, after in bank.steps:
            np.bitwise_and(words, mask, out=one)
            np.left_shift(one, left, out=one)
            np.left_shift(words, tap, out=other)
            np.bitwise_xor(other, words, out=other)
            np.right_shift(other, right, out=other)
            np.bitwise_xor(one, other, out=after)
        np.bitwise_xor(*bank.pairs, out=self._halves)
        np.bitwise_xor(*self._two_halves, out=self.draws)


class _Bank:
    """Words, ``[rows + 1, 2, generators]``, and how they are looked at."""

    def __init__(self, rows: int, generators: int) -> None:
        words = np.zeros((rows + 1, _PAIRS, generators), dtype=np.uint64)
        self.now = words[0]
        flat = words.reshape(-1)
        self.flat = flat, flat[generators:]
        # The arithmetic takes words as they lie, two side by side.
        self.steps = [(words[row].view(np.uint32), words[row + 1].view(np.uint32)) for row in range(rows)]
        self.pairs = words[1:, 0], words[1:, 1]


def _laid_out(place: int, generators: int) -> NDArray[np.uint32]:
    """Return one of the constants of each component, where its words lie, ``[2, 2 * generators]``."""
    constants = np.array([component[place] for component in COMPONENTS], dtype=np.uint32)
    return np.tile(constants.reshape(_PAIRS, _WORDS // _PAIRS), (1, generators))
