"""fit_horizon_ticks: the horizon D that a link asks for."""

from __future__ import annotations

import math

__all__ = ["fit_horizon_ticks"]

_DEVIATIONS = 2.0
_HEAVY_LOSS = 0.05


def fit_horizon_ticks(rtt_mean_s: float, rtt_sd_s: float, loss_ratio: float, rate_hz: float) -> int:
    """Return the least horizon at which nearly every decision is there at its tick.

    Two standard deviations beyond the mean round trip, one tick more where packets are lost (so that a repeat
    is still in time) and another one above 5 %. More costs: a decision rests on what was seen D ticks before.

    Args:
        rtt_mean_s: Mean round trip, both directions together.
        rtt_sd_s: Its standard deviation.
        loss_ratio: Loss in either direction, the greater.
        rate_hz: Ticks a second.
    """
    ticks = math.ceil((rtt_mean_s + _DEVIATIONS * rtt_sd_s) * rate_hz)
    return max(ticks, 1) + (loss_ratio > 0.0) + (loss_ratio > _HEAVY_LOSS)
