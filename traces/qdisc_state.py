"""QdiscState: one netem qdisc in the kernel's own units, everything netem can say.

The meeting point of the two engines: a ``LinkProfile`` compiles to it, the codec turns it into netlink
attributes and back, read-back compares it, and the link model runs on it. Pure data: knows no kernel.

::

    LinkProfile --to_qdisc_state--> QdiscState --encode_netem--> bytes --> kernel
                                        ^                                    |
                                        `------------decode_netem------------'

Probabilities are u32, 2^32 - 1 meaning always. Correlations are u32 on the same scale.
Source: ``include/uapi/linux/pkt_sched.h`` (field meanings), measured behaviour in docs/netem.md.
"""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from netlab.errors import ProfileError

__all__ = ["FourStateState", "GilbertElliottState", "QdiscState", "SlotState"]

U32_MAX = 2**32 - 1
MAX_TABLE_ENTRIES = 16384
"""The most entries of a distribution table that the kernel accepts."""

U32 = Annotated[int, Meta(ge=0, le=U32_MAX)]
# msgspec bounds integers at 64 bits signed in Meta, so the seed's upper bound is checked in __post_init__.
U64 = Annotated[int, Meta(ge=0)]
S32 = Annotated[int, Meta(ge=-(2**31), le=2**31 - 1)]
S64 = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]
# The kernel takes a negative jitter and uses its size; netlab never sends one.
JitterNs = Annotated[int, Meta(ge=0, le=2**31 - 1)]
Table = Annotated[tuple[Annotated[int, Meta(ge=-32768, le=32767)], ...], Meta(max_length=MAX_TABLE_ENTRIES)]


class GilbertElliottState(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Gilbert-Elliott loss as the kernel's attribute has it.

    Attributes:
        p: Probability GOOD -> BAD a packet.
        r: Probability BAD -> GOOD a packet.
        h: Probability that a packet *survives* in BAD (tc's command line asks for 1 - h).
        k1: Probability that a packet is *lost* in GOOD (tc's 1 - k).
    """

    p: U32
    r: U32
    h: U32
    k1: U32


class FourStateState(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The 4-state loss chain: 1 good, 2 good within a burst, 3 lost within a burst, 4 lost alone."""

    p13: U32
    p31: U32
    p32: U32
    p14: U32
    p23: U32


class SlotState(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Slotted delivery: packets leave in slots, spaced uniformly or by a distribution.

    Attributes:
        min_delay_ns: Least time between slots.
        max_delay_ns: Greatest time between slots.
        max_packets: Most packets a slot; 0 for no bound.
        max_bytes: Most bytes a slot; 0 for no bound.
        dist_delay_ns: Mean spacing when a slot table is used.
        dist_jitter_ns: Spread of the spacing when a slot table is used.
    """

    min_delay_ns: S64 = 0
    max_delay_ns: S64 = 0
    max_packets: S32 = 0
    max_bytes: S32 = 0
    dist_delay_ns: S64 = 0
    dist_jitter_ns: S64 = 0


class QdiscState(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One netem qdisc, complete.

    Attributes:
        latency_ns: Delay of every packet.
        jitter_ns: Half-width of a uniform law, or the scale of ``delay_table``.
        delay_correlation: Correlation of successive delays.
        delay_table: Distribution of the delay, each entry 8192 times a multiple of the jitter; None for the
            kernel's uniform law.
        limit_packets: Queue limit, the delay line included.
        loss: Independent loss.
        loss_correlation: Correlation of successive losses.
        loss_model: A loss chain in place of ``loss``.
        duplicate: Duplication.
        duplicate_correlation: Correlation of successive duplications.
        gap: Reordering considers every gap-th packet; 0 for no reordering.
        reorder: Probability that a considered packet leaves at once.
        reorder_correlation: Correlation of successive reorderings.
        corrupt: Corruption of one random bit.
        corrupt_correlation: Correlation of successive corruptions.
        rate_bytes_per_s: Rate; 0 for none (then packets may overtake one another).
        packet_overhead_bytes: Bytes added to each packet's length before the rate applies; may be negative.
        cell_size_bytes: Link cell, to which lengths are rounded up; 0 for none.
        cell_overhead_bytes: Bytes added to each cell; may be negative.
        ecn: Mark ECN-capable packets instead of dropping them.
        slot: Slotted delivery.
        slot_table: Distribution of the slot spacing.
        seed: Seed of the qdisc's generator; None leaves it to the kernel.
    """

    latency_ns: S64 = 0
    jitter_ns: JitterNs = 0
    delay_correlation: U32 = 0
    delay_table: Table | None = None
    limit_packets: U32 = 1000
    loss: U32 = 0
    loss_correlation: U32 = 0
    loss_model: GilbertElliottState | FourStateState | None = None
    duplicate: U32 = 0
    duplicate_correlation: U32 = 0
    gap: U32 = 0
    reorder: U32 = 0
    reorder_correlation: U32 = 0
    corrupt: U32 = 0
    corrupt_correlation: U32 = 0
    rate_bytes_per_s: U64 = 0
    packet_overhead_bytes: S32 = 0
    cell_size_bytes: U32 = 0
    cell_overhead_bytes: S32 = 0
    ecn: bool = False
    slot: SlotState | None = None
    slot_table: Table | None = None
    seed: U64 | None = None

    def __post_init__(self) -> None:
        """Refuse what the kernel would refuse or, worse, take and misread.

        Raises:
            ProfileError: A field is outside the kernel's range.
        """
        for name in ("rate_bytes_per_s", "seed"):
            value = getattr(self, name)
            if value is not None and not 0 <= value < 2**64:
                raise ProfileError(f"{name} = {value}: must be an unsigned 64-bit number")
        if self.delay_table is not None and not self.delay_table:
            raise ProfileError("delay_table is empty: the kernel needs at least one entry")

    def replace(self, **changes: object) -> QdiscState:
        """Return a copy with some fields changed."""
        return msgspec.structs.replace(self, **changes)
