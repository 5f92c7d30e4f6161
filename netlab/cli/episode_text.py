"""Lines that a person reads about an episode, whichever command has played it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from netlab.actuator_traits import ACTUATOR_TRAITS
from netlab.messages import horizon_number, horizon_word

if TYPE_CHECKING:
    from netlab.episode.report import WaySummary

__all__ = ["control_words", "way_line"]


def control_words(actuator: str, horizon: int | Literal["adaptive"]) -> str:
    """Return how actions were played out; D, as a number or in words, where the actuator has one."""
    if not ACTUATOR_TRAITS[actuator].has_horizon:
        return actuator
    ahead = horizon_word(horizon_number(horizon))
    return f"{actuator} {ahead if ahead == 'adaptive' else f'D={ahead}'}"


def way_line(way: WaySummary) -> str:
    """Return what became of the packets of one direction."""
    mean = "-" if way.delay_mean_ms is None else f"{way.delay_mean_ms:.3f}"
    sd = "-" if way.delay_sd_ms is None else f"{way.delay_sd_ms:.3f}"
    pending = f", {way.pending} pending" if way.pending else ""
    return f"{way.direction:7} {way.sent} packets, {way.lost} lost{pending}, delay {mean} +- {sd} ms"
