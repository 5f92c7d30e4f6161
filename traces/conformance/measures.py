"""What is measured of a flow: one function a statistic, the same for measured and simulated flows.

Each returns NaN where it means nothing: a mean without delays, a burst without losses.
"""

from __future__ import annotations

import math

import numpy as np

from netlab.traces import autocorrelation
from netlab.traces.conformance.flow import RESOLUTION_S, Flow
from netlab.traces.conformance.reference import quantile_of_sorted
from netlab.traces.conformance.straggling import left_out

__all__ = [
    "delay_mean_s", "delay_quantile_s", "delay_sd_s", "duplicated", "lag_1", "loss_burst", "lost", "reordered",
    "throughput_bps",
]  # fmt: skip

_LEAST_PAIRS = 10


def delay_mean_s(flow: Flow) -> float:
    """Return the mean delay."""
    return float(flow.delays_s.mean()) if flow.delays_s.size else math.nan


def delay_sd_s(flow: Flow) -> float:
    """Return the standard deviation of the delay."""
    return float(flow.delays_s.std()) if flow.delays_s.size > 1 else math.nan


def delay_quantile_s(flow: Flow, q: float) -> float:
    """Return the delay that a share ``q`` of the packets that arrive does not exceed."""
    return quantile_of_sorted(flow.sorted_s, q)


def lag_1(flow: Flow) -> float:
    """Return the correlation of the delays of packets sent one after the other, both of which arrived."""
    found = autocorrelation.lag_1(flow.delay_s, _LEAST_PAIRS)
    return math.nan if found is None else found


def lost(flow: Flow) -> float:
    """Return how many packets did not arrive."""
    return float(flow.n - np.count_nonzero(flow.arrived))


def loss_burst(flow: Flow) -> float:
    """Return how many packets are lost in a row on average."""
    return float(flow.loss_runs.mean()) if flow.loss_runs.size else math.nan


def reordered(flow: Flow) -> float:
    """Return how many packets arrived after one that was sent later."""
    arrival_s = np.where(flow.arrived, flow.sent_s + flow.delay_s, math.inf)
    later_s = np.minimum.accumulate(arrival_s[::-1])[::-1]
    return float(np.count_nonzero(flow.arrived[:-1] & (later_s[1:] < arrival_s[:-1] - RESOLUTION_S)))


def duplicated(flow: Flow) -> float:
    """Return of how many packets more than one copy arrived."""
    return float(np.count_nonzero(flow.copies > 1))


def throughput_bps(flow: Flow, stragglers: float) -> float:
    """Return the bits of first copies a second, from the first packet sent to the last that arrived.

    Args:
        flow: The packets.
        stragglers: Share of those that arrive that are left out, the last to do so.
    """
    packets = flow.delays_s.size - left_out(flow.delays_s.size, stragglers)
    if not packets:
        return math.nan
    took_s = float(flow.arrivals_s[packets - 1]) - float(flow.sent_s[0])
    return packets * flow.length_bytes * 8 / took_s if took_s > RESOLUTION_S else math.nan
