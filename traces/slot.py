"""Slot: packets gathered and delivered together, as radio links with a schedule do.

Knows how slots are spaced and netem's numbers for it; knows no profile.
"""

from __future__ import annotations

import msgspec
from msgspec import Struct

from netlab.errors import ProfileError
from netlab.traces.bound import bounded_count
from netlab.traces.delay_law import DelayLaw
from netlab.traces.distribution import SHORT_TABLE_ENTRIES, Law
from netlab.traces.qdisc_state import SlotState

__all__ = ["Slot"]

MAX_SLOT_TABLE_ENTRIES = 8192
"""A netlink attribute holds 65535 bytes; the delay's table may take 32768 of them."""


class Slot(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """When the queue is opened, and for how much.

    Attributes:
        delay_s: Mean time between slots.
        jitter_s: Spread of that time: half-width for ``uniform``, else standard deviation.
        law: Law of the time between slots.
        delay_table_s: Equally likely times between slots, ascending, for the law ``table``.
        max_packets: Most packets a slot; 0 for no bound.
        max_bytes: Most bytes a slot; 0 for no bound.

    Source: tc-netem(8) ``slot``.
    """

    delay_s: float = 0.0
    jitter_s: float = 0.0
    law: Law = "normal"
    delay_table_s: tuple[float, ...] = ()
    max_packets: int = 0
    max_bytes: int = 0

    def __post_init__(self) -> None:
        if isinstance(self.delay_table_s, list):
            msgspec.structs.force_setattr(self, "delay_table_s", tuple(self.delay_table_s))
        self.spacing.check("slot.")
        if self.law != "table" and self.delay_s == 0.0:
            raise ProfileError("slot.delay_s = 0: slots need a time between them", hint="leave the slot out")
        if len(self.delay_table_s) > MAX_SLOT_TABLE_ENTRIES:
            raise ProfileError(
                f"slot.delay_table_s has {len(self.delay_table_s)} entries: at most {MAX_SLOT_TABLE_ENTRIES} "
                "fit into one netlink message beside the delay's"
            )
        bounded_count("slot.max_packets", self.max_packets, 0, 2**31 - 1)
        bounded_count("slot.max_bytes", self.max_bytes, 0, 2**31 - 1)

    @property
    def spacing(self) -> DelayLaw:
        """Return the law of the time between slots."""
        return DelayLaw(
            delay_s=self.delay_s,
            jitter_s=self.jitter_s,
            law=self.law,
            table_s=self.delay_table_s,
            entries=SHORT_TABLE_ENTRIES,
        )

    def to_kernel(self, *, as_table: bool = False) -> tuple[SlotState, tuple[int, ...] | None]:
        """Return the slot and its table as netem has them.

        Args:
            as_table: Send every spacing as a table, the constant one too: while the qdisc has a slot table
                from an earlier step it ignores the bounds, and no attribute removes the table.
        """
        latency_ns, jitter_ns, table = self.spacing.to_kernel(as_table=as_table)
        if table is None and as_table:
            # One entry of zero: always the mean. The jitter of 1 ns only tells netem that a law is in use.
            jitter_ns, table = 1, (0,)
        if table is None:
            bounds = SlotState(
                min_delay_ns=latency_ns - jitter_ns,
                max_delay_ns=latency_ns + jitter_ns,
                max_packets=self.max_packets,
                max_bytes=self.max_bytes,
            )
            return bounds, None
        state = SlotState(
            dist_delay_ns=latency_ns,
            dist_jitter_ns=jitter_ns,
            max_packets=self.max_packets,
            max_bytes=self.max_bytes,
        )
        return state, table
