"""What the two engines are compared over: each impairment alone, and some together, with the packets sent.

A script per case, in virtual time a packet a millisecond; in real time all at once, since the delay is longer than
it takes to send them. Slots and unseeded correlation are not here: no seed fixes what they do.
"""

from __future__ import annotations

from msgspec import Struct

from netlab.bench.netem_duet import NetemDuet
from netlab.traces.qdisc_state import U32_MAX, FourStateState, GilbertElliottState, QdiscState
from netlab.traces.seed import link_seed

__all__ = ["CASES", "Case"]

_MS = 1_000_000
_TABLE = tuple(round(6000 * (place / 500) ** 3) - 2000 for place in range(-500, 501))
"""Skewed, its tails far out."""

_WHOLE_MS_NS = 8_192_000
_WHOLE_MS_TABLE = tuple(1000 * place for place in range(-20, 21))
"""With a jitter of _WHOLE_MS_NS: whole milliseconds, from -20 to 20, as packets are a millisecond apart."""


class Case(Struct, frozen=True, kw_only=True):
    """One impairment.

    Attributes:
        state: Of the link.
        ect: Whether the packets may be marked.
        length_bytes: Of each packet.
        then: The state that the link is put in when half of the packets are sent; None to leave it.
        needs_clock: True where fates hang on when a packet leaves, so that they are exact in virtual time alone.
    """

    state: QdiscState
    ect: bool = False
    length_bytes: int = 100
    then: QdiscState | None = None
    needs_clock: bool = False

    def play(self, duet: NetemDuet, packets: int, period_s: float) -> None:
        """Send the packets through both, the change in the middle."""
        first = packets // 2 if self.then else packets
        duet.send(first, period_s=period_s, length_bytes=self.length_bytes, ect=self.ect)
        if self.then is not None:
            duet.apply(self.then, fast=True)
            duet.send(packets - first, period_s=period_s, length_bytes=self.length_bytes, ect=self.ect)


def _state(step: int, **fields: object) -> QdiscState:
    seed = link_seed(1, "engines-agree", "forward", step)
    return QdiscState(latency_ns=150 * _MS, limit_packets=10_000, seed=seed).replace(**fields)


_EVERYTHING = _state(
    90,
    jitter_ns=40 * _MS,
    delay_table=_TABLE,
    loss=U32_MAX // 12,
    duplicate=U32_MAX // 12,
    corrupt=U32_MAX // 12,
    gap=4,
    reorder=U32_MAX // 3,
    ecn=True,
)

CASES: dict[str, Case] = {
    "delay": Case(state=_state(0)),
    "loss": Case(state=_state(1, loss=U32_MAX // 10)),
    "small seed": Case(state=_state(2, loss=U32_MAX // 10, seed=3)),
    "Gilbert-Elliott": Case(
        state=_state(
            3,
            loss_model=GilbertElliottState(p=U32_MAX // 20, r=U32_MAX // 4, h=U32_MAX // 10, k1=U32_MAX // 100),
        )
    ),
    "4-state": Case(
        state=_state(
            4,
            loss_model=FourStateState(
                p13=U32_MAX // 20, p31=U32_MAX // 4, p32=U32_MAX // 5, p14=U32_MAX // 50, p23=U32_MAX // 3
            ),
        )
    ),
    "ECN": Case(state=_state(5, loss=U32_MAX // 5, ecn=True), ect=True),
    "duplicate": Case(state=_state(6, duplicate=U32_MAX // 10)),
    "duplicate and loss": Case(state=_state(7, duplicate=U32_MAX // 5, loss=U32_MAX // 10)),
    "corrupt": Case(state=_state(8, corrupt=U32_MAX // 10)),
    "reorder": Case(state=_state(9, gap=3, reorder=U32_MAX // 2)),
    "uniform jitter": Case(state=_state(10, jitter_ns=50 * _MS)),
    "table jitter": Case(state=_state(11, jitter_ns=20 * _MS, delay_table=_TABLE)),
    "rate": Case(
        state=_state(
            12,
            jitter_ns=50 * _MS,
            rate_bytes_per_s=2_000_000,
            packet_overhead_bytes=-7,
            cell_size_bytes=48,
            cell_overhead_bytes=5,
        )
    ),
    "rate, queueing": Case(state=_state(13, rate_bytes_per_s=300_000), length_bytes=333),
    # Half a millisecond beside them: whether there is room must not hang on a timer that is late by 1 us.
    "limit": Case(
        state=_state(
            14,
            limit_packets=45,
            latency_ns=60 * _MS + _MS // 2,
            jitter_ns=_WHOLE_MS_NS,
            delay_table=_WHOLE_MS_TABLE,
        ),
        needs_clock=True,
    ),
    "limit, duplicates": Case(state=_state(15, limit_packets=160, duplicate=U32_MAX // 3), needs_clock=True),
    "changed under way": Case(
        state=_state(16, loss=U32_MAX // 4, jitter_ns=30 * _MS),
        then=_state(17, loss=U32_MAX // 8, jitter_ns=60 * _MS, delay_table=_TABLE, duplicate=U32_MAX // 9),
    ),
    "everything": Case(state=_EVERYTHING, ect=True, length_bytes=64),
    "everything, in order": Case(
        state=_EVERYTHING.replace(rate_bytes_per_s=12_500_000_000, gap=0, reorder=0), ect=True
    ),
}
