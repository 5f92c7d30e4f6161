"""Trace: its rules, and what it says of itself."""

from __future__ import annotations

import math

import numpy as np
import pytest

from netlab.errors import TraceError
from netlab.traces.trace import UNKNOWN, ClockVerdict, RowError, Trace, TracedPath

NAN = math.nan


def made(n: int = 3, **columns) -> Trace:
    columns = {name: np.array(values) if isinstance(values, list) else values for name, values in columns.items()}
    columns.setdefault("t_s", np.arange(n, dtype=np.float64))
    t_s = columns.pop("t_s")
    return Trace.of(t_s, path=TracedPath.ROUND_TRIP, clocks=ClockVerdict.ONE_CLOCK, **columns)


def test_columns_that_are_not_given_are_unknown_throughout():
    trace = made()
    assert not (trace.has_delays or trace.has_losses or trace.has_rates)
    assert (trace.lost == UNKNOWN).all() and (trace.copies == UNKNOWN).all()
    assert trace.loss_ratio is None and trace.delays_s.size == 0


def test_it_says_how_long_it_lasts():
    assert made(0).duration_s == 0.0
    assert made(1).duration_s == 0.0
    assert made(3).duration_s == 3.0  # the last row holds as long as the usual one
    assert made(3, bin_s=0.5).duration_s == 2.5


def test_loss_ratio_is_of_those_that_are_known():
    assert made(4, lost=[1, 0, UNKNOWN, 0]).loss_ratio == pytest.approx(1 / 3)


def test_delays_are_those_that_are_known():
    assert made(3, delay_s=[0.1, NAN, 0.2]).delays_s.tolist() == [0.1, 0.2]


def test_its_columns_cannot_be_written_to():
    with pytest.raises(ValueError, match="read-only"):
        made().t_s[0] = 1.0


@pytest.mark.parametrize(
    ("columns", "row", "rule"),
    [
        ({"t_s": [0.0, 2.0, 1.0]}, 2, "must not be before the row above"),
        ({"t_s": [-1.0, 0.0, 1.0]}, 0, "must be 0 or later"),
        ({"t_s": [0.0, NAN, 1.0]}, 1, "must be 0 or later"),
        ({"t_s": [0.0, 1.0, math.inf]}, 2, r"must be at most 1e\+10 s"),
        ({"t_s": [0.0, 1.0, 1e11]}, 2, r"must be at most 1e\+10 s"),
        ({"delay_s": [0.1, -0.1, 0.1]}, 1, "must not be negative"),
        ({"delay_s": [0.1, 0.1, math.inf]}, 2, r"must be at most 1e\+10 s"),
        ({"rate_bps": [1.0, -1.0, 1.0]}, 1, "must not be negative"),
        ({"rate_bps": [1.0, 1.0, math.inf]}, 2, "must be finite"),
        ({"lost": [0, 2, 0]}, 1, "must be 0 or 1"),
        ({"lost": [0, -2, 0]}, 1, "must be 0 or 1"),
        ({"copies": [1, 1, -2]}, 2, "must not be negative"),
        ({"lost": [0, 1, 0], "copies": [1, 1, 1]}, 1, "must not be 1 for a packet that arrived"),
        ({"lost": [1, 0, 0], "delay_s": [0.1, 0.1, 0.1]}, 0, "must not be 1 for a packet that arrived"),
        ({"lost": [0, 0, 0], "copies": [1, 0, 1]}, 1, "must not be 0 for a packet that arrived"),
    ],
)
def test_a_row_that_breaks_a_rule_is_named(columns, row, rule):
    with pytest.raises(RowError, match=rule) as caught:
        made(3, source="wifi.txt", **columns)
    assert caught.value.row == row
    assert str(caught.value).startswith(f"wifi.txt: row {row + 1}: ")
    assert isinstance(caught.value, TraceError)


def test_columns_of_unequal_lengths_are_refused():
    with pytest.raises(TraceError, match="delay_s has the shape"):
        made(3, delay_s=[0.1])


@pytest.mark.parametrize("bin_s", [0.0, -1.0, NAN, math.inf])
def test_a_bin_that_lasts_no_time_is_refused(bin_s):
    with pytest.raises(TraceError, match="bin_s"):
        made(3, bin_s=bin_s)
