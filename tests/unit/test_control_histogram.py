from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netlab.control import Histogram

values = st.lists(st.one_of(st.integers(0, 300), st.integers(0, 2**39)), min_size=1, max_size=200)


def fill(numbers):
    histogram = Histogram()
    for number in numbers:
        histogram.add(number)
    return histogram


@given(values, st.sampled_from([0.0, 0.01, 0.5, 0.9, 0.99, 1.0]))
def test_quantiles_are_exact_below_128_and_within_a_64th_above(numbers, ratio):
    exact = sorted(numbers)[max(1, math.ceil(ratio * len(numbers))) - 1]
    found = fill(numbers).quantile(ratio)
    assert exact <= found <= exact * (1 + 1 / 64)
    if exact < 128:
        assert found == exact


@given(values)
def test_count_mean_and_maximum_are_exact(numbers):
    histogram = fill(numbers)
    assert histogram.count == len(numbers)
    assert histogram.maximum == max(numbers) == histogram.quantile(1.0)
    assert histogram.mean == pytest.approx(sum(numbers) / len(numbers))


@given(values, values)
def test_pooling_by_merge_and_by_pairs_is_counting_all(one, other):
    together = fill(one + other)
    merged = fill(one)
    merged.merge(fill(other))
    pooled = Histogram.from_pairs(fill(one).pairs() + fill(other).pairs())
    for ratio in (0.1, 0.5, 0.99, 1.0):
        assert merged.quantile(ratio) == together.quantile(ratio)
        assert pooled.quantile(ratio) == together.quantile(ratio)
    assert pooled.count == merged.count == together.count


def test_memory_does_not_depend_on_what_comes():
    histogram = Histogram()
    buckets = len(histogram._buckets)
    for value in (-5, 0, 2**40 - 1, 2**40, 2**200):
        histogram.add(value)
    assert len(histogram._buckets) == buckets < 3000
    assert (histogram.quantile(0.0), histogram.count, histogram.maximum) == (0, 5, 2**200)


def test_an_empty_histogram_says_so():
    histogram = Histogram()
    assert (histogram.quantile(0.5), histogram.maximum, histogram.pairs()) == (-1, -1, [])
    assert math.isnan(histogram.mean)
