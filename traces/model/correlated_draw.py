"""CorrelatedDraw, KindDraws: draws that lean on the draw before them, as netem's correlations do.

::

    last' = (draw * (2^32 - w) + last * w) >> 32          w = correlation + 1

``last`` begins with whatever the kernel's memory held: no seed sets it. It fades geometrically, which
``draws_to_forget`` puts in numbers. Correlations do not keep the rate that was asked for (docs/netem.md).

CorrelatedDraw is one kind of one link, KindDraws all kinds (loss, delay, ...) of many links.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from netlab.errors import ProfileError
from netlab.traces.model.draw_block import DrawBlock, Mask
from netlab.traces.model.link_columns import KINDS, LinkColumns
from netlab.traces.qdisc_state import U32_MAX

__all__ = ["CorrelatedDraw", "KindDraws", "draws_to_forget"]


class CorrelatedDraw:
    """A source of draws of one kind: loss, duplication, delay, reordering or corruption.

    Args:
        draw: The generator's plain draw.
        correlation: On the kernel's scale, 1 .. 2^32 - 1.
        last: The draw before the first.
    """

    __slots__ = ("_draw", "_last", "_weight")

    def __init__(self, draw: Callable[[], int], correlation: int, last: int) -> None:
        self._draw = draw
        self._weight = correlation + 1
        self._last = last

    def draw(self) -> int:
        """Return the next draw, 0 .. 2^32 - 1."""
        weight = self._weight
        self._last = answer = (self._draw() * (0x100000000 - weight) + self._last * weight) >> 32
        return answer


def draws_to_forget(correlation: int) -> int:
    """Return after how many draws of a kind it no longer matters which ``last`` the stream began with.

    After them two streams of one seed differ by a few units of 2^32 at most (by fewer than
    ``1 / (1 - w / 2^32)``, where the rounding holds them apart), so decisions agree but for a draw that falls
    within that distance of a probability.

    Args:
        correlation: On the kernel's scale, 0 .. 2^32 - 1.

    Raises:
        ProfileError: 2^32 - 1, always the draw before: it never forgets.
    """
    if correlation == 0:
        return 0
    if not 0 < correlation < U32_MAX:
        raise ProfileError(
            f"correlation = {correlation}: streams forget their beginning below {U32_MAX} alone",
            hint="a correlation of 100 % repeats one draw for ever",
        )
    return math.ceil(32 * math.log(2) / -math.log((correlation + 1) / 2**32))


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

    def forget(self, kind: str, link: int | slice) -> None:
        """Let the draws of a kind of one link, or of several, begin where no seed says."""
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
