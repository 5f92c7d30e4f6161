"""Histogram: counts of non-negative whole numbers in bounded memory.

Holds ages in ticks, lateness and latency in microseconds; knows nothing of what it counts. Values below
128 are exact, larger ones keep 7 significant bits (an error under 1.6 %), those from 2^40 on share a bucket.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

__all__ = ["Histogram"]

_EXACT_BITS = 7
_HALF = 1 << (_EXACT_BITS - 1)
_LARGEST = (1 << 40) - 1
_BUCKETS = _HALF * (40 - _EXACT_BITS + 2)


class Histogram:
    """Count values; ask for quantiles at any time.

    Attributes:
        count: How many values were added.
        maximum: The largest of them, exact; -1 before the first.
    """

    __slots__ = ("_buckets", "_total", "count", "maximum")

    def __init__(self) -> None:
        self._buckets = [0] * _BUCKETS
        self._total = 0
        self.count = 0
        self.maximum = -1

    def add(self, value: int) -> None:
        """Count one value; a negative one counts as zero."""
        value = max(value, 0)
        self.count += 1
        self._total += value
        self.maximum = max(self.maximum, value)
        self._buckets[_bucket(value)] += 1

    def merge(self, other: Histogram) -> None:
        """Add all that another histogram has counted."""
        self.count += other.count
        self._total += other._total
        self.maximum = max(self.maximum, other.maximum)
        self._buckets = [mine + theirs for mine, theirs in zip(self._buckets, other._buckets, strict=True)]

    def pairs(self) -> list[tuple[int, int]]:
        """Return (value, how often) for each value that occurred, for a file; ``from_pairs`` reads it."""
        top = self.maximum
        return [(min(_upper_edge(i), top), count) for i, count in enumerate(self._buckets) if count]

    @classmethod
    def from_pairs(cls, pairs: Iterable[tuple[int, int]]) -> Histogram:
        """Return the histogram that ``pairs`` came from (its mean as exact as its buckets)."""
        histogram = cls()
        for value, count in pairs:
            histogram._buckets[_bucket(value)] += count
            histogram.count += count
            histogram._total += value * count
            histogram.maximum = max(histogram.maximum, value)
        return histogram

    @property
    def mean(self) -> float:
        """Return the exact mean; NaN before the first value."""
        return self._total / self.count if self.count else math.nan

    def quantile(self, ratio: float) -> int:
        """Return the smallest value that at least ``ratio`` of all values do not exceed; -1 before the first.

        Above 127 it is the upper edge of that value's bucket, never more than ``maximum``.
        """
        if not self.count:
            return -1
        wanted = max(1, math.ceil(ratio * self.count))
        seen = 0
        for index, count in enumerate(self._buckets):
            seen += count
            if seen >= wanted:
                return min(_upper_edge(index), self.maximum)
        return self.maximum


def _bucket(value: int) -> int:
    if value < 1 << _EXACT_BITS:
        return value
    value = min(value, _LARGEST)
    shift = value.bit_length() - _EXACT_BITS
    return _HALF * shift + (value >> shift)


def _upper_edge(index: int) -> int:
    if index < 1 << _EXACT_BITS:
        return index
    shift = index // _HALF - 1
    return ((index - _HALF * shift + 1) << shift) - 1
