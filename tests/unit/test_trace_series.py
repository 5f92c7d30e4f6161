"""What a picture shows, as numbers: thinning keeps what can be seen, counts are counts."""

from __future__ import annotations

import time
from itertools import groupby, pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from netlab.traces.axis_unit import AxisUnit
from netlab.traces.loss_run import loss_runs
from netlab.traces.trace import UNKNOWN, ClockVerdict, Trace, TracedPath
from netlab.traces.trace_series import (
    POINTS_A_COLUMN,
    delay_distribution,
    delay_series,
    loss_marks,
    outages,
    rate_series,
    run_bins,
    runs_by_length,
)


def trace_of(delays_s: list[float | None], interval_s: float = 1.0, **columns: object) -> Trace:
    """Return a trace, a packet an interval; None is lost."""
    delay_s = np.array([np.nan if delay is None else delay for delay in delays_s])
    return Trace.of(
        np.arange(delay_s.size) * interval_s,
        path=TracedPath.FORWARD,
        clocks=ClockVerdict.ONE_CLOCK,
        delay_s=delay_s,
        lost=np.isnan(delay_s).astype(np.int8),
        **columns,
    )


delays = st.lists(st.one_of(st.none(), st.floats(0.0, 10.0)), min_size=1, max_size=200)


@given(delays_s=delays)
def test_few_points_are_all_shown(delays_s: list[float | None]) -> None:
    series = delay_series(trace_of(delays_s), 100)
    assert not series.is_band
    assert series.middle.tolist() == [delay for delay in delays_s if delay is not None]
    assert series.t_s.tolist() == [float(at) for at, delay in enumerate(delays_s) if delay is not None]


