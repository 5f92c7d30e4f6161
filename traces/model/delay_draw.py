"""The delay of a packet, drawn as netem draws it, in whole nanoseconds: for one link, and for many.

For one it is an object with ``delay_ns() -> int``, chosen once for a state. Knows no queue and no rate.

::

    no jitter     latency                                          no draw
    no table      draw % (2 jitter) + latency - jitter
    a table       t = table[draw % n];  latency + jitter * t / 8192, rounded, halves away from zero
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from netlab.traces.model.correlated_draw import KindDraws
from netlab.traces.model.draw_block import Mask
from netlab.traces.model.link_columns import LinkColumns
from netlab.traces.qdisc_state import QdiscState

__all__ = ["ConstantDelay", "DelayDraw", "DelayDraws", "TableDelay", "UniformDelay", "make_delay"]

_SCALE_BITS = 13
_HALF = 4096


class DelayDraw(Protocol):
    """Draws delays."""

    def delay_ns(self) -> int:
        """Return the delay of the next packet; may be negative."""
        ...


class ConstantDelay:
    """The same for every packet; takes no draw."""

    __slots__ = ("_latency_ns",)

    def __init__(self, latency_ns: int) -> None:
        self._latency_ns = latency_ns

    def delay_ns(self) -> int:
        """Return the latency."""
        return self._latency_ns


class UniformDelay:
    """Anything from latency - jitter up to, not including, latency + jitter."""

    __slots__ = ("_draw", "_least_ns", "_width_ns")

    def __init__(self, latency_ns: int, jitter_ns: int, draw: Callable[[], int]) -> None:
        self._draw = draw
        self._least_ns = latency_ns - jitter_ns
        self._width_ns = 2 * jitter_ns

    def delay_ns(self) -> int:
        """Take one draw."""
        return self._draw() % self._width_ns + self._least_ns


class TableDelay:
    """One entry of a table, scaled by the jitter."""

    __slots__ = ("_draw", "_entries", "_jitter_ns", "_latency_ns", "_table")

    def __init__(self, latency_ns: int, jitter_ns: int, table: tuple[int, ...], draw: Callable[[], int]) -> None:
        self._draw = draw
        self._latency_ns = latency_ns
        self._jitter_ns = jitter_ns
        self._table = table
        self._entries = len(table)

    def delay_ns(self) -> int:
        """Take one draw."""
        entry = self._table[self._draw() % self._entries]
        # The kernel works with jitter / 8192 and jitter % 8192 apart, truncating; the sum is this rounding.
        half = _HALF if entry >= 0 else _HALF - 1
        return ((self._jitter_ns * entry + half) >> _SCALE_BITS) + self._latency_ns


def make_delay(state: QdiscState, draw: Callable[[], int]) -> DelayDraw:
    """Return what draws the delays of a state.

    Args:
        state: Its latency, jitter and table count.
        draw: The draw for delays, correlated where that was asked for.
    """
    if not state.jitter_ns:
        return ConstantDelay(state.latency_ns)
    if state.delay_table is None:
        return UniformDelay(state.latency_ns, state.jitter_ns, draw)
    return TableDelay(state.latency_ns, state.jitter_ns, state.delay_table, draw)


class DelayDraws:
    """Draws the delays of a packet of each link.

    Args:
        columns: The states of the links; to be made anew when they change.
        draws: The draws by kind.
    """

    def __init__(self, columns: LinkColumns, draws: KindDraws) -> None:
        self._draws = draws
        self._tables = columns.tables
        # A copy: without jitter it is in fates, which stay as they are when the columns change.
        self._latency_ns = columns.numbers["latency_ns"].copy()
        self._latency_ns.setflags(write=False)
        self._jitter_ns = columns.numbers["jitter_ns"]
        jitters = columns.jitters
        self._any_jitters, self._all_jitter, self._jitters = bool(jitters.any()), bool(jitters.all()), jitters
        by_table = columns.by_table
        self._all_by_table, self._any_table, self._by_table = bool(by_table.all()), bool(by_table.any()), by_table
        self._uniform_width, self._uniform_least_ns = columns.uniform_width, columns.uniform_least_ns

    def delay_ns(self, who: Mask) -> NDArray[np.int64]:
        """Return the delay of each of these links' packet, ``[links]``; means nothing for the others."""
        if not self._any_jitters:
            return self._latency_ns
        if not self._all_jitter:
            who = self._jitters if who is None else self._jitters & who
        return self.of(self._draws.draw("delay", who))

    def of(self, draws: NDArray[np.uint32]) -> NDArray[np.int64]:
        """Return the delays that draws stand for, ``[..., links]`` both."""
        if self._all_by_table:
            return self._from_table(draws)
        uniform: NDArray[np.int64] = draws % self._uniform_width + self._uniform_least_ns
        return np.where(self._by_table, self._from_table(draws), uniform) if self._any_table else uniform

    def _from_table(self, draws: NDArray[np.uint32]) -> NDArray[np.int64]:
        entries = self._tables.draw(draws)
        delay_ns = entries * self._jitter_ns
        delay_ns += _HALF
        delay_ns -= entries < 0  # halves are rounded away from zero
        delay_ns >>= _SCALE_BITS
        delay_ns += self._latency_ns
        return delay_ns
