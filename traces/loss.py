"""Losses that come in bursts: the two chains netem has, in the user's terms.

Ratios are probabilities a *packet*. The kernel counts h as survival and k1 as loss; here both states have a
loss ratio. Knows netem's numbers for a chain; knows no profile.

::

            p                              p13          p32
      GOOD ----> BAD               1 good <----> 3 lost <----> 2 good, within a burst
           <----                     |  ^   p31         p23
             r                    p14|  |always
                                     4 lost alone
"""

from __future__ import annotations

from msgspec import Struct

from netlab.errors import ProfileError
from netlab.traces.bound import bounded_number, bounded_ratio
from netlab.traces.qdisc_state import U32_MAX, FourStateState, GilbertElliottState

__all__ = ["FourState", "GilbertElliott", "LossChain", "ratio_to_u32"]


def ratio_to_u32(ratio: float) -> int:
    """Return a probability on the kernel's scale; what is not zero does not become zero."""
    return max(round(ratio * U32_MAX), 1) if ratio > 0.0 else 0


class GilbertElliott(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Two states with a loss ratio each.

    Attributes:
        p: Probability of GOOD -> BAD at a packet.
        r: Probability of BAD -> GOOD at a packet.
        loss_in_bad: Loss ratio in BAD; 1 makes it the simple Gilbert chain.
        loss_in_good: Loss ratio in GOOD.

    Source: Gilbert 1960, Elliott 1963; tc-netem(8) ``loss gemodel``.
    """

    p: float
    r: float
    loss_in_bad: float = 1.0
    loss_in_good: float = 0.0

    def __post_init__(self) -> None:
        for name in ("p", "r", "loss_in_bad", "loss_in_good"):
            bounded_ratio(f"loss.{name}", getattr(self, name))
        if self.p == 0.0:
            raise ProfileError(
                "loss.p = 0: the chain would never leave GOOD",
                hint="for independent loss write a ratio: loss = 2%",
            )
        if self.r == 0.0:
            raise ProfileError(
                "loss.r = 0: the chain would never leave BAD", hint="for a dead link write loss = 100%"
            )
        if self.loss_in_bad < self.loss_in_good:
            raise ProfileError(
                f"loss.loss_in_bad = {self.loss_in_bad!r} is below loss_in_good = {self.loss_in_good!r}",
                hint="exchange the two states",
            )

    @classmethod
    def from_mean(
        cls, loss_ratio: float, burst_packets: float, *, loss_in_bad: float = 1.0, loss_in_good: float = 0.0
    ) -> GilbertElliott:
        """Return the chain with a mean loss and a mean stay in BAD.

        Args:
            loss_ratio: Share of packets lost in the long run.
            burst_packets: Mean number of packets that a stay in BAD lasts; with ``loss_in_bad`` 1 the mean
                number of losses in a row.
            loss_in_bad: Loss ratio in BAD.
            loss_in_good: Loss ratio in GOOD.

        Raises:
            ProfileError: The mean loss does not lie between the two states', or no p gives it.
        """
        bounded_ratio("loss.mean", loss_ratio)
        bounded_number("loss.burst", burst_packets, 1.0, 1e9)
        bounded_ratio("loss.loss_in_bad", loss_in_bad)
        bounded_ratio("loss.loss_in_good", loss_in_good)
        if not loss_in_good < loss_ratio < loss_in_bad:
            raise ProfileError(
                f"loss.mean = {loss_ratio!r}: must lie between loss_in_good = {loss_in_good!r} and "
                f"loss_in_bad = {loss_in_bad!r}"
            )
        r = 1.0 / burst_packets
        p = r * (loss_ratio - loss_in_good) / (loss_in_bad - loss_ratio)
        if p > 1.0:
            raise ProfileError(
                f"loss.burst = {burst_packets!r} is too short for a mean loss of {loss_ratio!r}: "
                "GOOD would have to last less than a packet",
                hint=f"a burst of at least {burst_packets * p:.3g} packets can reach it",
            )
        return cls(p=p, r=r, loss_in_bad=loss_in_bad, loss_in_good=loss_in_good)

    @property
    def loss_ratio_mean(self) -> float:
        """Return the share of packets lost in the long run."""
        bad = self.p / (self.p + self.r)
        return bad * self.loss_in_bad + (1.0 - bad) * self.loss_in_good

    @property
    def burst_packets(self) -> float:
        """Return the mean number of packets that a stay in BAD lasts."""
        return 1.0 / self.r

    def to_kernel(self) -> GilbertElliottState:
        """Return the chain as the kernel's attribute has it: h is survival in BAD, k1 loss in GOOD."""
        return GilbertElliottState(
            p=ratio_to_u32(self.p),
            r=ratio_to_u32(self.r),
            h=U32_MAX - ratio_to_u32(self.loss_in_bad),
            k1=ratio_to_u32(self.loss_in_good),
        )


class FourState(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Four states: 1 good, 2 good within a burst, 3 lost within a burst, 4 lost alone.

    Attributes:
        p13: Probability that a burst begins.
        p31: Probability that a burst ends, at a lost packet of it.
        p32: Probability that packets get through within the burst, at a lost packet of it.
        p14: Probability of a loss on its own.
        p23: Probability that packets are lost again, within a burst.

    Source: Salsano et al., "Definition of a general and intuitive loss model for packet networks and its
    implementation in the Netem module", 2012; tc-netem(8) ``loss state``.
    """

    p13: float
    p31: float
    p32: float = 0.0
    p14: float = 0.0
    p23: float = 1.0

    def __post_init__(self) -> None:
        for name in ("p13", "p31", "p32", "p14", "p23"):
            bounded_ratio(f"loss.{name}", getattr(self, name))
        for first, second in (("p13", "p14"), ("p31", "p32")):
            total = getattr(self, first) + getattr(self, second)
            if total > 1.0:
                raise ProfileError(f"loss.{first} + loss.{second} = {total!r}: must not be above 1")
        if self.p13 == 0.0 and self.p14 == 0.0:
            raise ProfileError("loss.p13 = 0 and loss.p14 = 0: nothing would ever be lost", hint="leave loss out")
        if self.p13 > 0.0 and self.p31 == 0.0:
            raise ProfileError("loss.p31 = 0: a burst would never end", hint="for a dead link write loss = 100%")
        if self.p32 > 0.0 and self.p23 == 0.0:
            raise ProfileError("loss.p23 = 0 with p32 > 0: a burst would turn into a good state for good")

    @property
    def loss_ratio_mean(self) -> float:
        """Return the share of packets lost in the long run."""
        # Stationary weights relative to state 1, from the balance of each cut of the chain.
        lost_in_burst = self.p13 / self.p31 if self.p13 else 0.0
        good_in_burst = lost_in_burst * self.p32 / self.p23 if self.p32 else 0.0
        lost = lost_in_burst + self.p14
        return lost / (1.0 + good_in_burst + lost)

    @property
    def burst_packets(self) -> float:
        """Return the mean number of packets that a burst lasts, those that get through included."""
        if self.p13 == 0.0:
            return 1.0
        return (1.0 + (self.p32 / self.p23 if self.p32 else 0.0)) / self.p31

    def to_kernel(self) -> FourStateState:
        """Return the chain as the kernel's attribute has it."""
        p14, p32 = ratio_to_u32(self.p14), ratio_to_u32(self.p32)
        # The kernel adds these in 32 bits: rounding must not carry a sum of 1 over the top.
        return FourStateState(
            p13=min(ratio_to_u32(self.p13), U32_MAX - p14),
            p31=min(ratio_to_u32(self.p31), U32_MAX - p32),
            p32=p32,
            p14=p14,
            p23=ratio_to_u32(self.p23),
        )


LossChain = GilbertElliott | FourState
