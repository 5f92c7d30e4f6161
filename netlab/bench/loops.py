"""How punctually an environment ticks, beside bare sleeping loops in the same labs at the same time."""

from __future__ import annotations

import json
import sys
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path

from msgspec import Struct

from netlab.bench import bare_loop
from netlab.bench.figure import Figure
from netlab.errors import SpecError
from netlab.experiment import Cell, Experiment, run_experiment
from netlab.lab import Lab

__all__ = ["loop_50", "loop_500"]


LEAST_TICKS = 20_000


class _Loops(Struct, frozen=True, kw_only=True):
    name: str
    rate_hz: float
    labs: int
    episodes_a_lab: int
    target_ratio: float


def loop_50(say: Callable[[str], None]) -> Figure:
    """Pool the ticks of parallel labs at 50 Hz."""
    return _measure(_Loops(name="loop-50", rate_hz=50.0, labs=14, episodes_a_lab=3, target_ratio=0.001))


def loop_500(say: Callable[[str], None]) -> Figure:
    """Pool the ticks of two labs at 500 Hz."""
    return _measure(_Loops(name="loop-500", rate_hz=500.0, labs=2, episodes_a_lab=20, target_ratio=0.01))


def _measure(loops: _Loops) -> Figure:
    ticks_a_lab = 500 * loops.episodes_a_lab
    cell = Cell(network="", policy="linear-predict", actuator="scheduled", horizon_ticks=2, labs=loops.labs)
    experiment = Experiment(
        name=loops.name,
        cells=(cell,),
        episodes=loops.labs * loops.episodes_a_lab,
        labs_at_once=loops.labs,
        rate_hz=loops.rate_hz,
    )
    with BareLoops(loops.labs, loops.rate_hz, ticks_a_lab) as bare:
        result = run_experiment(experiment, "for the loop bench", lambda share, progress: bare.begin())
        bare_late, bare_ticks = bare.late_ticks()
    (found,) = result.cells
    bare_ratio = bare_late / bare_ticks
    value = found.deadline_miss_ratio
    if value is None:
        raise SpecError("late ticks cannot be measured in virtual time", key=loops.name)
    return Figure(
        name=loops.name,
        value=100.0 * value,
        unit="% of ticks over 2 ms late",
        target=f"under {100 * loops.target_ratio:g} %, or the bare loops's; {LEAST_TICKS} ticks or more",
        holds=found.ticks >= LEAST_TICKS and (value < loops.target_ratio or value <= bare_ratio),
        n=found.ticks,
        spread=f"bare loops beside them: {100.0 * bare_ratio:.3g} % of {bare_ticks}",
        note=f"{loops.labs} labs at {loops.rate_hz:g} Hz, {found.skipped_ticks} ticks skipped",
    )


class BareLoops:
    """As many processes as there are labs that only sleep to the next deadline and count how late they wake.

    Args:
        count: How many processes.
        rate_hz: Ticks a second.
        ticks: Ticks of each.
    """

    def __init__(self, count: int, rate_hz: float, ticks: int) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="netlab-bench-")
        self._start = Path(self._folder.name) / "start"
        self._lab = Lab()
        self._outputs = [Path(self._folder.name) / f"{number}.json" for number in range(count)]
        self._spread_s = 1.0 / rate_hz / count
        self._words = [f"{rate_hz}", f"{ticks}", str(self._start)]
        self._lock = threading.Lock()

    def __enter__(self) -> BareLoops:
        self._lab.open()
        host = self._lab.add_host("bare")
        # Spread over one tick, as the labs are: both must meet the same crowd.
        self._processes = [
            host.start(
                [sys.executable, "-IS", bare_loop.__file__, *self._words, f"{self._spread_s * number}"],
                stdout=output,
            )
            for number, output in enumerate(self._outputs)
        ]
        return self

    def __exit__(self, *error: object) -> None:
        self._lab.close()
        self._folder.cleanup()

    def begin(self) -> None:
        """Let them begin, once."""
        with self._lock:
            if not self._start.exists():
                self._start.touch()

    def late_ticks(self) -> tuple[int, int]:
        """Wait for their ends; return late ticks and all ticks."""
        for process in self._processes:
            process.wait(60)
            process.check()
        counts = [json.loads(output.read_text()) for output in self._outputs]
        return sum(count["late"] for count in counts), sum(count["ticks"] for count in counts)
