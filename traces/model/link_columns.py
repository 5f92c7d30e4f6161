"""LinkColumns: the states of many links as columns, one entry a link, in the forms the arithmetic wants.

Knows states and what they imply for all links together (``any_...``: a step that no link takes is left out);
knows no packet and no generator.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from netlab.traces.model.table_pool import TablePool
from netlab.traces.qdisc_state import FourStateState, GilbertElliottState, QdiscState

__all__ = ["KINDS", "LinkColumns"]

KINDS = ("delay", "loss", "duplicate", "reorder", "corrupt")
"""The kinds of draws that may be correlated, in the order of the correlation columns."""

Bools = NDArray[np.bool_]
Words = NDArray[np.uint32]
Numbers = NDArray[np.int64]

_WORDS = ("loss", "duplicate", "reorder", "corrupt")
_CHAIN_WORDS = ("p", "r", "h", "k1", "p13", "p31", "p32", "p14", "p23")
_NUMBERS = ("latency_ns", "jitter_ns", "limit_packets", "gap", "packet_overhead_bytes", "cell_size_bytes",
            "cell_overhead_bytes")  # fmt: skip


class LinkColumns:
    """Settings of each link, ``[links]`` a column.

    Args:
        links: How many; each starts as a qdisc to which nothing was sent yet.
    """

    def __init__(self, links: int) -> None:
        self.words = {name: np.zeros(links, dtype=np.uint32) for name in (*_WORDS, *_CHAIN_WORDS)}
        self.numbers = {name: np.zeros(links, dtype=np.int64) for name in _NUMBERS}
        self.rate_bytes_per_s = np.zeros(links, dtype=np.uint64)
        self.ecn, self.is_gilbert_elliott, self.is_four_state = np.zeros((3, links), dtype=bool)
        self.correlation = {kind: np.zeros(links, dtype=np.uint64) for kind in KINDS}
        self.tables = TablePool(links)
        self._stale = True

    def put(self, link: int | slice, state: QdiscState) -> None:
        """Write the state of one link, or of several."""
        for name in _WORDS:
            self.words[name][link] = getattr(state, name)
        for name in _NUMBERS:
            self.numbers[name][link] = getattr(state, name)
        self.rate_bytes_per_s[link] = state.rate_bytes_per_s
        self.ecn[link] = state.ecn
        chain = state.loss_model
        self.is_gilbert_elliott[link] = isinstance(chain, GilbertElliottState)
        self.is_four_state[link] = isinstance(chain, FourStateState)
        if chain is not None:
            self.words["loss"][link] = 0
            for name in chain.__struct_fields__:
                self.words[name][link] = getattr(chain, name)
        for kind in KINDS:
            self.correlation[kind][link] = getattr(state, f"{kind}_correlation")
        self.tables.put(link, state.delay_table)
        self._stale = True

    def settle(self) -> bool:
        """Bring what is derived up to date; return whether anything had changed."""
        if not self._stale:
            return False
        self._stale = False
        words, numbers = self.words, self.numbers
        self.loses, self.duplicates = words["loss"] > 0, words["duplicate"] > 0
        self.corrupts, self.reorders = words["corrupt"] > 0, numbers["gap"] > 0
        self.jitters, self.has_rate = numbers["jitter_ns"] > 0, self.rate_bytes_per_s > 0
        self.correlates = {kind: bool(rho.any()) for kind, rho in self.correlation.items()}
        self.least_limit = int(numbers["limit_packets"].min())
        self._settle_delay()
        self.is_plain = not (
            self.duplicates.any() or self.corrupts.any() or self.reorders.any()
            or self.is_gilbert_elliott.any() or self.is_four_state.any()
            or self.correlates["loss"] or self.correlates["delay"]
        )  # fmt: skip
        loss_draws = 2 if self.is_gilbert_elliott.any() else int(self.loses.any() or self.is_four_state.any())
        each = loss_draws + int(self.corrupts.any()) + int(self.reorders.any()) + int(self.jitters.any())
        self.most_draws = 2 * each + 1 if self.duplicates.any() else each
        return True

    def _settle_delay(self) -> None:
        jitter_ns, latency_ns = self.numbers["jitter_ns"], self.numbers["latency_ns"]
        self.tables.settle()
        # Without jitter any entry stands for the latency, so such a link passes as one with a table.
        self.by_table = self.tables.has_table | ~self.jitters
        self.uniform_width = np.maximum(2 * jitter_ns, 1).astype(np.uint32)
        self.uniform_least_ns = latency_ns - jitter_ns
        # The rounding may add half a nanosecond: one more to be safe.
        least_ns = np.where(self.tables.has_table, (jitter_ns * self.tables.least >> 13) - 1, -jitter_ns)
        self.may_be_early = bool((latency_ns + least_ns < 0)[self.jitters].any() or (latency_ns < 0).any())
