"""Taus113Lanes: the draws of one generator made a block at a time, by stepping many places of it at once.

A step is linear over single bits (shifts, ands, exclusive ors), so any number of steps is too: what they make of
each of the 32 bits of a word, once computed, gives the words that far ahead without going there.

::

    lane 0   draws    0 ..  15      Lanes start ROWS draws apart; ROWS steps of all of them are a block
    lane 1   draws   16 ..  31      of LANES x ROWS draws; then every lane jumps that far.
    ...

Owns the generator's constants. Knows no seed.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

__all__ = ["COMPONENTS", "LANES", "ROWS", "Component", "Taus113Lanes", "Words", "step_lanes"]

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
ROWS = 16

Lanes = NDArray[np.uint32]

_MASK, _LEFT, _TAP, _RIGHT = (
    np.array([component[place] for component in COMPONENTS], dtype=np.uint32)[:, np.newaxis] for place in range(4)
)
_BITS = np.arange(32, dtype=np.uint32)


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


class Taus113Lanes:
    """One stream of 32-bit draws, in blocks.

    Args:
        words: Of the generator as it stands.
    """

    __slots__ = ("_lanes",)

    def __init__(self, words: Words) -> None:
        lanes = np.array(words, dtype=np.uint32)[:, np.newaxis]
        while lanes.shape[1] < LANES:
            lanes = np.concatenate([lanes, _jumped(lanes, _images(ROWS * lanes.shape[1]))], axis=1)
        self._lanes = lanes

    def next_draws(self) -> list[int]:
        """Return the next ``LANES * ROWS`` draws, in order."""
        words, left, right = self._lanes.copy(), np.empty_like(self._lanes), np.empty_like(self._lanes)
        draws = np.empty((ROWS, LANES), dtype=np.uint32)
        for row in range(ROWS):
            step_lanes(words, words, left, right)
            np.bitwise_xor.reduce(words, axis=0, out=draws[row])
        self._lanes = _jumped(self._lanes, _images(ROWS * LANES))
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
