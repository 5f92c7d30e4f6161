"""Intervals of 95 %: quantiles as in published tables, and how often intervals hold what is true."""

from __future__ import annotations

import math

import numpy as np
import pytest

from netlab.tables.intervals import Estimate, ratio_ends, reach, student_quantile


@pytest.mark.parametrize(
    ("share", "freedom", "expected"),
    [
        (0.95, 1, 6.31375),
        (0.975, 1, 12.70620),
        (0.975, 2, 4.30265),
        (0.975, 4, 2.77645),
        (0.975, 8, 2.30600),
        (0.95, 9, 1.83311),
        (0.95, 99, 1.66039),
        (0.95, 10_000, 1.64501),
    ],
)
def test_quantiles_are_those_of_the_tables(share: float, freedom: int, expected: float) -> None:
    assert student_quantile(share, freedom) == pytest.approx(expected, rel=5e-6)


def estimate(values: np.ndarray) -> Estimate:
    return Estimate(float(values.mean()), float(values.std(ddof=1) / math.sqrt(len(values))), len(values) - 1)


def test_one_mean_has_students_interval_and_two_have_welchs_freedom() -> None:
    one, same, exact = Estimate(3.0, 0.5, 4), Estimate(1.0, 0.5, 4), Estimate(9.0, 0.0, 4)
    assert reach(one) == reach(one, exact) == pytest.approx(2.77645 * 0.5, rel=1e-5)
    assert reach(one, same) == pytest.approx(2.30600 * math.hypot(0.5, 0.5), rel=1e-5)  # 8 degrees of freedom
    assert reach(exact) == reach(exact, exact) == 0.0
    # 1 / (0.8^2 / 4 + 0.2^2 / 4) = 5.88: 5, of which the table has 2.57058.
    assert reach(Estimate(0.0, 2.0, 4), Estimate(0.0, 1.0, 4)) == pytest.approx(2.57058 * math.sqrt(5), rel=1e-5)


def test_five_seeds_and_five_differ_by_chance_in_a_twentieth_of_cases() -> None:
    """n = 4,000 pairs of five equal values each, one of which varies thrice as much; two errors would be 9 %.

    Five standard errors of a share of 5 % are 1.7 %.
    """
    rng = np.random.default_rng(1)
    called = 0
    for _ in range(4000):
        one, other = estimate(rng.normal(100.0, 3.0, 5)), estimate(rng.normal(100.0, 9.0, 5))
        called += abs(one.value - other.value) > reach(one, other)
    assert 0.02 < called / 4000 < 0.067


@pytest.mark.parametrize("bottom", [2.0, 0.3])
def test_a_ratio_is_in_its_interval_also_where_the_bottom_is_hardly_told_from_none(bottom: float) -> None:
    """n = 2,000 studies of five; true ratio 6 / bottom; 5 standard errors of 95 % are 2.4 %."""
    rng = np.random.default_rng(2)
    held = above = 0
    for _ in range(2000):
        top, under = estimate(rng.normal(6.0, 0.5, 5)), estimate(rng.normal(bottom, 0.5, 5))
        low, high = ratio_ends(top, under)
        held += low <= 6.0 / bottom <= high
        above += math.isinf(high)
    assert held / 2000 > 0.926
    assert (above > 500) == (bottom == 0.3)  # of such a bottom little is known, and that is said


def test_the_ends_of_a_ratio() -> None:
    assert ratio_ends(Estimate(0.6, 0.0, 4), Estimate(0.2, 0.0, 4)) == pytest.approx((3.0, 3.0))
    low, high = ratio_ends(Estimate(0.6, 0.01, 4), Estimate(0.2, 0.02, 4))
    for ratio in (low, high):  # where it ends, the difference is as far from 0 as chance allows
        far = 2.77645 * math.hypot(0.01, ratio * 0.02)
        assert abs(0.6 - ratio * 0.2) == pytest.approx(far, rel=1e-4)
    assert low < 3.0 < high
    assert ratio_ends(Estimate(0.6, 0.01, 4), Estimate(0.0, 0.0, 4)) == (math.inf, math.inf)
    low, high = ratio_ends(Estimate(0.6, 0.01, 4), Estimate(0.02, 0.02, 4))
    assert 0.6 / 0.1 < low < 0.6 / 0.02 and high == math.inf
    low, high = ratio_ends(Estimate(0.6, 0.01, 4), Estimate(-0.01, 0.02, 4))
    assert low > 0.6 / 0.05 and high == math.inf
