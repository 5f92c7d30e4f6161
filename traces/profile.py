"""LinkProfile: one direction of a link at one moment, in SI units; and how it becomes a netem qdisc.

Every impairment netem has, with its traps taken out: correlations do not exist here (they do not do what
they say), a law is always named, packets keep their order unless asked otherwise, the queue limit follows
from the delay. Pure: knows netem's numbers, no kernel.

::

    "delay=30ms,loss=2%" --key.py--> LinkProfile --to_qdisc_state--> QdiscState --> kernel | link model
"""

from __future__ import annotations

import math
from typing import NamedTuple

import msgspec
from msgspec import Struct

from netlab.errors import ProfileError
from netlab.traces.bound import bounded_count, bounded_number, bounded_ratio
from netlab.traces.caution import Caution, profile_cautions
from netlab.traces.delay_law import DelayLaw
from netlab.traces.distribution import SHORT_TABLE_ENTRIES, Law
from netlab.traces.loss import FourState, GilbertElliott, LossChain, ratio_to_u32
from netlab.traces.qdisc_state import U32_MAX, QdiscState
from netlab.traces.slot import Slot

__all__ = ["LinkProfile", "Segment"]

UNLIMITED_BPS = 100e9
"""The rate that an ordered link without one gets: it keeps the order and costs 10 ns for a full packet."""

ASSUMED_BPS = 10e9
"""What a link without a rate is assumed to carry at most, when its queue limit is computed."""

FULL_PACKET_BYTES = 1500
QUEUE_PACKETS = 1000
"""Packets that may wait for the rate, beside those on their way: the queue of an ordinary interface."""

MAX_RATE_BPS = 1e15


class Segment(NamedTuple):
    """A profile and how long it holds, in seconds: what a profile and a schedule have in common."""

    length_s: float
    profile: LinkProfile


