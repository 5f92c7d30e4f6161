"""A network that might have been measured, for tests that fit, replay and verify: round trips with a memory."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from netlab.traces.fit.pair_fit import fit_pair
from netlab.traces.fit.schedule_fit import fit_schedule
from netlab.traces.pair import ProfilePair
from netlab.traces.presets import parse_preset
from netlab.traces.trace import ClockVerdict, Trace, TracedPath
from netlab.traces.trace_file import write_trace

__all__ = ["RATE_HZ", "fitted_profile", "fitted_schedule", "measured_round_trips", "replayed"]

RATE_HZ = 100.0
PACKETS = 1200
MEMORY = 0.9


def measured_round_trips(memory: float = MEMORY) -> Trace:
    """Return 12 s at 100 Hz: 40 ms and a skewed rest whose neighbours are alike, 1 % lost; by a fixed seed."""
    rng = np.random.default_rng(21)
    noise = rng.normal(size=PACKETS)
    for row in range(1, PACKETS):
        noise[row] = memory * noise[row - 1] + np.sqrt(1.0 - memory**2) * noise[row]
    sent_s = np.arange(PACKETS) / RATE_HZ
    # In the order of sending, as a queue delivers.
    delay_s = np.maximum.accumulate(sent_s + 0.040 + 0.006 * np.exp(0.5 * noise)) - sent_s
    lost = rng.random(PACKETS) < 0.01
    return Trace.of(
        sent_s,
        path=TracedPath.ROUND_TRIP,
        clocks=ClockVerdict.ONE_CLOCK,
        delay_s=np.where(lost, np.nan, delay_s),
        lost=lost.astype(np.int8),
        source="a made-up network",
    )


def fitted_profile() -> tuple[ProfilePair, Trace]:
    """Return a profile with a table, fitted to a trace without a memory, which no profile has; and the trace."""
    trace = measured_round_trips(0.0)
    return fit_pair([trace], packet_rate_hz=RATE_HZ).pair, trace


def fitted_schedule() -> tuple[ProfilePair, Trace]:
    """Return a schedule of steps of 100 ms, and the trace it was made from."""
    trace = measured_round_trips()
    return fit_schedule([trace], step_s=0.1).pair, trace


def replayed(folder: Path) -> tuple[ProfilePair, Trace]:
    """Return what a trace file means as a preset: its replay; and the trace."""
    trace = measured_round_trips()
    write_trace(trace, folder / "network.csv")
    return parse_preset(f"trace={folder / 'network.csv'}"), trace
