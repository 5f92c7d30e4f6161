"""KernelTimer: a timer of the kernel's, which goes off at a jiffy, and never early. No clock of its own."""

from __future__ import annotations

__all__ = ["JIFFY_NS", "NEVER_NS", "KernelTimer", "jiffies_of"]

JIFFY_NS = 10_000_000
"""The time-travel guest has 100 jiffies a second; most kernels of PCs have 250 or 1000."""
NEVER_NS = 2**63 - 1

_LEVELS = 8
_LEVEL_JIFFIES = 63
_LEVEL_SHIFT = 3


def jiffies_of(duration_ns: int) -> int:
    """Return how many jiffies last at least so long."""
    return -(-duration_ns // JIFFY_NS)


class KernelTimer:
    """One timer.

    Attributes:
        expires_ns: When it goes off; ``NEVER_NS`` while it is not set.
    """

    __slots__ = ("expires_ns",)

    def __init__(self) -> None:
        self.expires_ns = NEVER_NS

    @property
    def is_set(self) -> bool:
        """Whether it will go off."""
        return self.expires_ns != NEVER_NS

    def set(self, now_ns: int, jiffies: int) -> None:
        """Set it, whether it is set or not.

        The timer wheel keeps a moment that is far away by its place alone: each level is eight times coarser, and
        rounds up. So a timer of 0.64 s or more is up to 80 ms late.
        """
        shift, reach = 0, _LEVEL_JIFFIES
        for _ in range(_LEVELS):
            if jiffies < reach:
                break
            shift += _LEVEL_SHIFT
            reach <<= _LEVEL_SHIFT
        place = ((now_ns // JIFFY_NS + jiffies) >> shift) + 1
        self.expires_ns = (place << shift) * JIFFY_NS

    def stop(self) -> None:
        """Forget it."""
        self.expires_ns = NEVER_NS
