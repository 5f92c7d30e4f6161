"""Taus113: the generator of netem's decisions, four 32-bit words a qdisc.

Filled straight from a 64-bit seed, without a warm-up, as netem does it (docs/netem.md). Knows no packet.

::

    seed --start_words--> [s1 s2 s3 s4] --step--> [s1' s2' s3' s4']      draw = s1' ^ s2' ^ s3' ^ s4'

A stream that is used for longer is made a block at a time. A step is linear over single bits (shifts, ands,
exclusive ors), so any number of steps is too: what they make of each of the 32 bits of a word, once computed,
gives the words that far ahead without going there.

::

    lane 0   draws    0 ..  15      Lanes start LANE_ROWS draws apart; LANE_ROWS steps of all of them are a
    lane 1   draws   16 ..  31      block of LANES x LANE_ROWS draws; then every lane jumps that far.
    ...

Source: P. L'Ecuyer, "Tables of maximally equidistributed combined LFSR generators", 1999.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from netlab.errors import ProfileError

__all__ = [
    "COMPONENTS",
    "LANES",
    "LANE_ROWS",
    "SINGLE_DRAWS",
    "Component",
    "Taus113",
    "Taus113Lanes",
    "Words",
    "start_words",
    "start_words_of",
    "step_lanes",
    "step_words",
]

Component = tuple[int, int, int, int]
"""One of the four: (mask, left, tap, right) of ``s' = ((s & mask) << left) ^ (((s << tap) ^ s) >> right)``."""

Words = tuple[int, int, int, int]
"""The four words of a generator."""

COMPONENTS: tuple[Component, Component, Component, Component] = (
    (0xFFFFFFFE, 18, 6, 13),
    (0xFFFFFFF8, 2, 2, 27),
    (0xFFFFFFF0, 7, 13, 21),
    (0xFFFFFF80, 13, 3, 12),
)

LANES = 128
LANE_ROWS = 16

Lanes = NDArray[np.uint32]

_MASK, _LEFT, _TAP, _RIGHT = (
    np.array([component[place] for component in COMPONENTS], dtype=np.uint32)[:, np.newaxis] for place in range(4)
)
_BITS = np.arange(32, dtype=np.uint32)

U32_MAX = 2**32 - 1

SINGLE_DRAWS = 64
"""After a seed, before a block is worth its cost."""

_LEAST = (2, 8, 16, 128)
"""A word below its number would lose all its bits to the mask: the number is added to it."""

_HIGH, _FOLD, _NOTHING = np.uint64(32), np.uint64(10), np.uint32(0)
_LEAST_WORDS = np.array(_LEAST, dtype=np.uint32)


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


def start_words_of(seeds: NDArray[np.uint64]) -> NDArray[np.uint32]:
    """Return the four words that each of many seeds fills, ``[seeds, 4]``; as ``start_words`` does.

    Args:
        seeds: ``[seeds]``, ``uint64``: every value is a seed.
    """
    folded = ((seeds >> _HIGH) ^ (seeds << _FOLD) ^ seeds).astype(np.uint32)[:, np.newaxis]
    if (folded < _LEAST_WORDS[-1]).any():  # one seed in 34 million
        words: NDArray[np.uint32] = folded + np.where(folded < _LEAST_WORDS, _LEAST_WORDS, _NOTHING)
        return words
    return np.repeat(folded, len(COMPONENTS), axis=1)


def step_words(words: Words) -> Words:
    """Return the four words of the next step."""
    s1, s2, s3, s4 = (
        ((word & mask) << left & U32_MAX) ^ (((word << tap & U32_MAX) ^ word) >> right)
        for word, (mask, left, tap, right) in zip(words, COMPONENTS, strict=True)
    )
    return s1, s2, s3, s4


def step_lanes(words: Lanes, after: Lanes, left: Lanes, right: Lanes) -> None:
    """Step the words of many generators.

    Args:
        words: As they are, ``[4, lanes]``.
        after: As they are one step later, ``[4, lanes]``; written. May be ``words``.
        left: Room to work in, ``[4, lanes]``.
        right: Room to work in, ``[4, lanes]``.
    """
    np.bitwise_and(words, _MASK, out=left)
    np.left_shift(left, _LEFT, out=left)
    np.left_shift(words, _TAP, out=right)
    np.bitwise_xor(right, words, out=right)
    np.right_shift(right, _RIGHT, out=right)
    np.bitwise_xor(left, right, out=after)


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


class Taus113Lanes:
    """One stream of 32-bit draws, in blocks.

    Args:
        words: Of the generator as it stands.
    """

    __slots__ = ("_lanes",)

    def __init__(self, words: Words) -> None:
        lanes = np.array(words, dtype=np.uint32)[:, np.newaxis]
        while lanes.shape[1] < LANES:
            lanes = np.concatenate([lanes, _jumped(lanes, _images(LANE_ROWS * lanes.shape[1]))], axis=1)
        self._lanes = lanes

    def next_draws(self) -> list[int]:
        """Return the next ``LANES * LANE_ROWS`` draws, in order."""
        words, left, right = self._lanes.copy(), np.empty_like(self._lanes), np.empty_like(self._lanes)
        draws = np.empty((LANE_ROWS, LANES), dtype=np.uint32)
        for row in range(LANE_ROWS):
            step_lanes(words, words, left, right)
            np.bitwise_xor.reduce(words, axis=0, out=draws[row])
        self._lanes = _jumped(self._lanes, _images(LANE_ROWS * LANES))
        made: list[int] = draws.T.ravel().tolist()
        return made


def _jumped(words: Lanes, images: Lanes) -> Lanes:
    """Return words ``[4, lanes]`` as many steps ahead as the images ``[4, 32]`` are."""
    is_set = (words[:, :, np.newaxis] >> _BITS & np.uint32(1)).astype(bool)
    jumped: Lanes = np.bitwise_xor.reduce(np.where(is_set, images[:, np.newaxis, :], np.uint32(0)), axis=2)
    return jumped


@lru_cache(maxsize=32)
def _images(steps: int) -> Lanes:
    """Return what ``steps`` (a power of two) steps make of each bit of each word, ``[4, 32]``."""
    if steps > 1:
        half = _images(steps // 2)
        return _jumped(half, half)
    bits: Lanes = np.tile(np.uint32(1) << _BITS, (4, 1))
    images, left, right = (np.empty_like(bits) for _ in range(3))
    step_lanes(bits, images, left, right)
    return images
