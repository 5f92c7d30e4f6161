"""Equivalence within a margin, by two one-sided tests."""

from __future__ import annotations

import math

import numpy as np
import pytest

from netlab.tables.equivalence import Equivalence, student_quantile


@pytest.mark.parametrize(
    ("freedom", "expected"), [(9, 1.83311), (19, 1.72913), (29, 1.69913), (99, 1.66039), (10_000, 1.64501)]
)
def test_quantiles_are_those_of_the_tables(freedom: int, expected: float) -> None:
    """Student's t at 0.95, as published tables have it."""
    assert student_quantile(0.95, freedom) == pytest.approx(expected, rel=2e-5)


def test_the_interval_is_students() -> None:
    differences = [1.0, 2.0, 3.0, 4.0, 5.0, 1.0, 2.0, 3.0, 4.0, 5.0]
    found = Equivalence.of(differences, 10.0)
    reach = 1.83311 * math.sqrt(20 / 9) / math.sqrt(10)
    assert (found.n, found.mean) == (10, 3.0)
    assert (found.low, found.high) == pytest.approx((3.0 - reach, 3.0 + reach), rel=1e-4)


@pytest.mark.parametrize(
    ("differences", "verdict"),
    [
        ([0.0] * 10, "equivalent"),
        ([0.0] * 9, "undecided"),
        ([9.0, 8.0] * 20, "equivalent"),
        ([9.9, 8.0, 11.5] * 5, "undecided"),
        ([-30.0, -20.0] * 20, "different"),
        ([30.0, 20.0] * 20, "different"),
        ([0.0] * 9 + [300.0], "undecided"),
    ],
)
def test_only_an_interval_within_the_margin_is_equivalent(differences: list[float], verdict: str) -> None:
    assert Equivalence.of(differences, 10.0).verdict == verdict


def test_what_is_different_by_the_margin_is_seldom_called_equivalent() -> None:
    """2,000 studies of n = 30, true difference exactly the margin: 5 % are called so; 5 sigma of that is 2.4 %."""
    rng = np.random.default_rng(1)
    called = sum(
        Equivalence.of((10.0 + 15.0 * rng.standard_normal(30)).tolist(), 10.0).verdict == "equivalent"
        for _ in range(2_000)
    )
    assert 0.02 <= called / 2_000 <= 0.075
    close = sum(
        Equivalence.of((2.0 * rng.standard_normal(30)).tolist(), 10.0).verdict == "equivalent" for _ in range(200)
    )
    assert close == 200, "and what is equal is"
