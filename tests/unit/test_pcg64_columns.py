from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netlab.envs.vector.first_states import FirstStates
from netlab.envs.vector.pcg64 import first_doubles
from netlab.errors import LocalProtocolError

EDGES = [0, 1, 2, 2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**32 + 1, 2**62, 2**63 - 1]


@given(st.lists(st.integers(0, 2**63 - 1), min_size=0, max_size=30), st.integers(1, 9))
@settings(max_examples=60, deadline=None)
def test_columns_are_numpy_s_generators(seeds, count):
    """Few seeds take another way than many, so both ends of the list's length are met."""
    drawn = first_doubles(np.array(seeds, np.int64), count)
    expected = [np.random.default_rng(seed).random(count) for seed in seeds]
    assert drawn.tobytes() == np.array(expected, np.float64).reshape(-1, count).tobytes()


def test_seeds_at_the_edges_of_words_and_many_neighbours():
    seeds = np.array(EDGES + list(range(3000)), np.int64)
    expected = np.array([np.random.default_rng(int(seed)).random(4) for seed in seeds])
    assert first_doubles(seeds, 4).tobytes() == expected.tobytes()


@pytest.mark.parametrize("m", [3, 30])
def test_no_seed_is_below_zero(m):
    seeds = np.arange(m) - 1
    with pytest.raises(LocalProtocolError, match="-1 as the seed of an episode"):
        first_doubles(seeds, 1)


def test_what_was_prepared_is_taken_once_and_the_rest_is_drawn_when_asked():
    asked: list[int] = []

    def draw(seeds):
        asked.extend(seeds.tolist())
        return seeds[:, None] * np.array([1.0, 0.5])

    first = FirstStates(draw)
    first.prepare(np.array([3, 4, 5]))
    assert first.take(np.array([4, 9, 4, 3])).tolist() == [[4, 2], [9, 4.5], [4, 2], [3, 1.5]]
    assert asked == [3, 4, 5, 9, 4]


def test_what_is_prepared_stays_bounded(monkeypatch):
    monkeypatch.setattr("netlab.envs.vector.first_states._MAX_PREPARED", 10)
    first = FirstStates(lambda seeds: seeds[:, None] * 1.0)
    first.prepare(np.arange(8))
    first.prepare(np.arange(8, 30))
    assert len(first._prepared) == 10
    assert first.take(np.array([2, 8, 29])).tolist() == [[2], [8], [29]]
