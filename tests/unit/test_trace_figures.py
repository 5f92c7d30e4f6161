"""Figures of a trace: counted by hand, and against what a known process gives."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from netlab.traces.trace import UNKNOWN, ClockVerdict, LossTimes, Trace, TracedPath
from netlab.traces.trace_figures import trace_figures

NAN = math.nan


def figures(n: int, **columns):
    t_s = np.array(columns.pop("t_s", range(n)), dtype=np.float64)
    columns = {name: np.array(values) if isinstance(values, list) else values for name, values in columns.items()}
    return trace_figures(Trace.of(t_s, path=TracedPath.BACK, clocks=ClockVerdict.UNKNOWN, **columns))


def test_what_is_unknown_has_no_figures():
    nothing = figures(3)
    assert (nothing.n, nothing.delay, nothing.loss, nothing.rate) == (3, None, None, None)
    assert figures(0).duration_s == 0.0


def test_delays():
    delay = figures(4, delay_s=[0.1, NAN, 0.3, 0.2]).delay
    assert (delay.n, delay.min_s, delay.max_s, delay.median_s) == (3, 0.1, 0.3, 0.2)
    assert delay.mean_s == pytest.approx(0.2) and delay.sd_s == pytest.approx(math.sqrt(0.02 / 3))
    assert delay.lag1 is None  # one pair of neighbours


def test_lag_1_of_an_autoregression_is_its_coefficient():
    generator = np.random.default_rng(5)
    n, coefficient = 50_000, 0.6
    values = np.zeros(n)
    for row in range(1, n):
        values[row] = coefficient * values[row - 1] + generator.normal()
    # Standard error sqrt((1 - 0.36) / n) = 0.0036; five of them.
    assert figures(n, delay_s=values - values.min()).delay.lag1 == pytest.approx(coefficient, abs=0.018)
    # Rows without a delay part their neighbours, and change nothing else.
    values[generator.random(n) < 0.3] = NAN
    assert figures(n, delay_s=values - np.nanmin(values)).delay.lag1 == pytest.approx(coefficient, abs=0.03)


def test_delays_that_never_vary_have_no_lag_1():
    assert figures(5, delay_s=[0.1] * 5).delay.lag1 is None


def test_losses_and_their_runs():
    loss = figures(9, lost=[1, 0, 1, 1, 0, UNKNOWN, 1, 1, 1], copies=[0, 2, 0, 0, 1, UNKNOWN, 0, 0, 0]).loss
    assert (loss.n, loss.lost, loss.duplicated) == (8, 6, 1)
    assert loss.runs == {1: 1, 2: 1, 3: 1} and loss.mean_run == 2.0
    assert figures(2, lost=[0, 0]).loss.mean_run == 0.0


def test_a_packet_of_which_nobody_knows_ends_a_run():
    loss = figures(5, lost=[1, UNKNOWN, 1, 1, 0]).loss
    assert (loss.n, loss.lost, loss.runs) == (4, 3, {1: 1, 2: 1})


def test_losses_that_are_spread_have_no_runs():
    loss = figures(4, lost=[0, 1, 0, 1], losses=LossTimes.SPREAD).loss
    assert (loss.n, loss.lost, loss.ratio, loss.runs, loss.mean_run) == (4, 2, 0.5, None, None)


@given(st.lists(st.sampled_from([0, 1]), min_size=1, max_size=60))
def test_runs_are_those_of_a_plain_loop(lost):
    runs: dict[int, int] = {}
    for text in "".join(map(str, lost)).split("0"):
        if text:
            runs[len(text)] = runs.get(len(text), 0) + 1
    assert figures(len(lost), lost=lost).loss.runs == runs


def test_rates_are_weighed_by_how_long_they_hold():
    rate = figures(3, t_s=[0, 1, 4], rate_bps=[1e6, 4e6, 2e6]).rate
    assert (rate.n, rate.min_bps, rate.max_bps) == (3, 1e6, 4e6)
    assert rate.mean_bps == pytest.approx((1e6 + 3 * 4e6 + 2 * 2e6) / 6)
    assert figures(3, t_s=[0, 1, 4], rate_bps=[1e6, 4e6, NAN], bin_s=0.5).rate.mean_bps == pytest.approx(2.5e6)
    assert figures(1, rate_bps=[1e6]).rate.mean_bps == 1e6
