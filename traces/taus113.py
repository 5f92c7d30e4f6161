"""Taus113: the generator of netem's decisions, four 32-bit words a qdisc.

Filled straight from a 64-bit seed, without a warm-up, as netem does it (docs/netem.md). Knows no packet.

::

    seed --start_words--> [s1 s2 s3 s4] --step--> [s1' s2' s3' s4']      draw = s1' ^ s2' ^ s3' ^ s4'

Source: P. L'Ecuyer, "Tables of maximally equidistributed combined LFSR generators", 1999.
"""

from __future__ import annotations

from netlab.errors import ProfileError
from netlab.traces.taus113_lanes import COMPONENTS, Taus113Lanes, Words

__all__ = ["SINGLE_DRAWS", "Taus113", "start_words", "step_words"]

U32_MAX = 2**32 - 1

SINGLE_DRAWS = 64
"""After a seed, before a block is worth its cost."""

_LEAST = (2, 8, 16, 128)
"""A word below its number would lose all its bits to the mask: the number is added to it."""


def start_words(seed: int) -> Words:
    """Return the four words that a 64-bit seed fills.

    Raises:
        ProfileError: The seed is no unsigned 64-bit number.
    """
    if not 0 <= seed < 2**64:
        raise ProfileError(f"seed = {seed}: must be an unsigned 64-bit number")
    folded = ((seed >> 32) ^ (seed << 10) ^ seed) & U32_MAX
    s1, s2, s3, s4 = (folded + least if folded < least else folded for least in _LEAST)
    return s1, s2, s3, s4


class Taus113:
    """One stream of 32-bit draws.

    The first draws after a seed are stepped one by one; a stream that is used for longer is made ahead in blocks.

    Args:
        seed: 64 bits; hash it first (``link_seed``), small or neighbouring seeds give related streams.
    """

    __slots__ = ("_ahead", "_lanes", "_single", "_words")

    def __init__(self, seed: int) -> None:
        self.seed(seed)

    def seed(self, seed: int) -> None:
        """Begin the stream of a seed."""
        self._words = start_words(seed)
        self._single = SINGLE_DRAWS
        self._lanes: Taus113Lanes | None = None
        self._ahead: list[int] = []  # the next draw is the last of them

    def draw(self) -> int:
        """Return the next draw, 0 .. 2^32 - 1."""
        ahead = self._ahead
        if not ahead:
            if self._single:
                return self._step()
            if self._lanes is None:
                self._lanes = Taus113Lanes(self._words)
            self._ahead = ahead = self._lanes.next_draws()
            ahead.reverse()
        return ahead.pop()

    def _step(self) -> int:
        self._single -= 1
        self._words = words = step_words(self._words)
        s1, s2, s3, s4 = words
        return s1 ^ s2 ^ s3 ^ s4


def step_words(words: Words) -> Words:
    """Return the four words of the next step."""
    s1, s2, s3, s4 = (
        ((word & mask) << left & U32_MAX) ^ (((word << tap & U32_MAX) ^ word) >> right)
        for word, (mask, left, tap, right) in zip(words, COMPONENTS, strict=True)
    )
    return s1, s2, s3, s4
