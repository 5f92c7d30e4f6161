"""Chance: numbers drawn from a seed, the same for ever.

A generator's promise is that its seed gives the same schedule on any machine, years from now. numpy promises
that for the bits of PCG64, not for its distributions. So only bits are taken from there; what they become is
decided here, by inverse distribution functions, and whoever uses them rounds to microseconds, above what
machines differ in.

::

    seed, purpose --SHA-256--> PCG64 bits --53 of 64--> uniform --inverse--> normal | exponential | choice
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Sequence
from statistics import NormalDist

from numpy.random import PCG64

from netlab.traces.bound import bounded_count

__all__ = ["Chance"]

_STANDARD = NormalDist()
_HIGH_BITS = 11
_STEP = 2.0**-53


class Chance:
    """A source of numbers; one for each purpose, so that more draws for one change nothing of another.

    Args:
        seed: 0 .. 2^64 - 1.
        purpose: What the numbers are for.
    """

    def __init__(self, seed: int, purpose: str) -> None:
        bounded_count("seed", seed, 0, 2**64 - 1)
        text = json.dumps([seed, purpose], separators=(",", ":"), ensure_ascii=True)
        self._bits = PCG64(int.from_bytes(hashlib.sha256(text.encode("ascii")).digest(), "big"))

    def uniform(self, low: float = 0.0, high: float = 1.0) -> float:
        """Return a number strictly between two others, each as likely."""
        raw = int(self._bits.random_raw()) >> _HIGH_BITS
        return low + (high - low) * ((raw + 0.5) * _STEP)

    def normal(self) -> float:
        """Return a normal number of mean 0 and deviation 1."""
        return _STANDARD.inv_cdf(self.uniform())

    def exponential(self, mean: float) -> float:
        """Return an exponential number, that of a stay without memory."""
        return -mean * math.log(self.uniform())

    def lognormal(self, median: float, sigma: float) -> float:
        """Return a number whose logarithm is normal with a deviation of ``sigma``."""
        return median * math.exp(sigma * self.normal())

    def choice(self, weights: Sequence[float]) -> int:
        """Return an index, as likely as its weight among all; one of them has to be above zero."""
        left = self.uniform(0.0, sum(weights))
        for index, weight in enumerate(weights):
            left -= weight
            if left < 0.0:
                return index
        return max(index for index, weight in enumerate(weights) if weight > 0.0)
