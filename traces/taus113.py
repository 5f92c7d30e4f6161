"""Taus113: the generator of netem's decisions, four 32-bit words a qdisc.

Filled straight from a 64-bit seed, without a warm-up, as netem does it (docs/netem.md). Knows no packet.

::

    seed --start_words--> [s1 s2 s3 s4] --step--> [s1' s2' s3' s4']      draw = s1' ^ s2' ^ s3' ^ s4'

Source: P. L'Ecuyer, "Tables of maximally equidistributed combined LFSR generators", 1999.
"""

from __future__ import annotations

from netlab.errors import ProfileError

__all__ = ["COMPONENTS", "Component", "Taus113", "Words", "start_words"]

U32_MAX = 2**32 - 1

Component = tuple[int, int, int, int]
"""One of the four: (mask, left, tap, right) of ``s' = ((s & mask) << left) ^ (((s << tap) ^ s) >> right)``."""

Words = tuple[int, int, int, int]

COMPONENTS: tuple[Component, Component, Component, Component] = (
    (0xFFFFFFFE, 18, 6, 13),
    (0xFFFFFFF8, 2, 2, 27),
    (0xFFFFFFF0, 7, 13, 21),
    (0xFFFFFF80, 13, 3, 12),
)

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

    Args:
        seed: 64 bits; hash it first (``link_seed``), small or neighbouring seeds give related streams.
    """

    __slots__ = ("_s1", "_s2", "_s3", "_s4")

    def __init__(self, seed: int) -> None:
        self.seed(seed)

    def seed(self, seed: int) -> None:
        """Begin the stream of a seed."""
        self._s1, self._s2, self._s3, self._s4 = start_words(seed)

    @property
    def words(self) -> Words:
        """The four words as they stand."""
        return self._s1, self._s2, self._s3, self._s4

    def draw(self) -> int:
        """Return the next draw, 0 .. 2^32 - 1."""
        # The steps of COMPONENTS written out: bits that a left shift would push beyond 32 are masked before it.
        s = self._s1
        self._s1 = s1 = ((s & 0x3FFE) << 18) ^ (((s << 6 ^ s) & 0xFFFFFFFF) >> 13)
        s = self._s2
        self._s2 = s2 = ((s & 0x3FFFFFF8) << 2) ^ (((s << 2 ^ s) & 0xFFFFFFFF) >> 27)
        s = self._s3
        self._s3 = s3 = ((s & 0x1FFFFF0) << 7) ^ (((s << 13 ^ s) & 0xFFFFFFFF) >> 21)
        s = self._s4
        self._s4 = s4 = ((s & 0x7FF80) << 13) ^ (((s << 3 ^ s) & 0xFFFFFFFF) >> 12)
        return s1 ^ s2 ^ s3 ^ s4
