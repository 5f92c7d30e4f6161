"""DelayDraws: the delays of one packet a link, over many links, in netem's integers.

The twin of ``delay_draw``.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from netlab.traces.draw_block import Mask
from netlab.traces.kind_draws import KindDraws
from netlab.traces.link_columns import LinkColumns

__all__ = ["DelayDraws"]

_HALF = 4096
_SCALE_BITS = 13


class DelayDraws:
    """Draws the delays of a packet of each link.

    Args:
        columns: The states of the links; to be made anew when they change.
        draws: The draws by kind.
    """

    def __init__(self, columns: LinkColumns, draws: KindDraws) -> None:
        self._draws = draws
        self._tables = columns.tables
        self._latency_ns, self._jitter_ns = columns.numbers["latency_ns"], columns.numbers["jitter_ns"]
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
