"""RandomStates: netem states of every kind that a kernel takes, one after another, from one seed.

Values at the edges of a field come up about as often as ordinary ones, and each part is left out now and then:
what sticks shows when something goes that was there. Knows no kernel.
"""

from __future__ import annotations

import random

from netlab.traces.qdisc_state import (
    U32_MAX,
    FourStateState,
    GilbertElliottState,
    QdiscState,
    SlotState,
)

__all__ = ["RandomStates"]

_S32_MAX, _S64_MAX, _U64_MAX = 2**31 - 1, 2**63 - 1, 2**64 - 1
_LONGEST_SLOT_NS = 10**12


class RandomStates:
    """A source of states.

    Args:
        seed: The same seed gives the same states.
    """

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def draw(self) -> QdiscState:
        """Return the next state; its seed is None one time in three."""
        return QdiscState(
            latency_ns=self._number(0, _S64_MAX),
            jitter_ns=self._number(0, _S32_MAX),
            delay_correlation=self._u32(),
            delay_table=self._table(),
            limit_packets=self._u32(),
            loss=self._u32(),
            loss_correlation=self._u32(),
            loss_model=self._loss_model(),
            duplicate=self._u32(),
            duplicate_correlation=self._u32(),
            gap=self._u32(),
            reorder=self._u32(),
            reorder_correlation=self._u32(),
            corrupt=self._u32(),
            corrupt_correlation=self._u32(),
            rate_bytes_per_s=self._number(0, _U64_MAX),
            packet_overhead_bytes=self._number(-_S32_MAX - 1, _S32_MAX),
            cell_size_bytes=self._u32(),
            cell_overhead_bytes=self._number(-_S32_MAX - 1, _S32_MAX),
            ecn=self._random.random() < 0.5,
            slot=self._slot(),
            slot_table=self._table(),
            seed=self._random.choice((None, self._random.getrandbits(64), self._number(0, _U64_MAX))),
        )

    def _number(self, least: int, most: int) -> int:
        """Return a number: one at an edge, a small one, or any."""
        edges = [number for number in (least, 0, 1, U32_MAX, U32_MAX + 1, most) if least <= number <= most]
        small = self._random.randint(least, most) >> self._random.randrange(64)
        return self._random.choice((self._random.choice(edges), small, self._random.randint(least, most)))

    def _u32(self) -> int:
        return self._number(0, U32_MAX)

    def _table(self) -> tuple[int, ...] | None:
        entries = self._random.choice((0, 0, 1, 2, self._random.randint(3, 4096)))
        return tuple(self._random.choices(range(-32768, 32768), k=entries)) or None

    def _loss_model(self) -> GilbertElliottState | FourStateState | None:
        kind = self._random.randrange(3)
        if kind == 0:
            return GilbertElliottState(p=self._u32(), r=self._u32(), h=self._u32(), k1=self._u32())
        if kind == 1:
            p13, p31, p32, p14, p23 = (self._u32() for _ in range(5))
            return FourStateState(p13=p13, p31=p31, p32=p32, p14=p14, p23=p23)
        return None

    def _slot(self) -> SlotState | None:
        if self._random.random() < 0.5:
            return None
        least_ns = self._number(0, _LONGEST_SLOT_NS)
        return SlotState(
            min_delay_ns=least_ns,
            max_delay_ns=least_ns + self._number(0, _LONGEST_SLOT_NS),
            max_packets=self._number(0, _S32_MAX),
            max_bytes=self._number(0, _S32_MAX),
            dist_delay_ns=self._number(0, _LONGEST_SLOT_NS),
            dist_jitter_ns=self._number(0, _S32_MAX),
        )
