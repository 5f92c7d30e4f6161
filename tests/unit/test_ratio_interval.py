"""Intervals of a ratio: Wilson's, and what runs leave of it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from netlab.traces.loss_run import runs_of
from netlab.traces.ratio_interval import run_interval, wilson_interval


def test_the_interval_is_wilsons() -> None:
    # Newcombe 1998, table I: 81 of 263 and 15 of 148, and the ends.
    for hits, n, low, high in ((81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0.0, 0.1611)):
        assert wilson_interval(hits, n) == pytest.approx((low, high), abs=5e-5)
    assert wilson_interval(20, 20) == pytest.approx((0.8389, 1.0), abs=5e-5)
    assert wilson_interval(0, 0) == (0.0, 1.0)


@given(st.integers(0, 300), st.integers(0, 300), st.data())
def test_runs_only_widen_it_and_it_holds_the_ratio(hits: int, misses: int, data: st.DataObject) -> None:
    runs = data.draw(st.integers(min(hits, 1), min(hits, misses + 1)))
    n = hits + misses
    low, high = run_interval(hits, n, runs)
    plain = wilson_interval(hits, n)
    assert 0.0 <= low <= high <= 1.0
    assert low <= plain[0] + 1e-12
    assert high >= plain[1] - 1e-12
    if n:
        assert low - 1e-12 <= hits / n <= high + 1e-12


def bursty(generator: np.random.Generator, n: int, p: float, r: float) -> np.ndarray:
    """Return losses of a chain that begins in its own mean."""
    lost = np.zeros(n, dtype=bool)
    state = generator.random() < p / (p + r)
    for row, chance in enumerate(generator.random(n)):
        lost[row] = state
        state = chance >= r if state else chance < p
    return lost


def test_of_losses_in_bursts_it_holds_the_true_ratio_about_as_often_as_it_says() -> None:
    # 300 flows of 2000 packets, p = 0.01, r = 0.2. If it holds 95 %, fewer than 270 of 300 have the chance 2e-4;
    # the plain one, of a third of that width, holds about half.
    truth, widened, plain = 0.01 / 0.21, 0, 0
    generator = np.random.default_rng(8)
    for _ in range(300):
        lost = bursty(generator, 2000, 0.01, 0.2)
        hits = int(lost.sum())
        low, high = run_interval(hits, 2000, int(runs_of(lost)[0].size))
        widened += low <= truth <= high
        low, high = wilson_interval(hits, 2000)
        plain += low <= truth <= high
    assert widened >= 270
    assert plain <= 240
