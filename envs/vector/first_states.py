"""FirstStates: what the seeds of episodes decide, drawn many at once ahead of the resets that need it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

__all__ = ["FirstStates"]

_MAX_PREPARED = 1 << 17
_FIRST_CAPACITY = 1 << 10


class FirstStates:
    """Draw first states by seed; remember those that were asked for ahead until they are taken.

    Args:
        draw: Seeds ``[m]`` -> first states ``[m, width]``; a row depends on its own seed alone.
    """

    def __init__(self, draw: Callable[[NDArray[np.int64]], NDArray[np.float64]]) -> None:
        self._draw = draw
        self._prepared: dict[int, int] = {}  # seed -> place of its states
        self._states: NDArray[np.float64] = np.zeros((0, 0))
        self._next = 0

    def prepare(self, seeds: NDArray[np.int64]) -> None:
        """Draw the states of these seeds ``[m]`` now; they replace what was prepared where all is too much."""
        seeds = seeds[:_MAX_PREPARED]
        if not seeds.size:
            return
        states = self._draw(seeds)
        stop = self._next + seeds.size
        if stop > _MAX_PREPARED or not self._prepared:
            self._prepared.clear()
            self._next, stop = 0, seeds.size
        if stop > len(self._states):
            wider = np.zeros((max(2 * stop, _FIRST_CAPACITY), states.shape[1]))
            if self._next:
                wider[: self._next] = self._states[: self._next]
            self._states = wider
        self._states[self._next : stop] = states
        self._prepared.update(zip(seeds.tolist(), range(self._next, stop), strict=True))
        self._next = stop

    def take(self, seeds: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the states of these seeds ``[m, width]``, prepared or drawn now."""
        find = self._prepared.pop
        places = [find(seed, -1) for seed in seeds.tolist()]
        if -1 not in places:
            return self._states[places]
        missing = np.array(places) < 0
        drawn = self._draw(seeds[missing])
        found = np.empty((seeds.size, drawn.shape[1]))
        found[missing] = drawn
        if not missing.all():
            found[~missing] = self._states[[place for place in places if place >= 0]]
        return found
