"""The delay of a packet, drawn as netem draws it, in whole nanoseconds.

Each is an object with ``delay_ns() -> int``, chosen once for a state. Knows no queue and no rate.

::

    no jitter     latency                                          no draw
    no table      draw % (2 jitter) + latency - jitter
    a table       t = table[draw % n];  latency + jitter * t / 8192, rounded, halves away from zero
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from netlab.traces.qdisc_state import QdiscState

__all__ = ["ConstantDelay", "DelayDraw", "TableDelay", "UniformDelay", "make_delay"]

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
