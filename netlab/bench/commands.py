"""How long whole commands take: ``netlab --help``, ``netlab guest run -- true``."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence

from netlab.bench.figure import Figure, spread_text
from netlab.engine_choice import guest_kernel

__all__ = ["guest_boot", "help_time"]

HELP_ROUNDS = 25
HELP_TARGET = 4.0
BOOT_ROUNDS = 10
BOOT_TARGET_S = 3.0


def help_time(say: Callable[[str], None]) -> Figure:
    """Compare ``netlab --help`` with an interpreter that does nothing, taken in turn."""
    ours, bare = [], []
    for _ in range(HELP_ROUNDS):
        bare.append(_seconds([sys.executable, "-c", "pass"]))
        ours.append(_seconds([sys.executable, "-P", "-m", "netlab", "--help"]))
    ratio = statistics.median(ours) / statistics.median(bare)
    return Figure(
        name="help-time",
        value=ratio,
        unit="times python -c pass",
        target=f"under {HELP_TARGET:g}",
        holds=ratio < HELP_TARGET,
        n=HELP_ROUNDS,
        spread=spread_text([1e3 * seconds for seconds in ours], "ms"),
        note=f"median {1e3 * statistics.median(ours):.0f} ms against {1e3 * statistics.median(bare):.0f} ms",
    )


def guest_boot(say: Callable[[str], None]) -> Figure:
    """Time ``netlab guest run -- true``, everything included, in real time."""
    kernel = guest_kernel(say)
    command = [sys.executable, "-P", "-m", "netlab", "guest", "run", "--", "true"]
    _seconds(command)  # the first reads the kernel from disk
    times_s = [_seconds(command) for _ in range(BOOT_ROUNDS)]
    worst_s = max(times_s)
    return Figure(
        name="guest-boot",
        value=statistics.median(times_s),
        unit="s",
        target=f"under {BOOT_TARGET_S:g}",
        holds=worst_s < BOOT_TARGET_S,
        n=BOOT_ROUNDS,
        spread=spread_text(times_s, "s"),
        note=f"guest kernel {kernel.release}; holds is judged on the slowest",
    )


def _seconds(command: Sequence[str]) -> float:
    begin = time.perf_counter()
    subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - begin
