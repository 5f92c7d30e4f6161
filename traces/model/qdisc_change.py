"""QdiscChange: what one netlink message says about a netem qdisc, and what a qdisc is after it.

A message merges into what is there. The fields of its fixed part are always replaced, and so is the loss model;
whatever travels in an attribute of its own stays as it was unless the attribute is sent. UNSET is "not sent".

::

    QdiscState before + QdiscChange --merge--> QdiscState after
                             ^
    QdiscState in full --in_full--'      every attribute but those that cannot be: no table, no seed

Source: docs/netem.md, measured. Knows no generator: what a message does to draws is the model's.
"""

from __future__ import annotations

import msgspec
from msgspec import UNSET, Struct, UnsetType

from netlab.traces.qdisc_state import (
    S32,
    S64,
    U32,
    U32_MAX,
    U64,
    FourStateState,
    GilbertElliottState,
    JitterNs,
    QdiscState,
    SlotState,
    Table,
)

__all__ = ["Correlations", "Likelihood", "QdiscChange", "Rate"]


class Correlations(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The three correlations that travel together."""

    delay: U32 = 0
    loss: U32 = 0
    duplicate: U32 = 0


class Likelihood(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A probability with its correlation: reordering, corruption."""

    probability: U32 = 0
    correlation: U32 = 0


class Rate(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The rate and what lengthens packets for it."""

    bytes_per_s: U64 = 0
    packet_overhead_bytes: S32 = 0
    cell_size_bytes: U32 = 0
    cell_overhead_bytes: S32 = 0


class QdiscChange(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One message.

    Attributes:
        latency_ns: Always replaced.
        jitter_ns: Always replaced.
        limit_packets: Always replaced.
        loss: Always replaced.
        duplicate: Always replaced.
        gap: Always replaced; without ``reorder`` beside it, a gap means that every gap-th packet is reordered.
        loss_model: Always replaced: None is independent loss. A chain begins anew.
        correlations: Sticky.
        reorder: Sticky.
        corrupt: Sticky.
        rate: Sticky.
        ecn: Sticky.
        slot: Sticky; None is sent as zeros.
        delay_table: Sticky, and there is no way to send "none".
        slot_table: Sticky, and there is no way to send "none".
        seed: Sticky: the generator goes on where it is.
    """

    latency_ns: S64 = 0
    jitter_ns: JitterNs = 0
    limit_packets: U32 = 1000
    loss: U32 = 0
    duplicate: U32 = 0
    gap: U32 = 0
    loss_model: GilbertElliottState | FourStateState | None = None
    correlations: Correlations | UnsetType = UNSET
    reorder: Likelihood | UnsetType = UNSET
    corrupt: Likelihood | UnsetType = UNSET
    rate: Rate | UnsetType = UNSET
    ecn: bool | UnsetType = UNSET
    slot: SlotState | UnsetType | None = UNSET
    delay_table: Table | UnsetType = UNSET
    slot_table: Table | UnsetType = UNSET
    seed: U64 | UnsetType = UNSET

    @property
    def restarted_draws(self) -> tuple[str, ...]:
        """The kinds of draws that forget the draw before them: those whose correlation the message carries."""
        kinds: tuple[str, ...] = () if self.correlations is UNSET else ("delay", "loss", "duplicate")
        if self.reorder is not UNSET:
            kinds += ("reorder",)
        if self.corrupt is not UNSET:
            kinds += ("corrupt",)
        return kinds

    @classmethod
    def in_full(cls, state: QdiscState) -> QdiscChange:
        """Return the message that applies a state in full: every attribute, zero as zero.

        A table of None and a seed of None cannot be sent: what the qdisc holds stays.
        """
        return cls(
            **{name: getattr(state, name) for name in _REPLACED},
            correlations=Correlations(
                delay=state.delay_correlation, loss=state.loss_correlation, duplicate=state.duplicate_correlation
            ),
            reorder=Likelihood(probability=state.reorder, correlation=state.reorder_correlation),
            corrupt=Likelihood(probability=state.corrupt, correlation=state.corrupt_correlation),
            rate=Rate(
                bytes_per_s=state.rate_bytes_per_s,
                packet_overhead_bytes=state.packet_overhead_bytes,
                cell_size_bytes=state.cell_size_bytes,
                cell_overhead_bytes=state.cell_overhead_bytes,
            ),
            ecn=state.ecn,
            slot=state.slot,
            delay_table=UNSET if state.delay_table is None else state.delay_table,
            slot_table=UNSET if state.slot_table is None else state.slot_table,
            seed=UNSET if state.seed is None else state.seed,
        )

    def merge(self, before: QdiscState) -> QdiscState:
        """Return the state of a qdisc that was ``before`` and took this message.

        Raises:
            ProfileError: A field is outside the kernel's range.
        """
        after: dict[str, object] = {name: getattr(self, name) for name in _REPLACED}
        if self.correlations is not UNSET:
            after["delay_correlation"] = self.correlations.delay
            after["loss_correlation"] = self.correlations.loss
            after["duplicate_correlation"] = self.correlations.duplicate
        if self.reorder is not UNSET:
            after["reorder"], after["reorder_correlation"] = self.reorder.probability, self.reorder.correlation
        elif self.gap:
            after["reorder"] = U32_MAX
        if self.corrupt is not UNSET:
            after["corrupt"], after["corrupt_correlation"] = self.corrupt.probability, self.corrupt.correlation
        if self.rate is not UNSET:
            after["rate_bytes_per_s"] = self.rate.bytes_per_s
            after["packet_overhead_bytes"] = self.rate.packet_overhead_bytes
            after["cell_size_bytes"] = self.rate.cell_size_bytes
            after["cell_overhead_bytes"] = self.rate.cell_overhead_bytes
        for name in _SENT_AS_THEY_ARE:
            value = getattr(self, name)
            if value is not UNSET:
                after[name] = value
        return msgspec.structs.replace(before, **after)


_REPLACED = ("latency_ns", "jitter_ns", "limit_packets", "loss", "duplicate", "gap", "loss_model")
_SENT_AS_THEY_ARE = ("ecn", "slot", "delay_table", "slot_table", "seed")
