"""RealTimeLoop: ticks on absolute deadlines; what arrives between them is taken when it arrives.

::

    origin      deadline 1     deadline 2                 deadline 5
      |--work--....|--work--....|--work-----------overrun----|--work--
                ^arrivals                     3, 4 skipped: the grid stays, the tick is 5

The loop waits and counts; what a tick does is its caller's business.
"""

from __future__ import annotations

from typing import Protocol

from netlab.control.histogram import Histogram
from netlab.envs.clock import Clock, MonotonicClock
from netlab.errors import LocalProtocolError

__all__ = ["ArrivalSource", "RealTimeLoop"]

LATE_NS = 2_000_000
"""A tick that begins this much after its deadline is a deadline miss."""


class ArrivalSource(Protocol):
    """Something that may become readable while the loop waits."""

    def fileno(self) -> int:
        """Return the descriptor to watch; negative while there is none."""
        ...

    def on_readable(self) -> None:
        """Take what has arrived, without waiting."""
        ...


class RealTimeLoop:
    """Wait for tick after tick.

    Args:
        rate_hz: Ticks a second.
        clock: Time to live in; CLOCK_MONOTONIC where None.

    Attributes:
        tick: The current tick; 0 from ``start`` on.
        lateness_us: How long after their deadlines ticks began.
        late: Ticks that began more than 2 ms late.
        skipped: Ticks that never began, because the one before took too long.
    """

    def __init__(self, rate_hz: float, clock: Clock | None = None) -> None:
        self.rate_hz = rate_hz
        self.clock: Clock = MonotonicClock() if clock is None else clock
        self.tick = -1
        self.lateness_us = Histogram()
        self.late = 0
        self.skipped = 0
        self._origin_ns = 0
        self._period_ns = 1e9 / rate_hz

    def start(self, tick: int = 0) -> int:
        """Begin now with a tick, the grid with it, and return it; ticks that a pause has cost are not skipped."""
        self._origin_ns = self.clock.now_ns() - round(tick * self._period_ns)
        self.tick = tick
        return tick

    def next_tick(self, source: ArrivalSource | None = None) -> int:
        """Wait for the next tick and return it.

        Args:
            source: What to watch meanwhile. It is asked for its descriptor each time, so it may lose its
                socket or get another one in between.

        Raises:
            LocalProtocolError: The loop has not been started.
        """
        if self.tick < 0:
            raise LocalProtocolError("the loop waits for a tick before it was started")
        now_ns = self.clock.now_ns()
        # The tick that is running now began at or before `now`; the next one we can still begin in time to
        # call it by its name is the one whose successor's deadline has not passed.
        latest = int((now_ns - self._origin_ns) / self._period_ns)
        self.skipped += max(latest - self.tick - 1, 0)
        self.tick = max(latest, self.tick + 1)
        deadline_ns = self._origin_ns + round(self.tick * self._period_ns)
        while now_ns < deadline_ns:
            fileno = -1 if source is None else source.fileno()
            if fileno < 0 or source is None:
                self.clock.sleep_ns(deadline_ns - now_ns)
            elif self.clock.wait_readable(fileno, deadline_ns - now_ns):
                source.on_readable()
            now_ns = self.clock.now_ns()
        self.lateness_us.add((now_ns - deadline_ns) // 1000)
        self.late += now_ns - deadline_ns > LATE_NS
        return self.tick
