"""Rate caution: that a pair was fitted for the packets of one flow, and what one of another rate has of it.

::

    fitted for 50 packets/s  --.                    25/s  45.0 ms       order adds less
                               +-- delivered to --> 50/s  49.1 ms       as measured
    ordered, drawn a packet  --'                   100/s  56.2 ms       order adds more

Reads what the provenance says and simulates the flows; knows nothing of fitting.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from netlab.errors import ProfileError
from netlab.traces.delivery import delivered_moments
from netlab.traces.loss import FourState, GilbertElliott

if TYPE_CHECKING:
    from netlab.traces.pair import ProfilePair
    from netlab.traces.profile import LinkProfile
    from netlab.traces.schedule import Schedule

__all__ = ["rate_cautions"]

WORTH_SAYING = 0.02
"""So much longer or shorter at half and twice the rate, and a person has to know of it."""


def rate_cautions(pair: ProfilePair) -> list[str]:
    """Return what a flow of another rate than the pair was fitted for has to know of it; nothing for schedules."""
    rate_hz = pair.provenance.packet_rate_hz if pair.provenance is not None else None
    directions = [one for one in (pair.forward, pair.back) if len(one.segments()) == 1]
    if rate_hz is None or len(directions) < 2:
        return []
    words = [_delays(directions, rate_hz), _losses(directions)]
    said = "; ".join(text for text in words if text)
    return [f"fitted for a flow of {rate_hz:g} packets/s: {said} (netlab trace fit --packet-rate)"] if said else []


def _delays(directions: list[LinkProfile | Schedule], rate_hz: float) -> str:
    try:
        at_half, at_rate, at_twice = (
            sum(delivered_moments(one, times * rate_hz).mean_s for one in directions) for times in (0.5, 1.0, 2.0)
        )
    except ProfileError:  # it delivers nothing, whatever the rate
        return ""
    if max(at_twice - at_rate, at_rate - at_half) <= WORTH_SAYING * at_rate:
        return ""
    return (
        f"it has {_ms(at_rate)} there and back, one of {rate_hz / 2:g} has {_ms(at_half)}, "
        f"one of {rate_hz * 2:g} has {_ms(at_twice)}"
    )


def _losses(directions: list[LinkProfile | Schedule]) -> str:
    chains = (
        isinstance(segment.profile.loss, GilbertElliott | FourState)
        for one in directions
        for segment in one.segments()
    )
    return "at another rate bursts of loss last another time" if any(chains) else ""


def _ms(duration_s: float) -> str:
    return f"{duration_s * 1e3:.4g} ms"
