"""Lines that a person reads about an episode, whichever command has played it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from netlab.messages import ADAPTIVE_HORIZON, HORIZON_ACTUATORS

if TYPE_CHECKING:
    from netlab.episode.report import WaySummary

__all__ = ["control_words", "way_line"]


def control_words(actuator: str, horizon_ticks: int) -> str:
    """Return how actions were played out; D where the actuator has one."""
    if actuator not in HORIZON_ACTUATORS:
        return actuator
    return f"{actuator} {'adaptive' if horizon_ticks == ADAPTIVE_HORIZON else f'D={horizon_ticks}'}"


def way_line(way: WaySummary) -> str:
    """Return what became of the packets of one direction."""
    mean = "-" if way.delay_mean_ms is None else f"{way.delay_mean_ms:.3f}"
    sd = "-" if way.delay_sd_ms is None else f"{way.delay_sd_ms:.3f}"
    pending = f", {way.pending} pending" if way.pending else ""
    return f"{way.direction:7} {way.sent} packets, {way.lost} lost{pending}, delay {mean} +- {sd} ms"
