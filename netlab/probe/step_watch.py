"""StepWatch: notices when the host's clock is set, and by how much.

The kernel stamps arrivals by CLOCK_REALTIME, which people and NTP may set; CLOCK_MONOTONIC goes on. Both are
slewed alike, so their difference changes by steps alone.

::

    realtime - monotonic   ______________|``````````````   shift_ns: the height of the step

What is stamped between a step and the next look is off by the step.
"""

from __future__ import annotations

import time
from collections.abc import Callable

__all__ = ["StepWatch"]

LEAST_STEP_NS = 100_000
"""A smaller difference may be this process's pause between two clocks; NTP steps by more than a millisecond."""
CLOSE_NS = 50_000
"""Readings further apart than this prove nothing."""
FIRST_READINGS = 8


class StepWatch:
    """Watches one host's clock.

    Args:
        monotonic_ns: A clock that cannot be set.
        realtime_ns: The clock that can.

    Attributes:
        shift_ns: By how much the clock has been set since the start: to be taken off its stamps.
        steps: How often it was set.
    """

    def __init__(
        self,
        monotonic_ns: Callable[[], int] = time.monotonic_ns,
        realtime_ns: Callable[[], int] = time.time_ns,
    ) -> None:
        self._monotonic_ns = monotonic_ns
        self._realtime_ns = realtime_ns
        self.shift_ns = 0
        self.steps = 0
        self._base_ns = min(self._read() for _ in range(FIRST_READINGS))[1]

    def look(self) -> None:
        """Look whether the clock was set; a fraction of a microsecond."""
        apart_ns, difference_ns = self._read()
        if apart_ns > CLOSE_NS:
            return
        shift_ns = difference_ns - self._base_ns
        if abs(shift_ns - self.shift_ns) >= LEAST_STEP_NS:
            self.shift_ns = shift_ns
            self.steps += 1

    def _read(self) -> tuple[int, int]:
        """Return how long this process took between two readings, and realtime minus monotonic."""
        before_ns = self._monotonic_ns()
        realtime_ns = self._realtime_ns()
        after_ns = self._monotonic_ns()
        return after_ns - before_ns, realtime_ns - (before_ns + after_ns) // 2
