"""The first doubles of many numpy generators at once, bit for bit those of ``numpy.random.default_rng(seed)``.

An episode is decided by its seed, so each needs a generator of its own, and making one takes longer than
some environments take for a tick. Here the seeding and the first draws are columns, a row a seed.

::

    seed --hash into a pool of 4 words, then 8 words--> state, increment --multiply, add, permute--> doubles

Sources: M. E. O'Neill, "PCG: A Family of Simple Fast Space-Efficient Statistically Good Algorithms for Random
Number Generation" (2014), of which this is the 128-bit generator with the XSL-RR permutation; the hash of seeds
is O'Neill's "Developing a seed_seq Alternative" (2015) as numpy's documentation of ``SeedSequence`` has it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from netlab.errors import LocalProtocolError

__all__ = ["first_doubles"]

_FEW_SEEDS = 10
"""Below this, a generator a seed is faster than the columns."""

_POOL = 4
_HALF = 16
_HASH_BEGIN, _HASH_FACTOR = 0x43B0D7E5, 0x931E8875
_WORD_BEGIN, _WORD_FACTOR = 0x8B51F9DD, 0x58F38DED
_MIX_LEFT, _MIX_RIGHT = np.uint32(0xCA01F9DD), np.uint32(0x4973F715)
_STEP_HIGH, _STEP_LOW = np.uint64(0x2360ED051FC65DA4), np.uint64(0x4385DF649FCCF645)
_LOW_32, _32 = np.uint64(0xFFFFFFFF), np.uint64(32)

_Words = NDArray[np.uint32]
_Longs = NDArray[np.uint64]


class _Wide(NamedTuple):
    """128-bit numbers ``[m]`` in two halves."""

    high: _Longs
    low: _Longs


def first_doubles(seeds: NDArray[np.int64], count: int) -> NDArray[np.float64]:
    """Return ``[m, count]``: what ``default_rng(seed).random(count)`` gives for each seed ``[m]``.

    Raises:
        LocalProtocolError: A seed is below 0.
    """
    if seeds.size and int(seeds.min()) < 0:
        raise LocalProtocolError(f"{int(seeds.min())} as the seed of an episode: must be at least 0")
    doubles = np.empty((seeds.size, count))
    if seeds.size < _FEW_SEEDS:
        for row, seed in enumerate(seeds.tolist()):
            doubles[row] = np.random.default_rng(seed).random(count)
        return doubles
    state, increment = _begin(_words(seeds))
    for draw in range(count):
        state = _advance(state, increment)
        # XSL-RR: the halves xored, turned right by the state's highest 6 bits; a double has 53 bits of that.
        mixed, turn = state.high ^ state.low, state.high >> np.uint64(58)
        turned = (mixed >> turn) | (mixed << (-turn & np.uint64(63)))
        doubles[:, draw] = (turned >> np.uint64(11)) * 2.0**-53
    return doubles


def _constants(begin: int, factor: int, count: int) -> _Words:
    """Return ``[count + 1, 1]``: begin, begin * factor, begin * factor^2 ... modulo 2^32."""
    return np.array([[begin * pow(factor, power, 2**32) % 2**32] for power in range(count + 1)], np.uint32)


_HASH_CONSTANTS = _constants(_HASH_BEGIN, _HASH_FACTOR, _POOL * _POOL)
_WORD_CONSTANTS = _constants(_WORD_BEGIN, _WORD_FACTOR, 2 * _POOL)


def _hash(values: _Words, constants: _Words) -> _Words:
    """Return the values ``[k, m]`` hashed, row i by the constants i and i + 1 of ``[k + 1, 1]``."""
    mixed = (values ^ constants[:-1]) * constants[1:]
    return mixed ^ (mixed >> np.uint32(_HALF))


def _words(seeds: NDArray[np.int64]) -> _Longs:
    """Return the four 64-bit words ``[4, m]`` that a generator is begun with."""
    entropy = np.zeros((_POOL, seeds.size), np.uint32)
    unsigned = seeds.astype(np.uint64)
    entropy[0], entropy[1] = unsigned & _LOW_32, unsigned >> _32
    pool = _hash(entropy, _HASH_CONSTANTS[: _POOL + 1])
    used = _POOL
    for source in range(_POOL):
        others = [row for row in range(_POOL) if row != source]
        constants = _HASH_CONSTANTS[used : used + _POOL]
        mixed = _MIX_LEFT * pool[others] - _MIX_RIGHT * _hash(pool[[source] * len(others)], constants)
        pool[others] = mixed ^ (mixed >> np.uint32(_HALF))
        used += len(others)
    words = _hash(np.concatenate((pool, pool)), _WORD_CONSTANTS).astype(np.uint64)
    return words[0::2] | (words[1::2] << _32)


def _begin(words: _Longs) -> tuple[_Wide, _Wide]:
    """Return state and increment of fresh generators."""
    high, low, sequence_high, sequence_low = words
    one = np.uint64(1)
    increment = _Wide((sequence_high << one) | (sequence_low >> np.uint64(63)), (sequence_low << one) | one)
    return _advance(_add(increment, _Wide(high, low)), increment), increment


def _advance(state: _Wide, increment: _Wide) -> _Wide:
    """Return the next state: times the multiplier, plus the increment, modulo 2^128."""
    a0, a1 = state.low & _LOW_32, state.low >> _32
    b0, b1 = _STEP_LOW & _LOW_32, _STEP_LOW >> _32
    cross, other = a0 * b1, a1 * b0
    carry = ((a0 * b0) >> _32) + (cross & _LOW_32) + (other & _LOW_32)
    carried = a1 * b1 + (cross >> _32) + (other >> _32) + (carry >> _32)
    high = carried + state.high * _STEP_LOW + state.low * _STEP_HIGH
    return _add(_Wide(high, state.low * _STEP_LOW), increment)


def _add(left: _Wide, right: _Wide) -> _Wide:
    low = left.low + right.low
    return _Wide(left.high + right.high + (low < left.low), low)
