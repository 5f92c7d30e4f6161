"""Order cost: what keeping the order adds to delays drawn for each packet on its own, and how to take it off.

An ordered link holds a packet until those before it have left. Drawn from the measured law, delays are
therefore delivered longer than measured. The law is changed, quantile by quantile, by what the link delivers
too much, until it delivers the measured one to a flow of a given rate, as nearly as it can:

::

    law --queue at the flow's rate--> delivered     law += measured - delivered     again, a few times

Where packets follow one another closely within the law's spread this cannot come out even: independent delays
are then the wrong model, and a schedule is the right one. Knows quantiles and the queue, no trace.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from netlab.traces.distance import wasserstein_1
from netlab.traces.fifo import leave_s

__all__ = ["Compensated", "compensate_order", "queued_s"]

TURNS = 12
POINTS = 4096
PACKETS = 100_000
MOST_LOST = 0.99
"""Where nothing arrives there is nothing to compare."""

WORTH = 0.9
"""The changed law has to deliver so much nearer to what was measured than the measured law does."""

WORTH_CHANGING = 0.01
"""What order adds to the delays, in their deviations, from which on it is taken off."""


class Compensated(NamedTuple):
    """A law of delays, and how far what is delivered of it is from what was measured (Wasserstein, s)."""

    delay_s: NDArray[np.float64]
    far_s: float
    is_changed: bool


def queued_s(drawn_s: NDArray[np.float64], interval_s: float) -> NDArray[np.float64]:
    """Return the delays of packets sent at even intervals that draw these and keep their order, ``[n]``."""
    sent_s = np.arange(drawn_s.size) * interval_s
    return leave_s(sent_s + drawn_s) - sent_s


def compensate_order(delay_s: NDArray[np.float64], packet_rate_hz: float, loss_ratio: float = 0.0) -> Compensated:
    """Return the law that an ordered link needs to deliver these delays.

    Args:
        delay_s: Equally likely delays as measured, ``[n]``.
        packet_rate_hz: Packets a second of the flow, evenly spaced.
        loss_ratio: Share of packets lost, which hold nobody up.
    """
    wanted_s = np.sort(delay_s)
    points = (np.arange(POINTS) + 0.5) / POINTS
    goal_s = np.quantile(wanted_s, points, method="inverted_cdf")
    rng = np.random.default_rng(0)
    place = rng.integers(POINTS, size=PACKETS)
    arrives = rng.random(PACKETS) >= min(loss_ratio, MOST_LOST)
    interval_s = 1.0 / packet_rate_hz

    def delivered_s(law_s: NDArray[np.float64]) -> NDArray[np.float64]:
        return queued_s(np.where(arrives, law_s[place], -np.inf), interval_s)[arrives]

    law_s = best_s = goal_s
    got_s = delivered_s(law_s)
    first_s = far_s = wasserstein_1(got_s, wanted_s)
    added_s = float((got_s - law_s[place][arrives]).mean())
    if added_s <= WORTH_CHANGING * float(wanted_s.std()):
        return Compensated(wanted_s, first_s, False)
    for _ in range(TURNS):
        law_s = np.sort(np.maximum(law_s + goal_s - np.quantile(got_s, points), 0.0))
        got_s = delivered_s(law_s)
        turn_s = wasserstein_1(got_s, wanted_s)
        if turn_s < far_s:
            best_s, far_s = law_s, turn_s
    if far_s > WORTH * first_s:
        return Compensated(wanted_s, first_s, False)
    return Compensated(np.round(best_s, 6), far_s, True)
