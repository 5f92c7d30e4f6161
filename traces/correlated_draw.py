"""CorrelatedDraw: draws that lean on the draw before them, as netem's correlations do.

::

    last' = (draw * (2^32 - w) + last * w) >> 32          w = correlation + 1

``last`` begins with whatever the kernel's memory held: no seed sets it. It fades geometrically, which
``draws_to_forget`` puts in numbers. Correlations do not keep the rate that was asked for (docs/netem.md).
"""

from __future__ import annotations

import math
from collections.abc import Callable

from netlab.errors import ProfileError
from netlab.traces.qdisc_state import U32_MAX

__all__ = ["CorrelatedDraw", "draws_to_forget"]


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

    @property
    def last(self) -> int:
        """The draw before the next."""
        return self._last

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
