"""KindDraws: the draws of each kind (loss, delay, ...) over many links, correlated where that was asked for.

The twin of ``CorrelatedDraw``. Where no link correlates a kind, its draws are the generators' plain ones.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from netlab.traces.draw_block import DrawBlock, Mask
from netlab.traces.link_columns import KINDS, LinkColumns

__all__ = ["KindDraws"]

_ONE, _SHIFT, _TWO_32 = np.uint64(1), np.uint64(32), np.uint64(2**32)


class KindDraws:
    """Draws by kind.

    Args:
        columns: The states of the links.
        block: Their generators.
        unseeded_last: The draw before the first, wherever correlations are sent.
    """

    def __init__(self, columns: LinkColumns, block: DrawBlock, unseeded_last: int) -> None:
        self._columns = columns
        self._block = block
        self._unseeded_last = unseeded_last
        self._last = {kind: np.full(len(columns.ecn), unseeded_last, dtype=np.uint64) for kind in KINDS}

    def forget(self, kind: str, link: int) -> None:
        """Let one link's draws of a kind begin where no seed says."""
        self._last[kind][link] = self._unseeded_last

    def draw(self, kind: str, who: Mask) -> NDArray[np.uint32]:
        """Take the next draw of these links; what is returned for the others means nothing."""
        draws = self._block.draw(who)
        if not self._columns.correlates[kind]:
            return draws
        correlation, last = self._columns.correlation[kind], self._last[kind]
        correlates = correlation > 0
        weight = correlation + _ONE
        answer = (draws * (_TWO_32 - weight) + last * weight) >> _SHIFT
        moves = correlates if who is None else correlates & who
        self._last[kind] = np.where(moves, answer, last)
        return np.where(correlates, answer, draws).astype(np.uint32)

    def decide(self, kind: str, can: NDArray[np.bool_], who: Mask) -> NDArray[np.bool_]:
        """Return for which of these links the thing happens, ``[links]``; only those that can take a draw."""
        if who is not None:
            can = can & who
        happens: NDArray[np.bool_] = self._columns.words[kind] >= self.draw(kind, can)
        return happens & can
