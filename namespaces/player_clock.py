"""PlayerClock: the time a Player lives in: seconds, and waits that can be broken off; a test gives it another."""

from __future__ import annotations

import threading
import time
from typing import Protocol

__all__ = ["InterruptibleClock", "PlayerClock"]


class PlayerClock(Protocol):
    """Where the Player gets its time from."""

    def now_s(self) -> float:
        """Return the time, from any beginning."""
        ...

    def wait_until(self, deadline_s: float, interrupt: threading.Event) -> None:
        """Return at the deadline, or earlier when interrupted."""
        ...


class InterruptibleClock:
    """The machine's monotonic clock."""

    def now_s(self) -> float:
        """Return the seconds since some time in the past."""
        return time.monotonic()

    def wait_until(self, deadline_s: float, interrupt: threading.Event) -> None:
        """Sleep until the deadline or the interrupt."""
        while (left_s := deadline_s - time.monotonic()) > 0.0:
            if interrupt.wait(min(left_s, threading.TIMEOUT_MAX)):
                return
