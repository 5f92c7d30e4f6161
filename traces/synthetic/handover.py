"""Handover: a satellite link that changes its satellite at fixed times, and its delay with it.

::

    delay      .-peak              .-peak
               | '---------------. | '------      each slot: nothing gets through for a moment (x), then a
    --------. x|                 'x|              peak, then the delay of this slot's satellite
            slot                 slot

Source of the slots: Starlink's terminals are given a satellite for 15 s at a time (docs/presets.md).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

from msgspec import Meta, Struct

from netlab.errors import ProfileError
from netlab.traces.bound import bounded_duration_s, bounded_number, bounded_ratio
from netlab.traces.distribution import Law
from netlab.traces.profile import MAX_RATE_BPS, LinkProfile
from netlab.traces.schedule import Schedule
from netlab.traces.synthetic.timing import Timing, rounded_s

__all__ = ["Handover"]


class Handover(Struct, frozen=True, kw_only=True):
    """Slots of fixed length, each with a delay of its own, and what happens from one to the next."""

    slot_s: Annotated[float, Meta(description="length of a slot")] = 15.0
    least_s: Annotated[float, Meta(description="least delay of a slot, each way")] = 0.012
    most_s: Annotated[float, Meta(description="greatest delay of a slot, each way")] = 0.03
    jitter_s: Annotated[float, Meta(description="deviation within a slot")] = 0.003
    law: Annotated[Law, Meta(description="law within a slot")] = "normal"
    loss_ratio: Annotated[float, Meta(description="share lost within a slot")] = 0.0
    outage_s: Annotated[float, Meta(description="how long nothing gets through at a handover")] = 0.1
    peak_s: Annotated[float, Meta(description="delay on top of the slot's, after the outage")] = 0.015
    settle_s: Annotated[float, Meta(description="how long the peak lasts")] = 0.3
    forward_rate_bps: Annotated[float, Meta(description="rate forward; 0 for no limit")] = 0.0
    back_rate_bps: Annotated[float, Meta(description="rate back; 0 for no limit")] = 0.0
    rate_sigma: Annotated[float, Meta(description="deviation of the logarithm of a slot's rates")] = 0.0

    def __post_init__(self) -> None:
        for name in ("least", "most", "jitter", "peak", "outage", "settle"):
            bounded_duration_s(name, getattr(self, f"{name}_s"))
        bounded_number("slot", self.slot_s, 0.1, 3600.0)
        bounded_ratio("loss", self.loss_ratio)
        bounded_number("rate_sigma", self.rate_sigma, 0.0, 3.0)
        for name in ("forward_rate_bps", "back_rate_bps"):
            if getattr(self, name):
                bounded_number(name.removesuffix("_bps"), getattr(self, name), 8.0, MAX_RATE_BPS)
        if self.least_s > self.most_s:
            raise ProfileError(f"least = {self.least_s:g} s: must not be above most = {self.most_s:g} s")
        if self.outage_s + self.settle_s >= self.slot_s:
            raise ProfileError(
                f"outage and settle last {self.outage_s + self.settle_s:g} s: must be less than a slot, "
                f"{self.slot_s:g} s"
            )

    def schedules(self, timing: Timing) -> tuple[Schedule, Schedule]:
        """Return both directions, which change satellite together and have its delay each."""
        forward, back = (
            timing.schedule(self._steps(timing, rate_bps))
            for rate_bps in (self.forward_rate_bps, self.back_rate_bps)
        )
        return forward, back

    def _steps(self, timing: Timing, rate_bps: float) -> Iterator[tuple[float, LinkProfile]]:
        chance = timing.chance("handover")
        start_s = 0.0
        slot = 0
        while start_s < timing.duration_s:
            delay_s = rounded_s(chance.uniform(self.least_s, self.most_s))
            factor = chance.lognormal(1.0, self.rate_sigma)
            steady = LinkProfile(
                delay_s=delay_s,
                jitter_s=min(self.jitter_s, delay_s),
                law=self.law,
                loss=self.loss_ratio,
                rate_bps=max(round(rate_bps * factor, -3), 8.0) if rate_bps else None,
            )
            peak = steady.replace(delay_s=rounded_s(delay_s + self.peak_s))
            if self.outage_s:
                yield start_s, peak.replace(loss=1.0)
            if self.settle_s and self.peak_s:
                yield start_s + self.outage_s, peak
                yield start_s + self.outage_s + self.settle_s, steady
            else:
                yield start_s + self.outage_s, steady
            slot += 1
            start_s = slot * self.slot_s
