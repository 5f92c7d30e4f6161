"""Distances between samples, against brute force over every value and every pairing."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from netlab.traces.distance import ks_distance, wasserstein_1
from netlab.traces.profile import LinkProfile

values = st.one_of(st.floats(-1e3, 1e3), st.integers(-5, 5).map(float))
samples = st.lists(values, min_size=1, max_size=12)


def brute_ks(a: list[float], b: list[float]) -> float:
    return max(abs(sum(x <= at for x in a) / len(a) - sum(x <= at for x in b) / len(b)) for at in [*a, *b])


def brute_w1(a: list[float], b: list[float]) -> float:
    """Repeat each sample until both are of one size: then sorted values are moved to one another."""
    many_a, many_b = sorted(a * len(b)), sorted(b * len(a))
    return sum(abs(x - y) for x, y in zip(many_a, many_b, strict=True)) / len(many_a)


@given(samples, samples)
def test_both_are_what_brute_force_gives(a, b):
    assert ks_distance(a, b) == pytest.approx(brute_ks(a, b), abs=1e-12)
    assert wasserstein_1(a, b) == pytest.approx(brute_w1(a, b), rel=1e-9, abs=1e-9)


@given(samples, samples)
def test_they_are_the_same_both_ways_and_nothing_to_oneself(a, b):
    assert ks_distance(a, b) == ks_distance(b, a)
    assert wasserstein_1(a, b) == pytest.approx(wasserstein_1(b, a), rel=1e-12)
    assert ks_distance(a, list(reversed(a))) == 0.0
    assert wasserstein_1(a, list(reversed(a))) == 0.0


@given(samples, st.floats(-100, 100))
def test_moving_a_sample_moves_it_by_so_much(a, by):
    assert wasserstein_1(a, np.array(a) + by) == pytest.approx(abs(by), abs=1e-9)


@given(st.lists(st.tuples(values, st.integers(0, 4)), min_size=1, max_size=8), samples)
def test_a_weight_counts_a_value_so_many_times(weighted, b):
    a, weights = [value for value, _ in weighted], [weight for _, weight in weighted]
    repeated = [value for value, weight in weighted for _ in range(weight)]
    if not repeated:
        with pytest.raises(ValueError, match="unfit weights"):
            ks_distance(a, b, weights)
        return
    assert ks_distance(a, b, weights) == pytest.approx(ks_distance(repeated, b), abs=1e-12)
    assert wasserstein_1(b, a, None, weights) == pytest.approx(wasserstein_1(b, repeated), rel=1e-9, abs=1e-9)


def test_the_values_of_a_law_are_a_sample():
    law = LinkProfile(delay_s=0.1, jitter_s=0.01).delay_law
    drawn = np.random.default_rng(3).normal(0.1, 0.01, 20_000)
    # n = 20,000: KS passes 1.63 / sqrt(n) = 0.0115 in 1 of 100 runs; the seed is fixed.
    assert ks_distance(drawn, law.delays_ns() / 1e9) < 0.0115
    assert wasserstein_1(drawn, law.delays_ns() / 1e9) < 0.0003


@pytest.mark.parametrize(
    ("a", "words"), [([], "one value or more"), ([[1.0]], "one value or more"), ([1.0, np.nan], "not finite")]
)
def test_what_is_no_sample_is_refused(a, words):
    with pytest.raises(ValueError, match=words):
        wasserstein_1(a, [1.0])
    with pytest.raises(ValueError, match=words):
        ks_distance([1.0], a)
