"""How late a Player's steps are: 100 steps a second on ten links, both directions, in real time.

::

    asked    |---10 ms---|---10 ms---|         in step: 20 tracks share each deadline
    applied   |           |           |        when the kernel had acknowledged all of them
             late
    asked    |.|..||...|.|..|..||..|..         apart: each track at a phase of its own
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from netlab.bench.figure import Figure
from netlab.bench.replay_lab import PlayedStar, play_star

__all__ = ["replay_timing"]

LINKS = 10
RATE_HZ = 100.0
SECONDS = 20.0
TARGET_MEDIAN_S, TARGET_P99_S = 0.3e-3, 2e-3


def replay_timing(say: Callable[[str], None]) -> Figure:
    """Play ten links for twenty seconds, in step and apart, and say how late the steps were; none is skipped."""
    runs = {name: play_star(LINKS, RATE_HZ, SECONDS, apart=name == "apart") for name in ("in step", "apart")}
    for name, run in runs.items():
        say(f"replay-timing, {name}: {run.counts}")
    median_s, p99_s = (max(_late_s(run, q) for run in runs.values()) for q in (0.5, 0.99))
    skipped = sum(run.skipped for run in runs.values())
    return Figure(
        name="replay-timing",
        value=1e3 * median_s,
        unit="ms late, median, the worse of two runs",
        target=f"median under {1e3 * TARGET_MEDIAN_S:g} ms, 99 % under {1e3 * TARGET_P99_S:g} ms, none skipped",
        holds=median_s < TARGET_MEDIAN_S and p99_s < TARGET_P99_S and not skipped,
        n=sum(int(run.late_s.size) for run in runs.values()),
        spread="; ".join(
            f"{name}: median {1e3 * _late_s(run, 0.5):.3g} ms, 99 % within {1e3 * _late_s(run, 0.99):.3g} ms, the "
            f"latest {1e3 * float(run.late_s.max()):.3g} ms, {run.busy_share:.1%} of a processor"
            for name, run in runs.items()
        ),
        note=f"{RATE_HZ:g} steps a second on {LINKS} links, both directions, for {SECONDS:g} s, each with a new "
        f"delay and seed; in step: on the same deadlines, apart: each direction at a phase of its own; {skipped} "
        f"skipped; {sum(run.counts.verified for run in runs.values())} read back beside them",
    )


def _late_s(run: PlayedStar, q: float) -> float:
    return float(np.quantile(run.late_s, q))
