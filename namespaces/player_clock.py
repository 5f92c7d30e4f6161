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


_LAST_S = 1e-3
"""The end of a wait is slept: it cannot be broken off, but ends more punctually than a wait for an event."""

_EARLY_S = 150e-6
_LOOKS = 40
"""A sleep of such a length aims so much early, since waking takes 0.1 ms in a guest kernel, and then looks at the
clock so often at most; what is left is slept. In a guest kernel, where a look takes 4 to 11 us, the median of how
late a wait ends falls from 65 us to 15 us. On a native kernel, where 40 looks are over in 5 us, it is the second,
short sleep that ends more punctually: from 40 us to 25 us, for 30 us of processor time a wait."""


class InterruptibleClock:
    """The machine's monotonic clock."""

    def now_s(self) -> float:
        """Return the seconds since some time in the past."""
        return time.monotonic()

    def wait_until(self, deadline_s: float, interrupt: threading.Event) -> None:
        """Sleep until the deadline or the interrupt."""
        left_s = deadline_s - time.monotonic()
        is_long = left_s > _LAST_S
        while left_s > _LAST_S:
            if interrupt.wait(min(left_s - _LAST_S / 2, threading.TIMEOUT_MAX)):
                return
            left_s = deadline_s - time.monotonic()
        if is_long and left_s > _EARLY_S:
            time.sleep(left_s - _EARLY_S)
            for _ in range(_LOOKS):
                left_s = deadline_s - time.monotonic()
                if left_s <= 0.0:
                    return
        if left_s > 0.0:
            time.sleep(left_s)
