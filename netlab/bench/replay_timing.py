"""How late a Player's steps are: 100 steps a second on ten links, both directions, in real time.

::

    asked    |---10 ms---|---10 ms---|         20 tracks share each deadline
    applied   |           |           |        when the kernel had acknowledged all of them
             late
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from netlab.bench.figure import Figure
from netlab.bench.replay_lab import play_star

__all__ = ["replay_timing"]

LINKS = 10
RATE_HZ = 100.0
SECONDS = 20.0
TARGET_MEDIAN_S, TARGET_P99_S = 0.3e-3, 2e-3


def replay_timing(say: Callable[[str], None]) -> Figure:
    """Play ten links for twenty seconds and say how late the steps were, and that none was skipped."""
    played = play_star(LINKS, RATE_HZ, SECONDS)
    late_s = played.late_s
    median_s, p99_s = (float(np.quantile(late_s, q)) for q in (0.5, 0.99))
    say(f"replay-timing: {played.counts}")
    return Figure(
        name="replay-timing",
        value=1e3 * median_s,
        unit="ms late, median",
        target=f"median under {1e3 * TARGET_MEDIAN_S:g} ms, 99 % under {1e3 * TARGET_P99_S:g} ms, none skipped",
        holds=median_s < TARGET_MEDIAN_S and p99_s < TARGET_P99_S and not played.skipped,
        n=int(late_s.size),
        spread=f"99 % within {1e3 * p99_s:.3g} ms, the latest {1e3 * float(late_s.max()):.3g} ms",
        note=f"{RATE_HZ:g} steps a second on {LINKS} links, both directions, for {SECONDS:g} s, each with a new "
        f"delay and seed; {played.skipped} skipped; {played.counts.verified} read back beside them; "
        f"{played.busy_share:.1%} of a processor",
    )
