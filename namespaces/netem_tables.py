"""Tables that stay in a netem qdisc: no attribute removes one, so a uniform law is said in terms of one.

Pure: knows what the kernel does, sends nothing.
"""

from __future__ import annotations

from functools import lru_cache

from netlab.traces.qdisc_state import QdiscState, SlotState

__all__ = ["linear_table", "without_stale_tables"]

_LINEAR_ENTRIES = 4096
_TABLE_SCALE = 8192


def without_stale_tables(
    state: QdiscState, delay_table: tuple[int, ...] | None, slot_table: tuple[int, ...] | None
) -> QdiscState:
    """Return a state with a linear table wherever it asks for none but the kernel holds one.

    A linear table gives the same uniform law, and the dump shows the same.

    Args:
        state: What is asked for.
        delay_table: The delay table that the kernel holds; None for none.
        slot_table: The slot table that the kernel holds; None for none.
    """
    if state.delay_table is None and delay_table is not None:
        state = state.replace(delay_table=linear_table())
    slot = state.slot
    if slot is not None and state.slot_table is None and slot_table is not None:
        # With a table the kernel spaces slots by dist_* alone, so min .. max is said in those terms.
        spaced = SlotState(
            min_delay_ns=slot.min_delay_ns,
            max_delay_ns=slot.max_delay_ns,
            max_packets=slot.max_packets,
            max_bytes=slot.max_bytes,
            dist_delay_ns=(slot.min_delay_ns + slot.max_delay_ns) // 2,
            dist_jitter_ns=(slot.max_delay_ns - slot.min_delay_ns) // 2,
        )
        state = state.replace(slot=spaced, slot_table=linear_table())
    return state


@lru_cache(maxsize=1)
def linear_table() -> tuple[int, ...]:
    """Return the table of the uniform law: 4096 equal steps from -1 to 1, on the kernel's scale of 8192."""
    step = _TABLE_SCALE // _LINEAR_ENTRIES
    return tuple((2 * entry + 1 - _LINEAR_ENTRIES) * step for entry in range(_LINEAR_ENTRIES))
