"""Virtual time: how fast a two-host lab runs in the guest with time travel, and whether twice gives the same.

::

    netlab guest run --virtual-time -- cartpole_lab --> result.json, ticks.jsonl    twice, compared
                                            | "12.3" at the first tick, "72.3" after the last: the guest's clock
    wall clock -----------------------------^ when these lines arrive

The start of the kernel and of three interpreters is no part of the ratio; it stands beside it.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from netlab.bench import cartpole_lab
from netlab.bench.figure import Figure
from netlab.check_run import CheckedRun, RunEnd
from netlab.envs.result import RunResult
from netlab.errors import LabError

__all__ = ["virtual_time"]

NAME = "virtual-time"
TARGET = 50.0
NETWORK = "wifi-normal"
EPISODES = 7
"""Of 500 ticks at 50 Hz: a minute, and ten seconds more."""
LEAST_GUEST_S = 60.0

RUNS = 2
MAX_OUTPUT_BYTES = 4096


class _TimedRun:
    """Runs the lab in a guest and takes the time outside.

    Args:
        folder: Where the lab writes what came of it.
    """

    def __init__(self, folder: Path) -> None:
        self.whole_s: list[float] = []
        self.ticking_s: list[float] = []
        self._command = [
            sys.executable, "-P", "-m", "netlab", "guest", "run", "--virtual-time", "--",
            sys.executable, "-P", "-m", cartpole_lab.__name__, str(folder), NETWORK, str(EPISODES),
        ]  # fmt: skip
        self._folder = folder

    def __call__(self, stdin: int | None, stdout: int) -> RunEnd:
        begin_s = time.perf_counter()
        arrivals_s = []
        with subprocess.Popen(
            self._command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, cwd=self._folder
        ) as process:
            assert process.stdout is not None  # a pipe was asked for
            while line := process.stdout.readline(MAX_OUTPUT_BYTES):
                arrivals_s.append(time.perf_counter())
                os.write(stdout, line)
        self.whole_s.append(time.perf_counter() - begin_s)
        if len(arrivals_s) > 1:
            self.ticking_s.append(arrivals_s[1] - arrivals_s[0])
        return RunEnd(process.returncode)


def virtual_time(say: Callable[[str], None]) -> Figure:
    """Run a minute of CartPole twice; compare results and tick logs, and guest seconds with seconds outside.

    Raises:
        GuestError: There is no guest kernel with time travel.
        LabError: A run came to no end.
    """
    told: list[str] = []
    with tempfile.TemporaryDirectory(prefix="netlab-bench-") as name, tempfile.TemporaryFile() as printed:
        folder = Path(name)
        files = [folder / file for file in (cartpole_lab.RESULT_NAME, cartpole_lab.TICKS_NAME)]
        timed = _TimedRun(folder)
        status = CheckedRun(timed, files, told.append).run(None, printed.fileno())
        if len(timed.ticking_s) < RUNS:
            raise LabError("the lab of the virtual-time bench failed", status)
        printed.seek(0)
        first_s, last_s = (float(line) for line in printed.read(MAX_OUTPUT_BYTES).split()[:2])
        result = msgspec.json.decode(files[0].read_bytes(), type=RunResult)
        ticks_bytes = files[1].stat().st_size
    say(told[-1])
    return _figure(last_s - first_s, timed, result, ticks_bytes, "" if status == 0 else told[-1])


def _figure(guest_s: float, timed: _TimedRun, result: RunResult, ticks_bytes: int, difference: str) -> Figure:
    rates = [guest_s / wall_s for wall_s in timed.ticking_s]
    value = statistics.median(rates)
    verdict = difference or f"both runs identical (result, {ticks_bytes} bytes of tick log)"
    return Figure(
        name=NAME,
        value=value,
        unit="guest seconds a second",
        target=f"at least {TARGET:g}, both runs identical",
        holds=value >= TARGET and not difference and guest_s >= LEAST_GUEST_S,
        n=len(rates),
        spread=f"{min(rates):.0f}..{max(rates):.0f}; {guest_s:.3f} s in {_range(timed.ticking_s)} s",
        note=f"{_range(timed.whole_s)} s with the start of kernel and programs, which is no part of the ratio; "
        f"{NETWORK}, mean return {result.return_mean:g}, "
        f"{result.counters.ticks} ticks; kernel {result.machine.get('guest')}; {verdict}",
    )


def _range(values: Sequence[float]) -> str:
    return f"{min(values):.2f}..{max(values):.2f}"
