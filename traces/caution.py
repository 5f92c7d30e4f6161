"""Cautions: what a valid profile does that a person may not expect, each with its reason and its size.

A mistake is refused where it is made (``LinkProfile``); these are choices that netem makes surprising. The
measurements behind them are in docs/netem.md. Each has a kind and a size, so that the steps of a schedule that
have the same one can be told in a line.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from netlab.traces.delivery import delivered_moments
from netlab.traces.loss import FourState, GilbertElliott

if TYPE_CHECKING:
    from netlab.traces.profile import LinkProfile

__all__ = ["Caution", "profile_cautions"]

_SHOWN_RATE_HZ = 50.0
_WORTH_SAYING = 1.02
_CLIPPED_WORTH_SAYING = 0.005
"""Share of the packets; half a percent clipped moves the mean of a normal law by 0.16 % of its jitter."""


class Caution(NamedTuple):
    """A caution of a profile.

    Attributes:
        kind: What it is about; the same of all profiles that have it.
        severity: How bad it is beside others of its kind.
        text: A sentence for a person, with its figures.
    """

    kind: str
    severity: float
    text: str


def profile_cautions(profile: LinkProfile) -> list[Caution]:
    """Return the cautions of a profile, the most consequential first."""
    cautions = [
        _clipping(profile),
        _order(profile),
        _chain(profile),
        _limit(profile),
        _ecn(profile),
        _reorder(profile),
    ]
    return [caution for caution in cautions if caution is not None]


def _clipping(profile: LinkProfile) -> Caution | None:
    law = profile.delay_law
    if law.clipped_ratio < _CLIPPED_WORTH_SAYING:
        return None
    return Caution(
        "clipped at zero",
        law.clipped_ratio,
        f"delay {_ms(profile.delay_s)} +- {_ms(profile.jitter_s)} ({profile.law}): {law.clipped_ratio:.2%} "
        f"below zero, clipped; leaves {_ms(law.mean_s)} +- {_ms(law.sd_s)}",
    )


def _order(profile: LinkProfile) -> Caution | None:
    """Say what keeping the order costs a flow of 50 packets a second, where it costs anything."""
    if not profile.ordered or profile.delay_sd_s == 0.0 or profile.loss_ratio_mean > 0.99:
        return None
    asked_s = profile.delay_mean_s
    delivered = delivered_moments(profile, _SHOWN_RATE_HZ)
    if delivered.mean_s < asked_s * _WORTH_SAYING:
        return None
    return Caution(
        "kept in order",
        delivered.mean_s / asked_s if asked_s else math.inf,
        f"packets keep their order, so one that drew a short delay waits for those before it: at "
        f"{_SHOWN_RATE_HZ:g} packets/s {_ms(asked_s)} +- {_ms(profile.delay_sd_s)} become "
        f"{_ms(delivered.mean_s)} +- {_ms(delivered.sd_s)} (ordered = false lets packets overtake)",
    )


def _chain(profile: LinkProfile) -> Caution | None:
    if not isinstance(profile.loss, GilbertElliott | FourState):
        return None
    burst = profile.loss.burst_packets
    return Caution(
        "loss chain",
        burst,
        f"the loss chain counts packets, not time: a mean burst of {burst:.3g} packets lasts "
        f"{_ms(burst / 100.0)} at 100 packets/s and {_ms(burst / 20.0)} at 20; for outages in time use a "
        "schedule with steps of 100% loss, or rescale the chain to the flow's rate",
    )


def _limit(profile: LinkProfile) -> Caution | None:
    limit = profile.limit_packets
    if limit is None or limit >= profile.needed_packets:
        return None
    carried = limit / profile.delay_mean_s
    return Caution(
        "limit",
        profile.needed_packets / max(limit, 1),
        f"limit {limit} packets holds the delayed packets too: at most about {carried:.3g} packets/s get "
        f"through {_ms(profile.delay_mean_s)} of delay, the rest is dropped (the link can have "
        f"{profile.needed_packets} full packets on their way; leave limit out to have it computed)",
    )


def _ecn(profile: LinkProfile) -> Caution | None:
    if not profile.ecn or profile.loss_ratio_mean:
        return None
    return Caution(
        "ecn", 0.0, "ecn marks the packets that loss would drop; there is no loss, so nothing is marked"
    )


def _reorder(profile: LinkProfile) -> Caution | None:
    if not profile.reorder_ratio or not profile.ordered:
        return None
    return Caution(
        "reordered",
        profile.reordered_ratio,
        f"{profile.reordered_ratio:.2%} of the packets skip the delay and overtake, although the others keep "
        "their order",
    )


def _ms(duration_s: float) -> str:
    return f"{duration_s * 1e3:.4g} ms"
