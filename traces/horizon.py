"""The play-out horizon that a link asks for: how many ticks ahead a decision has to be made.

A decision on the observation of tick k is for tick k + D. D must cover the round trip of nearly every
packet, and one tick more where a packet may be lost, so that a repeated decision still comes in time.
"""

from __future__ import annotations

import math

from netlab.errors import ProfileError
from netlab.messages import MAX_ACTIONS
from netlab.traces.bound import bounded_number
from netlab.traces.delivery import DelayMoments, delivered_moments
from netlab.traces.pair import ProfilePair
from netlab.traces.profile import LinkProfile

__all__ = ["horizon_ticks"]

SERIES_QUANTILE = 0.99
"""The share of a schedule's round trips that the horizon covers; its extremes come in a row."""

HEAVY_LOSS_RATIO = 0.05
_SIMULATED_PACKETS = 20_000


def horizon_ticks(pair: ProfilePair, tick_s: float, z: float = 2.0) -> int:
    """Return D = ceil(round trip / tick) + 1 if packets are lost + 1 more above 5 % loss.

    The round trip is mean + z deviations of what is *delivered* to one packet a tick where both directions
    are profiles, and the 99 % quantile where one is a schedule. The loss is the worse direction's.

    Args:
        pair: Both directions of the link.
        tick_s: Length of a control tick.
        z: Deviations above the mean to cover.

    Returns:
        Ticks, at least 1.

    Raises:
        ProfileError: A number is out of range, the link delivers nothing, or D would not fit a message.

    Source: measured with CartPole at 50 Hz; docs/profiles.md.
    """
    bounded_number("tick_s", tick_s, 1e-6, 3600.0)
    bounded_number("z", z, 0.0, 100.0)
    loss_ratio = pair.loss_ratio_mean
    # A hair below, so that a round trip of exactly n ticks is not n + 1 for the sake of binary fractions.
    ticks = max(math.ceil(_covered_s(pair, tick_s, z) / tick_s - 1e-9), 1)
    ticks += int(loss_ratio > 0.0) + int(loss_ratio > HEAVY_LOSS_RATIO)
    if ticks > MAX_ACTIONS:
        raise ProfileError(
            f"{pair.name}: a horizon of {ticks} ticks of {tick_s * 1e3:g} ms: at most {MAX_ACTIONS} fit a message",
            hint="control at a lower rate, or on a shorter link",
        )
    return ticks


def _covered_s(pair: ProfilePair, tick_s: float, z: float) -> float:
    if not isinstance(pair.forward, LinkProfile) or not isinstance(pair.back, LinkProfile):
        return pair.round_trip_quantile_s(SERIES_QUANTILE)
    moments = [_moments(direction, tick_s) for direction in (pair.forward, pair.back)]
    return sum(part.mean_s for part in moments) + z * math.hypot(*(part.sd_s for part in moments))


def _moments(profile: LinkProfile, tick_s: float) -> DelayMoments:
    """Return what a profile delivers to one packet a tick; simulated only where packets wait."""
    if profile.rate_bps is None and (not profile.ordered or profile.delay_sd_s == 0.0):
        return DelayMoments(profile.delay_mean_s, profile.delay_sd_s)
    return delivered_moments(profile, 1.0 / tick_s, n=_SIMULATED_PACKETS)
