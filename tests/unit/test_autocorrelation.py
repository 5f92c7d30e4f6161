"""Lag-1 autocorrelation: of neighbours that both arrived, and the same wherever it is asked for."""

from __future__ import annotations

import numpy as np
import pytest

from netlab.traces.autocorrelation import lag_1


def test_it_is_the_correlation_of_neighbours():
    rng = np.random.default_rng(1)
    delay_s = 0.02 + np.convolve(rng.exponential(0.005, 10_000), np.ones(4) / 4.0)
    assert lag_1(delay_s) == pytest.approx(np.corrcoef(delay_s[:-1], delay_s[1:])[0, 1], abs=1e-12)
    # A mean of 4: neighbours share 3 of them. n = 10,000: standard error below 1 / sqrt n = 0.01, bounded at 3.
    assert lag_1(delay_s) == pytest.approx(0.75, abs=0.03)
    assert abs(lag_1(rng.permutation(delay_s))) < 0.04  # 4 standard errors


def test_a_packet_that_is_missing_parts_its_neighbours():
    # Two levels, and every change of level falls on a lost packet: of neighbours that are both known none differs.
    delay_s = np.array([0.02] * 5 + [np.nan] + [0.05] * 5 + [np.nan] + [0.02] * 5)
    assert lag_1(delay_s) == pytest.approx(1.0)
    # With the lost ones left out two of the pairs would.
    assert lag_1(delay_s[~np.isnan(delay_s)]) < 0.8


@pytest.mark.parametrize(
    "delay_s",
    [[], [0.1], [0.1, 0.2], [0.1, 0.2, 0.1], [0.1] * 50, [0.1, np.nan] * 50, [np.nan] * 50],
)
def test_what_says_nothing_has_no_figure(delay_s):
    assert lag_1(np.array(delay_s)) is None


def test_how_many_pairs_it_takes_is_the_callers_choice():
    delay_s = np.array([0.1, 0.2, 0.1, 0.2, 0.1])
    assert lag_1(delay_s) == pytest.approx(-1.0)
    assert lag_1(delay_s, least_pairs=10) is None
