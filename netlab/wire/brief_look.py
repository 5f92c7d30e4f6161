"""BriefLook: look again for a moment before going to sleep, as long as that pays.

A process that sleeps costs its peer the waking: tens of microseconds on a processor that has gone idle, many
times what sealing a frame takes. An answer that is due within that time is better waited for awake. Whether
one is, the last looks tell: when more are in vain than not there are no more, but for one now and then, so
that a link slower than a moment, or a peer on the same processor, costs next to nothing.

::

    misses - hits reaches 16: asleep at once | 511 times asleep | one look | 511 times asleep | ...
"""

from __future__ import annotations

import time
from collections.abc import Callable

from netlab.clock_name import in_virtual_time

__all__ = ["BriefLook"]

MAX_MISSES = 16
NEW_START_MISSES = 8
SKIPS_PER_LOOK = 512


class BriefLook:
    """Looks for up to a moment.

    Args:
        look: Returns something true when something is there; must not wait.
        moment_s: How long to look; 0 turns it off.
    """

    __slots__ = ("_look", "_misses", "_moment_s", "_skips")

    def __init__(self, look: Callable[[], object], moment_s: float) -> None:
        if in_virtual_time():  # a sleeper there is woken at no cost, and looking takes time from everybody
            moment_s = 0.0
        self._look = look
        self._moment_s = moment_s
        self._misses = 0 if moment_s > 0.0 else MAX_MISSES
        self._skips = 0

    def succeeds(self, timeout_s: float) -> bool:
        """Look, if it is worth it; return whether something is there.

        Args:
            timeout_s: How long the caller is going to wait; for less than a moment there is no look.
        """
        if timeout_s < self._moment_s or (self._misses >= MAX_MISSES and not self._is_due()):
            return False
        look = self._look
        end_s = time.monotonic() + self._moment_s
        while True:
            is_there = bool(look())
            if time.monotonic() >= end_s:
                # Even if it is there now: the processor was taken from us while it came. That is how looking
                # seems to pay on a processor shared with the peer, which could not run while we looked.
                self._misses = min(self._misses + 1, MAX_MISSES)
                return is_there
            if is_there:
                # A hit after having given up is a new start, not a last chance.
                had_given_up = self._misses >= MAX_MISSES
                self._misses = NEW_START_MISSES if had_given_up else max(self._misses - 1, 0)
                return True

    def _is_due(self) -> bool:
        self._skips = (self._skips + 1) % SKIPS_PER_LOOK
        return not self._skips and self._moment_s > 0.0
