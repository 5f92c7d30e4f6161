"""asked_trace: what a link that does exactly what was asked would have shown, a trace beside the measured one.

::

    ProfilePair --the exact model, packet by packet--> Trace (round trip, forward or back)

One simulated flow, the same for the same seed. Knows no drawing and no judgement.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from netlab.traces.bound import bounded_count, bounded_number
from netlab.traces.conformance.asked import Asked
from netlab.traces.conformance.flow import Flow
from netlab.traces.conformance.simulation import simulate
from netlab.traces.pair import ProfilePair
from netlab.traces.seed import DIRECTIONS, Direction, link_seed
from netlab.traces.trace import ClockVerdict, Trace, TracedPath

__all__ = ["asked_trace"]

MAX_PACKETS = 1_000_000
_LINK = "asked"


def asked_trace(
    pair: ProfilePair,
    path: TracedPath,
    packet_rate_hz: float,
    packets: int,
    *,
    seed: int = 0,
    length_bytes: int = 100,
) -> Trace:
    """Return what an even flow sees of a link.

    Args:
        pair: The link.
        path: Which way the packets go; a round trip goes back as it arrives, and is lost either way.
        packet_rate_hz: Packets a second.
        packets: How many are sent.
        seed: Seed of the simulation.
        length_bytes: Of each frame, with its MAC header.

    Raises:
        ProfileError: A number is out of range, or the link has slots, which no model foresees.
    """
    bounded_number("packet_rate_hz", packet_rate_hz, 1e-6, 1e9)
    bounded_count("packets", packets, 1, MAX_PACKETS)
    sent_s = np.arange(packets) / packet_rate_hz
    if path is TracedPath.ROUND_TRIP:
        there, back = DIRECTIONS
        delay_s, copies = _returned(pair, _flow(pair, there, sent_s, length_bytes, seed), back, seed)
    else:
        flow = _flow(pair, "forward" if path is TracedPath.FORWARD else "back", sent_s, length_bytes, seed)
        delay_s, copies = flow.delay_s, flow.copies.astype(np.int64)
    return Trace.of(
        sent_s,
        path=path,
        clocks=ClockVerdict.ONE_CLOCK,
        delay_s=delay_s,
        lost=np.isnan(delay_s).astype(np.int8),
        copies=copies.astype(np.int32),
        source=f"{pair.name}, simulated",
    )


def _flow(
    pair: ProfilePair, direction: Direction, sent_s: NDArray[np.float64], length_bytes: int, seed: int
) -> Flow:
    asked = Asked.of(getattr(pair, direction))
    return next(simulate(asked, sent_s, length_bytes, [link_seed(seed, _LINK, direction, 0)]))


def _returned(
    pair: ProfilePair, there: Flow, back: Direction, seed: int
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return the round trips of what arrived and is sent back at once, and their copies, ``[n]`` each."""
    delay_s = np.full(there.n, np.nan)
    arrived = np.flatnonzero(there.arrived)
    if arrived.size:
        at_s = there.sent_s[arrived] + there.delay_s[arrived]
        order = np.argsort(at_s, kind="stable")
        returned = _flow(pair, back, at_s[order], there.length_bytes, seed)
        delay_s[arrived[order]] = there.delay_s[arrived[order]] + returned.delay_s
    return delay_s, (~np.isnan(delay_s)).astype(np.int64)
