"""What is sent where nobody says how much: at the rate a profile was fitted for; in virtual time a whole pass."""

from __future__ import annotations

import math

from netlab.traces.pair import ProfilePair
from netlab.traces.schedule import Schedule

__all__ = ["DEFAULT_COUNT", "DEFAULT_RATE_HZ", "default_count", "default_rate_hz"]

DEFAULT_COUNT = 2000
DEFAULT_RATE_HZ = 100.0
MOST_COUNT = 50_000
"""A minute of a processor, about, in virtual time."""


def default_rate_hz(pair: ProfilePair) -> float:
    """Return how many packets a second to send each way: those that a fitted profile is for."""
    fitted_hz = pair.provenance.packet_rate_hz if pair.provenance is not None else None
    return DEFAULT_RATE_HZ if fitted_hz is None else fitted_hz


def default_count(pair: ProfilePair, rate_hz: float, *, virtual: bool) -> int:
    """Return how many packets to send each way.

    Args:
        pair: What is asked.
        rate_hz: Packets a second.
        virtual: Whether waiting costs nothing: then a pass of the longest schedule is measured whole, unless it
            takes more packets than are sent at most.
    """
    lasts_s = max((one.duration_s for one in (pair.forward, pair.back) if isinstance(one, Schedule)), default=0.0)
    if not virtual:
        return DEFAULT_COUNT
    return min(max(DEFAULT_COUNT, math.ceil(lasts_s * rate_hz)), MOST_COUNT)
