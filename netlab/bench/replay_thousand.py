"""What it costs one process to play a thousand links: ten steps a second each way, in real time."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from netlab.bench.figure import Figure
from netlab.bench.replay_lab import play_star

__all__ = ["replay_1000"]

LINKS = 1000
RATE_HZ = 10.0
SECONDS = 25.0
TARGET_SHARE = 0.5


def replay_1000(say: Callable[[str], None]) -> Figure:
    """Play a thousand links for twenty-five seconds and say what share of a processor that took."""
    played = play_star(LINKS, RATE_HZ, SECONDS)
    late_ms = 1e3 * played.late_s
    say(f"replay-1000: {played.counts}")
    return Figure(
        name="replay-1000",
        value=played.busy_share,
        unit="of a processor",
        target=f"under {TARGET_SHARE:g}, none skipped",
        holds=played.busy_share < TARGET_SHARE and not played.skipped,
        n=played.counts.applied,
        spread=f"late: median {np.median(late_ms):.3g} ms, 99 % within {np.quantile(late_ms, 0.99):.3g} ms",
        note=f"{LINKS} links, {RATE_HZ:g} steps a second in each of both directions for {played.wall_s:.1f} s, "
        f"each with a new delay and seed: {1e6 * played.awake_s / played.counts.applied:.1f} us a change; "
        f"the kernel counts {played.counted_s:.1f} s of processor time, awake were {played.awake_s:.1f} s; "
        f"{played.skipped} skipped; {played.counts.verified} read back beside them",
    )
