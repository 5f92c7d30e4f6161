"""Compare the netem state that was asked for with the one the kernel shows, field by field.

Pure functions; knows what a dump leaves out or rounds, and no socket.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from netlab.traces.qdisc_state import QdiscState, SlotState

if TYPE_CHECKING:
    from netlab.namespaces.features import KernelFeatures

__all__ = ["compare_netem"]

_INT_MAX = 2**31 - 1


def compare_netem(asked: QdiscState, read: QdiscState, features: KernelFeatures | None = None) -> list[str]:
    """Return a phrase for each field that differs: ``latency_ns: asked 5, the kernel shows 0``.

    Tables are not compared, no dump holds one. A seed of None asks for nothing. A seed that this kernel is
    known to ignore (``features.seed`` is False) is not a difference either.

    Args:
        asked: What was sent.
        read: What ``decode_netem`` made of the dump.
        features: What this kernel can do; None for everything.
    """
    differences = []
    for field in asked.__struct_fields__:
        if field in ("delay_table", "slot_table"):
            continue
        wanted, shown = getattr(asked, field), getattr(read, field)
        if field == "seed" and (wanted is None or (features is not None and not features.seed)):
            continue
        if field == "slot":
            wanted, shown = _slot_in_force(wanted), _slot_in_force(shown)
        if wanted != shown:
            differences.append(f"{field}: asked {wanted}, the kernel shows {shown}")
    return differences


def _slot_in_force(slot: SlotState | None) -> SlotState | None:
    """Return a slot as a dump shows it: nothing without a spacing, no bound as 0, the spread as a size."""
    if slot is None or not (slot.min_delay_ns or slot.max_delay_ns or slot.dist_jitter_ns):
        return None
    return SlotState(
        min_delay_ns=slot.min_delay_ns,
        max_delay_ns=slot.max_delay_ns,
        max_packets=0 if slot.max_packets == _INT_MAX else slot.max_packets,
        max_bytes=0 if slot.max_bytes == _INT_MAX else slot.max_bytes,
        dist_delay_ns=slot.dist_delay_ns,
        dist_jitter_ns=min(abs(slot.dist_jitter_ns), _INT_MAX),
    )
