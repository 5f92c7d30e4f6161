"""Clock: the time a real-time loop lives in, and its two ways of waiting; a test gives it another one."""

from __future__ import annotations

import select
import time
from typing import Protocol

__all__ = ["Clock", "MonotonicClock"]

_SELECT_OVERDRAWS = 1.001
"""Linux lets select sleep a thousandth longer than it was told: of 20 ms, 20 us."""


class Clock(Protocol):
    """Time that never goes back."""

    def now_ns(self) -> int:
        """Return the time in nanoseconds."""
        ...

    def sleep_ns(self, duration_ns: int) -> None:
        """Let so much time pass."""
        ...

    def wait_readable(self, fileno: int, duration_ns: int) -> bool:
        """Wait until a descriptor is readable, never longer than so long, perhaps less; return whether it is."""
        ...


class MonotonicClock:
    """CLOCK_MONOTONIC and the kernel's own waiting."""

    def now_ns(self) -> int:
        """Return the time in nanoseconds."""
        return time.monotonic_ns()

    def sleep_ns(self, duration_ns: int) -> None:
        """Sleep; Python does so on an absolute deadline, so signals do not lengthen it."""
        time.sleep(duration_ns * 1e-9)

    def wait_readable(self, fileno: int, duration_ns: int) -> bool:
        """Wait by select, whose timeout is in microseconds (poll's and epoll's is in milliseconds).

        It is told less, so that it does not return after the time: whoever has some left waits again.
        """
        timeout_us = int(duration_ns / 1e3 / _SELECT_OVERDRAWS)
        if timeout_us <= 0:
            self.sleep_ns(max(duration_ns, 0))
        readable, _, _ = select.select((fileno,), (), (), max(timeout_us, 0) * 1e-6)
        return bool(readable)
