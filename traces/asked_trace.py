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
from netlab.traces.model.link_model import LinkModel
from netlab.traces.pair import ProfilePair
from netlab.traces.seed import DIRECTIONS, Direction, link_seed
from netlab.traces.trace import ClockVerdict, Trace, TracedPath

__all__ = ["asked_trace"]

MAX_PACKETS = 1_000_000
MAX_FRAME_BYTES = 65_549
"""The longest IPv4 packet behind a MAC header."""
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
        path: Which way the packets go. In a round trip each copy that arrives is answered at once; the first
            answer gives the delay, and a packet without any is lost.
        packet_rate_hz: Packets a second.
        packets: How many are sent.
        seed: Seed of the simulation.
        length_bytes: Of each frame, with its MAC header.

    Raises:
        ProfileError: A number is out of range, or the link has slots, which no model foresees.
    """
    bounded_number("packet_rate_hz", packet_rate_hz, 1e-6, 1e9)
    bounded_count("packets", packets, 1, MAX_PACKETS)
    bounded_count("length_bytes", length_bytes, 1, MAX_FRAME_BYTES)
    sent_s = np.arange(packets) / packet_rate_hz
    if path is TracedPath.ROUND_TRIP:
        there, back = DIRECTIONS
        numbers, at_s = _arrivals(pair, there, sent_s, length_bytes, seed)
        answers = _flow(pair, back, at_s, length_bytes, seed)
        delay_s, copies = _round_trips(sent_s, numbers, answers)
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
    if not sent_s.size:
        return Flow(sent_s, np.empty(0), np.empty(0, dtype=np.int8), length_bytes)
    asked = Asked.of(getattr(pair, direction))
    return next(simulate(asked, sent_s, length_bytes, [link_seed(seed, _LINK, direction, 0)]))


def _arrivals(
    pair: ProfilePair, direction: Direction, sent_s: NDArray[np.float64], length_bytes: int, seed: int
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return which packet each copy is of that arrives, and when it does, in that order, ``[arrivals]`` each."""
    flow = _flow(pair, direction, sent_s, length_bytes, seed)
    numbers = np.flatnonzero(flow.arrived)
    at_s = sent_s[numbers] + flow.delays_s
    if np.any(flow.copies > 1):  # a flow knows the first copy's delay alone
        numbers, at_s = _all_copies(Asked.of(getattr(pair, direction)), flow, link_seed(seed, _LINK, direction, 0))
    order = np.argsort(at_s, kind="stable")
    return numbers[order], at_s[order]


def _all_copies(asked: Asked, flow: Flow, seed: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the same for every copy, by the same model packet by packet; corrupted ones do not arrive."""
    model: LinkModel | None = None
    arrived: list[tuple[int, int]] = []
    sent_ns = np.round(flow.sent_s * 1e9).astype(np.int64).tolist()
    for stretch in asked.stretches(flow.sent_s):
        if model is None:
            model = LinkModel(stretch.state.replace(seed=seed))
        else:
            model.apply(stretch.state)  # without a seed: the generator goes on
        for number in range(stretch.first, stretch.end):
            fate = model.enqueue(sent_ns[number], flow.length_bytes)
            arrived += [(number, copy.leave_ns) for copy in fate.copies if not copy.corrupted]
    numbers, leave_ns = np.array(arrived, dtype=np.int64).reshape(-1, 2).T
    return numbers, leave_ns / 1e9


def _round_trips(
    sent_s: NDArray[np.float64], numbers: NDArray[np.int64], answers: Flow
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return the delay of the first answer to each packet and how many there are, ``[n]`` each.

    Args:
        sent_s: When each packet was sent, ``[n]``.
        numbers: Which packet each answer is to, ``[answers]``.
        answers: On their way back.
    """
    delay_s = np.full(sent_s.size, np.nan)
    np.fmin.at(delay_s, numbers, answers.sent_s - sent_s[numbers] + answers.delay_s)
    copies = np.zeros(sent_s.size, dtype=np.int64)
    np.add.at(copies, numbers, answers.copies)
    return delay_s, copies