class LinkProfile(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What one direction of a link does to packets.

    Attributes:
        delay_s: Mean delay.
        jitter_s: Spread of the delay: standard deviation, but the half-width for the law ``uniform``.
        law: ``uniform``, ``normal``, ``pareto``, ``paretonormal`` or ``table``.
        delay_table_s: Equally likely delays, ascending, for the law ``table`` (then no delay, no jitter).
        loss: Ratio of independent losses, or a chain whose losses come in bursts.
        duplicate_ratio: Share of packets delivered twice.
        corrupt_ratio: Share of packets with one bit flipped.
        reorder_ratio: Share of the considered packets that skip the delay.
        reorder_gap: Every how many packets one is considered; 0 means 1 where ``reorder_ratio`` is set.
        rate_bps: Bits a second; None for no limit.
        overhead_bytes: Added to each packet's length (with its MAC header) before the rate; may be negative.
        cell_bytes: Lengths are rounded up to whole cells of this size; 0 for none.
        cell_overhead_bytes: Added to each cell; may be negative.
        limit_packets: Packets in the delay line and the queue together; None to compute it.
        slot: Packets are gathered and delivered in slots.
        ecn: Mark packets that can be marked instead of losing them.
        ordered: Packets never overtake one another, except those reordered on purpose.

    Raises:
        ProfileError: A field is out of range, or fields contradict one another.
    """

    delay_s: float = 0.0
    jitter_s: float = 0.0
    law: Law = "normal"
    delay_table_s: tuple[float, ...] = ()
    loss: float | GilbertElliott | FourState = 0.0
    duplicate_ratio: float = 0.0
    corrupt_ratio: float = 0.0
    reorder_ratio: float = 0.0
    reorder_gap: int = 0
    rate_bps: float | None = None
    overhead_bytes: int = 0
    cell_bytes: int = 0
    cell_overhead_bytes: int = 0
    limit_packets: int | None = None
    slot: Slot | None = None
    ecn: bool = False
    ordered: bool = True

    def __post_init__(self) -> None:
        if isinstance(self.delay_table_s, list):
            msgspec.structs.force_setattr(self, "delay_table_s", tuple(self.delay_table_s))
        self.delay_law.check()
        self._check_ratios()
        self._check_reorder()
        self._check_rate()
        if self.limit_packets is not None:
            bounded_count("limit_packets", self.limit_packets, 1, U32_MAX)
        for name in ("ecn", "ordered"):
            if not isinstance(getattr(self, name), bool):
                raise ProfileError(f"{name} = {getattr(self, name)!r}: must be true or false")
        if self.slot is not None and not isinstance(self.slot, Slot):
            raise ProfileError(f"slot = {self.slot!r}: must be a Slot")

    def _check_ratios(self) -> None:
        for name in ("duplicate_ratio", "corrupt_ratio", "reorder_ratio"):
            bounded_ratio(name, getattr(self, name))
        if not isinstance(self.loss, LossChain):
            bounded_ratio("loss", self.loss)

    def _check_reorder(self) -> None:
        bounded_count("reorder_gap", self.reorder_gap, 0, U32_MAX)
        if self.reorder_gap and not self.reorder_ratio:
            raise ProfileError(
                f"reorder_gap = {self.reorder_gap} without reorder: the gap only says which are considered",
                hint="add reorder = 100% to reorder every gap-th packet",
            )
        if self.reorder_ratio and not self.delay_s and not any(self.delay_table_s):
            raise ProfileError(
                f"reorder_ratio = {self.reorder_ratio!r} without a delay: a reordered packet skips the "
                "delay, so there has to be one",
                hint="add a delay longer than the time between packets",
            )

    def _check_rate(self) -> None:
        bounded_count("overhead_bytes", self.overhead_bytes, -(2**15), 2**15)
        bounded_count("cell_bytes", self.cell_bytes, 0, 2**16)
        bounded_count("cell_overhead_bytes", self.cell_overhead_bytes, -(2**15), 2**15)
        if self.cell_overhead_bytes and not self.cell_bytes:
            raise ProfileError(
                f"cell_overhead_bytes = {self.cell_overhead_bytes} without a cell size",
                hint="give cell, or leave both out",
            )
        if self.cell_bytes and self.cell_bytes + self.cell_overhead_bytes <= 0:
            raise ProfileError(
                f"cell_overhead_bytes = {self.cell_overhead_bytes} leaves nothing of a cell of "
                f"{self.cell_bytes} bytes"
            )
        if self.rate_bps is None:
            if self.overhead_bytes or self.cell_bytes:
                raise ProfileError(
                    "overhead_bytes or cell_bytes without a rate: they only lengthen packets for a rate",
                    hint="add a rate, for example rate = 10mbit",
                )
            return
        bounded_number("rate_bps", self.rate_bps, 8.0, MAX_RATE_BPS)
        if not self.ordered:
            raise ProfileError(
                f"ordered = false with rate_bps = {self.rate_bps!r}: through a rate packets never overtake",
                hint="leave ordered out, or the rate",
            )

    @property
    def delay_law(self) -> DelayLaw:
        """Return the law of the delay alone."""
        return DelayLaw(delay_s=self.delay_s, jitter_s=self.jitter_s, law=self.law, table_s=self.delay_table_s)

    @property
    def delay_mean_s(self) -> float:
        """Return the mean of the law as the kernel draws it, clipping included.

        Neither the wait of ordered packets nor reordered packets are in it: see ``delivered_moments``.
        """
        return self.delay_law.mean_s

    @property
    def delay_sd_s(self) -> float:
        """Return the standard deviation of the law as the kernel draws it, clipping included."""
        return self.delay_law.sd_s

    @property
    def loss_ratio_mean(self) -> float:
        """Return the share of packets lost in the long run."""
        return self.loss.loss_ratio_mean if isinstance(self.loss, LossChain) else float(self.loss)

    @property
    def reordered_ratio(self) -> float:
        """Return the share of all packets that skip the delay."""
        if not self.reorder_ratio:
            return 0.0
        return 1.0 / (max(self.reorder_gap, 1) - 1 + 1.0 / self.reorder_ratio)

    @property
    def needed_packets(self) -> int:
        """Return how many full packets are on their way at most: rate x (delay + 4 jitter)."""
        rate_bps = ASSUMED_BPS if self.rate_bps is None else min(self.rate_bps, UNLIMITED_BPS)
        line_s = self.delay_table_s[-1] if self.law == "table" else self.delay_s + 4.0 * self.jitter_s
        return math.ceil(rate_bps * line_s / (8 * FULL_PACKET_BYTES))

    @property
    def loops(self) -> bool:
        """Tell that a profile, unlike a schedule, has no end."""
        return True

    def segments(self) -> tuple[Segment, ...]:
        """Return the profile as a schedule of one step that never ends."""
        return (Segment(math.inf, self),)

    def warnings(self) -> list[str]:
        """Return what a person should know before trusting this profile, each with its reason."""
        return [caution.text for caution in self.cautions()]

    def cautions(self) -> list[Caution]:
        """Return the same with kind and size, the most consequential first."""
        return profile_cautions(self)

    def to_qdisc_state(self, seed: int | None, *, within_schedule: bool = False) -> QdiscState:
        """Return the netem qdisc that does this, complete.

        Args:
            seed: Seed of the qdisc's generator, hashed (``link_seed``); None leaves it to the kernel.
            within_schedule: The qdisc may hold tables from an earlier state, which no attribute removes:
                send uniform laws as tables too, and shorter tables (4096 entries), since many are sent.
        """
        law = self.delay_law
        if within_schedule:
            law = msgspec.structs.replace(law, entries=SHORT_TABLE_ENTRIES)
        latency_ns, jitter_ns, table = law.to_kernel(as_table=within_schedule)
        slot, slot_table = self.slot.to_kernel(as_table=within_schedule) if self.slot else (None, None)
        chain = self.loss if isinstance(self.loss, LossChain) else None
        return QdiscState(
            latency_ns=latency_ns,
            jitter_ns=jitter_ns,
            delay_table=table,
            limit_packets=self._limit(),
            loss=0 if chain else ratio_to_u32(self.loss_ratio_mean),
            loss_model=chain.to_kernel() if chain else None,
            duplicate=ratio_to_u32(self.duplicate_ratio),
            gap=max(self.reorder_gap, 1) if self.reorder_ratio else 0,
            reorder=ratio_to_u32(self.reorder_ratio),
            corrupt=ratio_to_u32(self.corrupt_ratio),
            rate_bytes_per_s=self._rate_bytes_per_s(),
            packet_overhead_bytes=self.overhead_bytes,
            cell_size_bytes=self.cell_bytes,
            cell_overhead_bytes=self.cell_overhead_bytes,
            ecn=self.ecn,
            slot=slot,
            slot_table=slot_table,
            seed=seed,
        )

    def _rate_bytes_per_s(self) -> int:
        if self.rate_bps is None:
            return round(UNLIMITED_BPS / 8) if self.ordered else 0
        return max(round(self.rate_bps / 8), 1)

    def _limit(self) -> int:
        if self.limit_packets is not None:
            return self.limit_packets
        return min(self.needed_packets + QUEUE_PACKETS, U32_MAX)

    def replace(self, **changes: object) -> LinkProfile:
        """Return a copy with some fields changed, checked anew."""
        return msgspec.structs.replace(self, **changes)
