"""Virtual time: how fast a two-host lab runs in the guest with time travel, and whether twice gives the same.

::

    wall clock --| netlab guest run --virtual-time -- cartpole_lab --> result.json, ticks.jsonl |-- twice, compared
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import msgspec

from netlab.bench import cartpole_lab
from netlab.bench.figure import Figure
from netlab.check_run import CheckedRun
from netlab.envs.result import RunResult
from netlab.errors import LabError

__all__ = ["virtual_time"]

NAME = "virtual-time"
TARGET = 50.0
NETWORK = "wifi-normal"
EPISODES = 6
LEAST_GUEST_S = 60.0
"""Six episodes of 500 ticks at 50 Hz."""

MAX_OUTPUT_BYTES = 4096


class _TimedRun:
    """Runs the lab in a guest and takes the time outside.

    Args:
        folder: Where the lab writes what came of it.
    """

    def __init__(self, folder: Path) -> None:
        self.wall_s: list[float] = []
        self._command = [
            sys.executable, "-P", "-m", "netlab", "guest", "run", "--virtual-time", "--",
            sys.executable, "-P", "-m", cartpole_lab.__name__, str(folder), NETWORK, str(EPISODES),
        ]  # fmt: skip
        self._folder = folder

    def __call__(self, stdin: int | None, stdout: int) -> int:
        begin_s = time.perf_counter()
        done = subprocess.run(
            self._command, stdin=subprocess.DEVNULL, stdout=stdout, cwd=self._folder, check=False
        )
        self.wall_s.append(time.perf_counter() - begin_s)
        return done.returncode


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
        if status and not told:
            raise LabError("the lab of the virtual-time bench failed", status)
        printed.seek(0)
        guest_s = float(printed.read(MAX_OUTPUT_BYTES))
        result = msgspec.json.decode(files[0].read_bytes(), type=RunResult)
        ticks_bytes = files[1].stat().st_size
    say(told[-1])
    return _figure(guest_s, timed.wall_s, result, ticks_bytes, is_identical=status == 0, told=told[-1])


def _figure(
    guest_s: float, wall_s: list[float], result: RunResult, ticks_bytes: int, *, is_identical: bool, told: str
) -> Figure:
    rates = [guest_s / wall for wall in wall_s]
    value = statistics.median(rates)
    verdict = f"both runs identical (result, {ticks_bytes} bytes of tick log)" if is_identical else told
    return Figure(
        name=NAME,
        value=value,
        unit="guest seconds a second",
        target=f"at least {TARGET:g}, both runs identical",
        holds=value >= TARGET and is_identical and guest_s >= LEAST_GUEST_S,
        n=len(rates),
        spread=f"{min(rates):.0f}..{max(rates):.0f}; {min(wall_s):.2f}..{max(wall_s):.2f} s for {guest_s:.3f}",
        note=f"start of kernel and programs included; {NETWORK}, mean return {result.return_mean:g}, "
        f"{result.counters.ticks} ticks; kernel {result.machine.get('guest')}; {verdict}",
    )
