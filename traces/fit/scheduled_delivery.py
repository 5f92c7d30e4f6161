"""What the steps of a schedule deliver to a flow, and how far that is from the trace they were made from.

The same queue as in ``delivery.py`` (a packet waits for those before it), but for a hundred thousand steps at
once: no table is made for a step. Of a round trip each packet is sent both ways at once, and its delays are
added: two flows, as ``netlab verify`` sends them. Knows steps and sources.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from netlab.traces.fifo import leave_s
from netlab.traces.fit.agreement import Agreement
from netlab.traces.fit.schedule_steps import SQRT_3, WindowedSteps, is_normal
from netlab.traces.fit.sources import Sources
from netlab.traces.trace import TracedPath

__all__ = ["scheduled_agreements", "scheduled_delays_s"]

PACKET_BITS = 1600.0
MAX_SIMULATED = 2_000_000


def scheduled_agreements(
    sources: Sources, steps: WindowedSteps, duration_s: float, packet_rate_hz: float | None
) -> list[Agreement]:
    """Return how what is delivered agrees with each trace whose delays are used."""
    rng = np.random.default_rng(0)
    agreements: dict[TracedPath, Agreement] = {}
    for way, source in enumerate(sources.delay):
        if source is None or source.trace.path in agreements:
            continue
        sent_s = _sending(source.trace.t_s, duration_s, packet_rate_hz)
        if source.share is None:
            got_s = scheduled_delays_s(steps, way, sent_s, rng)
        else:
            # A flow each way, as ``pair_fit`` predicts it too: the way back is not an echo.
            got_s = scheduled_delays_s(steps, 0, sent_s, rng) + scheduled_delays_s(steps, 1, sent_s, rng)
        if not np.isnan(got_s).all():
            agreements[source.trace.path] = Agreement.of(source.trace.path, source.delay_s, got_s)
    return list(agreements.values())


def scheduled_delays_s(
    steps: WindowedSteps, way: int, sent_s: NDArray[np.float64], rng: np.random.Generator
) -> NDArray[np.float64]:
    """Return the delay of each packet that is sent one way; NaN for one that is lost.

    Args:
        steps: The steps of both directions.
        way: 0 forward, 1 back.
        sent_s: When each is sent, never decreasing, ``[sent]``.
        rng: Draws delays and losses.
    """
    index = np.searchsorted(steps.starts_s, sent_s + 1e-9, side="right") - 1
    level_s, spread_s, loss_ratio, rate_bps = steps.states[way, np.maximum(index, 0)].T
    normal = is_normal(level_s, spread_s)
    half_s = np.minimum(SQRT_3 * spread_s, level_s)
    drawn_s = np.where(
        normal,
        np.maximum(rng.normal(level_s, spread_s), 0.0),
        level_s + half_s * rng.uniform(-1.0, 1.0, sent_s.size),
    )
    lost = rng.random(sent_s.size) < loss_ratio
    transmit_s = np.where(lost | (rate_bps == 0.0), 0.0, PACKET_BITS / np.where(rate_bps == 0.0, 1.0, rate_bps))
    if not steps.ordered[way]:
        return np.where(lost, np.nan, drawn_s)
    ready_s = np.where(lost, -np.inf, sent_s + drawn_s)
    return np.where(lost, np.nan, leave_s(ready_s, transmit_s) - sent_s)


def _sending(t_s: NDArray[np.float64], duration_s: float, packet_rate_hz: float | None) -> NDArray[np.float64]:
    """Return when packets are sent: as in the trace, or evenly; of very many a part of the time."""
    if packet_rate_hz is None:
        return t_s[:MAX_SIMULATED]
    return np.arange(min(max(int(duration_s * packet_rate_hz), 1), MAX_SIMULATED)) / packet_rate_hz
