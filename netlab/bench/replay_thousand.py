"""What it costs one process to play a thousand links: ten steps a second each way, in real time.

Twice: all in step, which is the least it can cost, and each direction on deadlines of its own, the most.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from netlab.bench.figure import Figure
from netlab.bench.replay_lab import PlayedStar, play_star

__all__ = ["replay_1000"]

LINKS = 1000
RATE_HZ = 10.0
SECONDS = 20.0
TARGET_SHARE = 0.5


def replay_1000(say: Callable[[str], None]) -> Figure:
    """Play a thousand links for twenty seconds, in step and apart, and say what share of a processor that took."""
    runs = {name: play_star(LINKS, RATE_HZ, SECONDS, apart=name == "apart") for name in ("in step", "apart")}
    for name, run in runs.items():
        say(f"replay-1000, {name}: {run.counts}")
    worse = max(runs.values(), key=lambda run: run.busy_share)
    skipped = sum(run.skipped for run in runs.values())
    return Figure(
        name="replay-1000",
        value=worse.busy_share,
        unit="of a processor, the worse of two runs",
        target=f"under {TARGET_SHARE:g}, none skipped",
        holds=worse.busy_share < TARGET_SHARE and not skipped,
        n=sum(run.counts.applied for run in runs.values()),
        spread="; ".join(f"{name}: {_costs(run)}" for name, run in runs.items()),
        note=f"{LINKS} links, {RATE_HZ:g} steps a second in each of both directions for {SECONDS:g} s, each with "
        f"a new delay and seed; in step: on the same deadlines, apart: each direction at a phase of its own; "
        f"{skipped} skipped; {sum(run.counts.verified for run in runs.values())} read back beside them",
    )


def _costs(run: PlayedStar) -> str:
    late_ms = 1e3 * run.late_s
    return (
        f"{run.busy_share:.3f}, {1e6 * run.awake_s / run.counts.applied:.1f} us a change "
        f"(the kernel counts {run.counted_s:.1f} s of processor time, awake were {run.awake_s:.1f} s of "
        f"{run.wall_s:.1f} s), late {np.median(late_ms):.3g} ms in the median, 99 % within "
        f"{np.quantile(late_ms, 0.99):.3g} ms"
    )