@given(
    delays_s=st.lists(st.one_of(st.none(), st.floats(0.0, 10.0)), min_size=50, max_size=300),
    columns=st.integers(1, 9),
)
def test_a_band_is_least_median_and_greatest_of_each_column(delays_s: list[float | None], columns: int) -> None:
    trace = trace_of(delays_s)
    series = delay_series(trace, columns)
    if not series.is_band:
        assert trace.delays_s.size <= POINTS_A_COLUMN * columns
        return
    by_column: dict[int, list[float]] = {}
    for at, delay in enumerate(delays_s):
        if delay is not None:
            by_column.setdefault(min(int(at * columns / len(delays_s)), columns - 1), []).append(delay)
    # Where a time lies on the edge of two columns, rounding may put it into either.
    edges = {at for at in range(len(delays_s)) if (at * columns) % len(delays_s) == 0}
    if edges - {0} and len(by_column) > 1:
        assert (series.low.min(), series.high.max()) == (trace.delays_s.min(), trace.delays_s.max())
        return
    assert series.low.tolist() == [min(values) for values in by_column.values()]
    assert series.high.tolist() == [max(values) for values in by_column.values()]
    assert series.middle.tolist() == [sorted(values)[len(values) // 2] for values in by_column.values()]


def test_one_late_packet_in_a_million_is_seen_and_it_takes_no_time() -> None:
    n = 1_000_000
    delay_s = np.full(n, 0.02)
    delay_s[654_321] = 3.0
    trace = Trace.of(
        np.arange(n) / 1000.0, path=TracedPath.FORWARD, clocks=ClockVerdict.ONE_CLOCK, delay_s=delay_s,
        lost=np.zeros(n, dtype=np.int8), rate_bps=np.linspace(1e6, 2e6, n),
    )  # fmt: skip
    begin = time.process_time()
    series = delay_series(trace, 1000)
    rates = rate_series(trace, 1000)
    delay_distribution(trace, 2000)
    loss_marks(trace, 1000)
    outages(trace, 0.0)
    runs_by_length(trace, run_bins(10))
    assert time.process_time() - begin < 3.0
    assert series.t_s.size == 1000
    (column,) = np.flatnonzero(series.high > 1.0)
    assert abs(series.t_s[column] - 654.321) < 1.0
    assert series.middle[column] == 0.02
    assert np.all(np.diff(rates.middle) > 0)


@given(delays_s=delays, points=st.integers(2, 50))
def test_the_distribution_is_true_at_each_of_its_steps(delays_s: list[float | None], points: int) -> None:
    known = sorted(delay for delay in delays_s if delay is not None)
    if not known:
        return
    at_s, shares = delay_distribution(trace_of(delays_s), points)
    assert at_s.size <= points
    assert (at_s[0] == known[0] or at_s.size == points) and at_s[-1] == known[-1]
    assert np.all(np.diff(at_s) > 0) or at_s.size == 1
    for value, share in zip(at_s, shares, strict=True):
        assert share == sum(one <= value for one in known) / len(known)


@given(delays_s=delays)
def test_losses_in_a_row_are_counted_as_by_hand(delays_s: list[float | None]) -> None:
    by_hand = [len(list(run)) for lost, run in groupby(delays_s, lambda delay: delay is None) if lost]
    trace = trace_of(delays_s)
    assert loss_runs(trace).tolist() == by_hand
    bins = run_bins(max(by_hand, default=1))
    expected = [sum(one.shortest <= run <= one.longest for run in by_hand) * 1e4 / len(delays_s) for one in bins]
    assert runs_by_length(trace, bins) == pytest.approx(expected)


def test_what_is_unknown_is_not_lost_and_ends_a_run() -> None:
    trace = Trace.of(
        np.arange(6.0), path=TracedPath.FORWARD, clocks=ClockVerdict.ONE_CLOCK,
        lost=np.array([0, 1, UNKNOWN, 1, 0, UNKNOWN], dtype=np.int8),
    )  # fmt: skip
    assert loss_runs(trace).tolist() == [1, 1]
    assert runs_by_length(trace, run_bins(1)).tolist() == [5000.0, 0.0, 0.0, 0.0]
    assert loss_marks(trace, 100).tolist() == [1.0, 3.0]


@pytest.mark.parametrize("longest", [1, 4, 5, 8, 9, 1000])
def test_every_run_length_has_one_bin(longest: int) -> None:
    bins = run_bins(longest)
    assert bins[0].shortest == 1
    assert bins[-1].longest >= longest
    assert all(after.shortest == before.longest + 1 for before, after in pairwise(bins))


def test_an_outage_lasts_to_the_next_packet_that_arrives() -> None:
    trace = trace_of([0.1, None, None, 0.1, None, None, None, 0.1, None, None, None], 0.5)
    assert outages(trace, 0.0) == [(2.0, 3.5), (4.0, 5.5)]
    assert outages(trace, 1.6) == []


def test_an_outage_is_known_to_last_as_far_as_it_is_known_of_each_packet() -> None:
    lost = np.array([1, 1, 1, UNKNOWN, 1, 1, UNKNOWN, 1, 0], dtype=np.int8)
    trace = Trace.of(np.arange(9.0), path=TracedPath.FORWARD, clocks=ClockVerdict.ONE_CLOCK, lost=lost)
    assert outages(trace, 0.0) == [(0.0, 3.0)]


def test_one_mark_a_column_and_each_where_one_was_lost() -> None:
    lost = [None if at % 3 == 0 else 0.1 for at in range(3000)]
    marks = loss_marks(trace_of(lost), 100)
    assert marks.size == 100
    assert set(marks) <= set(np.arange(0.0, 3000.0, 3.0))
    assert loss_marks(trace_of([0.1, 0.1]), 100).size == 0


def test_an_empty_trace_and_one_row_are_no_trouble() -> None:
    for trace in (trace_of([]), trace_of([0.5]), trace_of([None])):
        assert delay_series(trace, 10).t_s.size == trace.delays_s.size
        assert rate_series(trace, 10).t_s.size == 0
        assert outages(trace, 0.0) == []
        assert loss_runs(trace).sum() == (trace.loss_ratio or 0.0)


def test_units_make_short_numbers() -> None:
    assert AxisUnit.for_time(59.0) == (1.0, "s")
    assert AxisUnit.for_time(7200.0) == (60.0, "min")
    assert AxisUnit.for_time(86_400.0).name == "h"
    assert AxisUnit.for_time(1e6).name == "days"
    assert [AxisUnit.for_delay(value).name for value in (0.0, 5e-5, 0.02, 3.0)] == ["µs", "µs", "ms", "s"]
    assert [AxisUnit.for_rate(value).name for value in (0.0, 5e3, 2e6, 1e10)] == [
        "bit/s",
        "kbit/s",
        "Mbit/s",
        "Gbit/s",
    ]
