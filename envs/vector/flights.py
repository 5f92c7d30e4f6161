"""Flights: messages under way in N rows, of which only those newer than what has been taken in are of use.

Whatever is overtaken by a newer message is of no use. So each message bounds those sent before it: it replaces
their times of arrival where it comes earlier, and what a row takes in next stands one place behind what it took
in last, without a search::

    push          p    p+1   p+2   p+3        One place a push, the same for all rows.
    arrives      0.31  0.25  never 0.30
    kept         0.25  0.25  0.30  0.30       After push p+1 is taken in at 0.25, p+3 is next, at 0.30.

Times and places are kept in one number, the place in its low bits: of two messages that arrive at one moment the
one sent first is the smaller. Knows no link and no clock: it is told when each message arrives and asked what has.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from netlab.errors import ProfileError
from netlab.traces.model.prepared_links import NEVER

__all__ = ["NEVER", "Bools", "Column", "Flights", "Numbers", "Places", "key_at", "rows_of"]

Bools = NDArray[np.bool_]
Numbers = NDArray[np.int64]
Places = NDArray[np.intp]
Column = tuple[tuple[int, ...], np.dtype[Any]]
"""Shape of what one message carries, and its type."""

_PLACE_BITS = 16
_MOST_PLACES = 1 << _PLACE_BITS
_PLACE_MASK = _MOST_PLACES - 1
_LATEST_NS = (1 << (63 - _PLACE_BITS)) - 1
"""39 hours into an episode: what arrives later never does."""
_NEVER_KEY = _LATEST_NS << _PLACE_BITS

_MOST_NARROW = 255
_FIRST_CAPACITY = 64
_LOOK_EVERY = 8
"""Pushes after which is looked anew at how far back messages of use lie."""


class Flights:
    """Messages in one direction.

    Args:
        n: Number of rows.
        columns: What travels with each message, by name.
    """

    def __init__(self, n: int, columns: dict[str, Column]) -> None:
        self._n = n
        self._capacity = _FIRST_CAPACITY
        self._first = 0  # messages of use lie from here
        self._stop = 0  # to here
        self._until_look = _LOOK_EVERY
        self._next = np.full(n, _NEVER_KEY)
        self._keys = np.full((self._capacity, n), _NEVER_KEY)
        self._flat_keys = self._keys.reshape(-1)
        self._columns = {
            name: np.zeros((self._capacity, n, *shape), dtype) for name, (shape, dtype) in columns.items()
        }
        self._flatten()

    def clear(self, rows: Places) -> None:
        """Forget all of some rows: an episode begins there."""
        self._next[rows] = _NEVER_KEY

    def push(self, arrives_ns: Numbers, columns: dict[str, NDArray[Any]]) -> None:
        """Put a message of each row under way, newer than all before.

        Args:
            arrives_ns: When it arrives, ``[n]``; ``NEVER`` where it does not, or there is none.
            columns: What travels with it, ``[n, ...]`` each; others are not looked at.

        Raises:
            ProfileError: Tens of thousands of messages of use are under way.
        """
        self._until_look -= 1
        # One place stays free behind the last: what is not there yet never arrives.
        if not self._until_look or self._stop + 1 == self._capacity:
            self._look()
        place = self._stop
        keys = np.minimum(arrives_ns, _LATEST_NS)
        keys <<= _PLACE_BITS
        keys += place
        self._keys[place] = keys
        before = self._keys[self._first : place]
        np.minimum(before, keys, out=before)
        np.minimum(self._next, keys, out=self._next)
        for name, kept in self._columns.items():
            kept[place] = columns[name]
        self._stop += 1

    def arrived(self, key: Numbers) -> Bools:
        """Return in which rows something of use has arrived by the times of ``key_at``, ``[n]``."""
        return self._next < key

    def take(self, rows: Places) -> tuple[Places, Numbers]:
        """Take in what arrives next in some rows, which have something under way.

        Returns:
            Its place for ``column``, good until the next push, and when it arrives, ``[m]`` each.
        """
        keys = self._next.take(rows)
        places = keys & _PLACE_MASK
        places *= self._n
        places += rows
        keys >>= _PLACE_BITS
        self._next[rows] = self._flat_keys.take(places + self._n)
        return places, keys

    def take_newest(self, key: Numbers, who: Bools) -> tuple[Places, Places]:
        """Take in all that has arrived in some rows by the times of ``key_at``, ``[n]``.

        Returns:
            The rows in which that was anything, and the newest's places for ``column``, ``[m]`` each.
        """
        arrived = self._next < key
        arrived &= who
        rows = rows_of(arrived)
        if not rows.size:
            return rows, rows
        # Keys only rise from place to place, so those up to the newest have arrived, taken in before or not.
        are_there = self._keys[self._first : self._stop] < key
        narrow = np.uint8 if len(are_there) <= _MOST_NARROW else np.int64  # several times as fast
        count = np.add.reduce(are_there.view(np.uint8), axis=0, dtype=narrow)
        places = count.take(rows).astype(np.intp)
        places += self._first - 1
        places *= self._n
        places += rows
        self._next[rows] = self._flat_keys.take(places + self._n)
        return rows, places

    def column(self, name: str, places: Places) -> NDArray[Any]:
        """Return what travels with messages, ``[m, ...]``."""
        return self._flat[name].take(places, axis=0)

    def _look(self) -> None:
        """Find out how far back messages of use lie; make room where the places run out."""
        self._until_look = _LOOK_EVERY
        places = np.where(self._next < _NEVER_KEY, self._next & _PLACE_MASK, self._stop)
        self._first = int(places.min())
        if self._stop + _LOOK_EVERY + 1 < self._capacity:
            return
        depth = self._stop - self._first
        if 2 * depth >= self._capacity:
            self._move(2 * self._capacity)
        else:
            self._move(self._capacity)

    def _move(self, capacity: int) -> None:
        """Move what is of use to the first places of so many."""
        if capacity > _MOST_PLACES:
            raise ProfileError(
                f"more than {self._stop - self._first} messages are under way in one direction",
                hint="fewer ticks a second, a shorter delay, or a smaller queue",
            )
        used, depth = slice(self._first, self._stop), self._stop - self._first
        keys = np.full((capacity, self._n), _NEVER_KEY)
        keys[:depth] = self._rebased(self._keys[used])
        self._keys, self._next = keys, self._rebased(self._next)
        for name, values in self._columns.items():
            if capacity == self._capacity:
                values[:depth] = values[used].copy()
                continue
            wider = np.zeros((capacity, *values.shape[1:]), values.dtype)
            wider[:depth] = values[used]
            self._columns[name] = wider
        self._first, self._stop, self._capacity = 0, depth, capacity
        self._flatten()

    def _rebased(self, keys: Numbers) -> Numbers:
        return np.where(keys < _NEVER_KEY, keys - self._first, _NEVER_KEY)

    def _flatten(self) -> None:
        self._flat_keys = self._keys.reshape(-1)
        self._flat = {
            name: values.reshape(values.shape[0] * self._n, *values.shape[2:])
            for name, values in self._columns.items()
        }


def key_at(now_ns: Numbers) -> Numbers:
    """Return what ``Flights.arrived`` takes for times ``[n]``; what arrives at that very moment has arrived."""
    # Above it no key would be later, not even that of what never arrives.
    return np.minimum(now_ns + 1, _LATEST_NS) << _PLACE_BITS


def rows_of(who: Bools) -> Places:
    """Return the rows of a mask ``[n]``, ``[m]``; ``np.flatnonzero`` takes several times as long."""
    return who.nonzero()[0]
