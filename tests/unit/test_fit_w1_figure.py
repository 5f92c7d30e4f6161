"""The figure fit-w1: its data are what the text says, its reference is iproute2's, and it holds."""

from __future__ import annotations

import numpy as np
import pytest

from netlab.bench.fit_w1 import data_sets, fit_w1, measure
from netlab.bench.maketable import maketable_delay
from netlab.traces.distribution import kernel_delays_ns, standard_quantiles


def test_the_data_are_what_is_said_of_them():
    assert [data.times for data in data_sets()] == [5.0, 3.0, 3.0, 3.0]
    pings, column, held, satellite = (data.delay_s for data in data_sets())
    assert pings.size == 13_448
    assert (pings.mean(), pings.std(), pings.max()) == (
        pytest.approx(0.1896, abs=5e-5),
        pytest.approx(0.0130, abs=5e-5),
        0.4994,
    )
    assert column.size == 1000 and column.max() <= 0.5
    # n = 1,000: the median of a lognormal of sigma 0.6 has a standard error of 1.25 * 0.6 / sqrt n = 2.4 %.
    assert np.median(column) == pytest.approx(0.045, rel=0.08)
    assert np.log(column).std() == pytest.approx(0.6, rel=0.08)
    assert satellite.size == 29_700  # 1 % of 30,000 are lost
    # 10 outages of 30 packets, which wait for 0.16 s of it on average, up to 0.3 s.
    assert held.size == 30_000 and held.max() > 0.4 and (held > 0.22).sum() > 150
    near = np.abs(satellite[:, None] - np.array([0.140, 0.165, 0.190])).min(axis=1)
    assert near.max() < 0.03
    assert [data.delay_s.tolist() for data in data_sets()] == [data.delay_s.tolist() for data in data_sets()]


def test_the_reference_makes_a_normal_table_of_normal_samples_and_cuts_at_four_deviations():
    quantiles = standard_quantiles("normal", 16384)
    kernel = maketable_delay(0.1 + 0.01 * quantiles)
    assert (kernel.latency_ns, kernel.jitter_ns) == (100_000_000, pytest.approx(10_000_000, rel=1e-3))
    table = np.array(kernel.table) / 8192
    assert table.size == 4096 and (np.diff(table) >= 0).all()
    assert np.abs(table - standard_quantiles("normal", 4096))[20:-20].max() < 0.01
    far = maketable_delay(np.append(np.full(9999, 0.1), 1.0))
    assert kernel_delays_ns(*far).max() < 0.2e9  # 1 s lies 100 deviations out


@pytest.mark.parametrize("seed", range(3))
def test_the_references_last_entry_is_four_deviations_whatever_was_measured(seed):
    delay_s = 0.1 + 0.001 * np.random.default_rng(seed).uniform(-1.0, 1.0, 1000)  # 1.73 deviations at most
    assert maketable_delay(delay_s).table[-1] == 32767


def test_the_reference_fills_what_was_never_measured_up_to_the_next_value():
    """Half of the delays one deviation below, half above: of a plateau's bins the last one counts."""
    table = maketable_delay(np.repeat([0.09, 0.11], 5000)).table
    assert table[0] == pytest.approx(-8192, abs=2)
    assert table[2048] == pytest.approx(8192, abs=2)  # the last bin before the upper value, not the lower value
    assert table[1024] == pytest.approx(0, abs=2)  # the mean, where there was no delay at all


def test_data_held_out_are_further_than_those_a_table_was_made_of():
    for data in data_sets():
        distances = measure(data)
        assert distances.held_out_s > distances.ours_s
        # Two halves of one sample: two tables of the same law are about as far from the other half.
        assert 0.3 < distances.held_out_s / distances.reference_held_out_s < 1.5


def test_the_figure_holds_and_names_what_it_rests_on():
    said: list[str] = []
    figure = fit_w1(said.append)
    assert figure.holds and figure.name == "fit-w1" and len(said) == 4
    assert figure.n == 13_448 + 1000 + 30_000 + 29_700
    for data in data_sets():
        distances = measure(data)
        assert distances.times >= data.times
        assert distances.reference_s > 10e-6  # the reference is no straw man of zero
        assert f"{data.name} {1e3 * distances.ours_s:.3g} ms" in figure.spread
        assert f"{data.name} {1e3 * distances.held_out_s:.3g} against" in figure.note
    assert "4,096 entries" in figure.note


def test_a_table_no_better_than_the_reference_fails_the_figure(monkeypatch):
    monkeypatch.setattr("netlab.bench.fit_w1.delay_fields", lambda delay_s: {"delay_s": float(delay_s.mean())})
    figure = fit_w1(lambda _: None)
    assert not figure.holds and figure.value < 1.0
