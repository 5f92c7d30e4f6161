"""Whether a replayed trace still remembers: its lag-1 correlation as delivered, minus the trace's.

::

    trace file --Replay--> a link of a lab, played --one packet a step, stamped at both ends--> lag 1
        '---------------------------------------------------------------------------------------> lag 1

A table of the same delays, drawn by chance, has none: it is measured beside them. The traces: the project's
ping series, and a generated satellite one, whose level changes every 15 s.

The flow is the prober's, one packet a step. A flow of several packets a step remembers less: within a step each is
drawn by itself. What that costs is simulated beside it, for a trace that remembers well, and said in the note.
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from netlab.bench.figure import Figure
from netlab.probe.probe_plan import ProbePlan
from netlab.traces.autocorrelation import lag_1
from netlab.traces.importers.catalogue import import_trace
from netlab.traces.pair import ProfilePair
from netlab.traces.presets import PRESETS
from netlab.traces.profile import LinkProfile
from netlab.traces.replay import Replay, replay_pair
from netlab.traces.synthetic.chance import Chance
from netlab.traces.trace import ClockVerdict, Trace, TracedPath
from netlab.traces.trace_file import write_trace
from netlab.verification.stage import asked_of, measure_lab, measure_model, verification_lab

__all__ = ["replay_lag1"]

STEP_S = 0.1
SATELLITE_S = 90.0
LEVELS_S = (0.140, 0.165, 0.190)
"""Levels of the satellite's round trip; a new one is drawn every 15 s."""

LEVEL_LASTS_S = 15.0
SATELLITE_SD_S = 0.006
TARGET = 0.1

KEPT, FLOW_HZ, FLOW_PACKETS = 0.9, 50.0, 6000
"""A delay whose every packet keeps so much of the one before it (AR(1)), and the flow that it was measured by."""

SEVERAL_STEPS_S = (0.02, 0.1, 0.5)


class _Lag1(NamedTuple):
    """Lag-1 correlations: of the trace, of what was delivered, and of chance."""

    name: str
    asked: float
    delivered: float
    chance: float
    n: int

    @property
    def off(self) -> float:
        return self.delivered - self.asked


def replay_lag1(say: Callable[[str], None]) -> Figure:
    """Replay two traces on a link, measure what is delivered, and compare its memory with theirs."""
    with tempfile.TemporaryDirectory(prefix="netlab-lag1-") as folder:
        found = [_measure(path, say) for path in _traces(Path(folder))]
        asked, several = _several(Path(folder))
    worst = max(found, key=lambda one: math.inf if math.isnan(one.off) else abs(one.off))
    return Figure(
        name="replay-lag1",
        value=None if math.isnan(worst.off) else abs(worst.off),
        unit="off the trace's lag-1 correlation, the worse of two",
        target=f"at most {TARGET:g}",
        holds=all(abs(one.off) <= TARGET for one in found),
        n=sum(one.n for one in found),
        spread="; ".join(
            f"{one.name}: {one.asked:.3f} asked, {one.delivered:.3f} delivered, {one.chance:.3f} from a table"
            for one in found
        ),
        note=f"the verification's prober: one packet a step of {1e3 * STEP_S:g} ms, forward, a quarter of a step "
        f"after it begins; simulated, {FLOW_HZ:g} packets a second over a trace of its own with {asked:.3f}: "
        + ", ".join(f"{lag:.3f} in steps of {1e3 * step_s:g} ms" for step_s, lag in several.items()),
    )


def _traces(folder: Path) -> list[Path]:
    """Write both traces, a round trip each step, and return their files."""
    forward = PRESETS["measured"].forward
    series_s = np.array([2.0 * segment.profile.delay_s for segment in forward.segments()], dtype=np.float64)
    return [_write(folder / "ping-series.csv", series_s), _write(folder / "satellite.csv", _satellite_s())]


def _satellite_s() -> NDArray[np.float64]:
    chance = Chance(7, "replay-lag1 satellite")
    steps_a_level = round(LEVEL_LASTS_S / STEP_S)
    steps = round(SATELLITE_S / STEP_S)
    levels_s = [LEVELS_S[chance.choice((1.0, 1.0, 1.0))] for _ in range(-(-steps // steps_a_level))]
    noise_s = [SATELLITE_SD_S * chance.normal() for _ in range(steps)]
    delays_s: NDArray[np.float64] = np.repeat(levels_s, steps_a_level)[:steps] + np.array(noise_s)
    return delays_s


def _write(path: Path, delays_s: NDArray[np.float64]) -> Path:
    t_s: NDArray[np.float64] = STEP_S * np.arange(delays_s.size, dtype=np.float64)
    write_trace(Trace.of(t_s, path=TracedPath.ROUND_TRIP, clocks=ClockVerdict.ONE_CLOCK, delay_s=delays_s), path)
    return path


def _measure(path: Path, say: Callable[[str], None]) -> _Lag1:
    """Replay a trace once and take its memory as delivered."""
    (trace,) = import_trace(path)
    pair = replay_pair(Replay(files=(str(path),), loop=False))
    say(f"replay-lag1: {path.stem}, {trace.duration_s:g} s")
    delivered_s = _delivered_s(pair, trace.n)
    table = tuple(np.sort(trace.delays_s / 2.0).tolist())
    drawn = LinkProfile(law="table", delay_table_s=table, ordered=False)
    chance_s = _delivered_s(ProfilePair("table", drawn, drawn), min(trace.n, 300))
    return _Lag1(path.stem, _memory(trace.delay_s), _memory(delivered_s), _memory(chance_s), delivered_s.size)


def _delivered_s(pair: ProfilePair, packets: int) -> NDArray[np.float64]:
    """Return the delay of each packet forward, one a step; not a number where it was lost."""
    with verification_lab(pair, seed=7, wiring=None) as lab:
        plan = ProbePlan(rate_hz=1.0 / STEP_S, count=packets)
        return measure_lab(lab, pair, plan, source="replay-lag1")["forward"].trace.delay_s


def _several(folder: Path) -> tuple[float, dict[float, float]]:
    """Return the memory of a trace that remembers, and what is delivered of it by length of step, simulated."""
    chance = Chance(7, "replay-lag1 several packets a step")
    delay_s, off = np.empty(FLOW_PACKETS, dtype=np.float64), chance.normal()
    for number in range(FLOW_PACKETS):
        delay_s[number] = 0.080 + 0.010 * off
        off = KEPT * off + math.sqrt(1.0 - KEPT**2) * chance.normal()
    path = folder / "remembers.csv"
    t_s = np.arange(FLOW_PACKETS) / FLOW_HZ
    write_trace(Trace.of(t_s, path=TracedPath.FORWARD, clocks=ClockVerdict.ONE_CLOCK, delay_s=delay_s), path)
    plan = ProbePlan(rate_hz=FLOW_HZ, count=FLOW_PACKETS)
    kept = {}
    for step_s in SEVERAL_STEPS_S:
        pair = replay_pair(Replay(files=(str(path),), loop=False, step_s=step_s))
        kept[step_s] = _memory(measure_model(asked_of(pair), plan, seed=7)["forward"].trace.delay_s)
    return _memory(delay_s), kept


def _memory(delays_s: NDArray[np.float64]) -> float:
    found = lag_1(delays_s)
    return math.nan if found is None else found
