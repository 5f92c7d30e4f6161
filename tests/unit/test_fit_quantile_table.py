"""Quantile tables: no longer than they need to be, made of the data's own values, within netem's reach."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from netlab.traces.distance import wasserstein_1
from netlab.traces.distribution import MAX_REACH_S
from netlab.traces.fit.quantile_table import SIZES, WORTH_ENTRIES, delay_fields, quantile_table, within_reach
from netlab.traces.profile import LinkProfile


@given(st.lists(st.floats(1e-6, 5.0), min_size=1, max_size=300))
def test_few_delays_are_all_kept(delays):
    table = quantile_table(np.array(delays))
    if len(delays) <= SIZES[0]:
        assert table.tolist() == sorted(delays)
    assert set(table.tolist()) <= set(delays) and (np.diff(table) >= 0).all()


@pytest.mark.parametrize("samples", [1000, 20_000, 100_000])
@pytest.mark.parametrize("sigma", [0.1, 0.6])
def test_a_table_is_as_near_as_is_said_or_the_longest(samples, sigma):
    data = np.random.default_rng(samples).lognormal(-3.0, sigma, samples)
    table = quantile_table(data)
    far = wasserstein_1(table, data)
    assert table.size in (*SIZES, samples)
    assert far <= WORTH_ENTRIES * data.std() or table.size == SIZES[-1]
    shorter = [entries for entries in SIZES if entries < table.size]
    for entries in shorter:
        quantiles = np.quantile(data, (np.arange(entries) + 0.5) / entries, method="inverted_cdf")
        assert wasserstein_1(quantiles, data) > WORTH_ENTRIES * data.std()


def test_of_equal_parts_the_medians_are_nearest():
    data = np.random.default_rng(1).lognormal(-3.0, 0.6, 4096)
    parts = np.sort(data).reshape(256, 16)
    medians = parts[:, 8]
    assert wasserstein_1(medians, data) < wasserstein_1(parts.mean(axis=1), data)
    assert wasserstein_1(medians, data) < wasserstein_1(parts[:, -1], data)


def test_a_link_draws_the_table_to_its_grid():
    data = np.round(np.random.default_rng(2).lognormal(-3.0, 0.6, 5000), 4)
    law = LinkProfile(**delay_fields(data)).delay_law
    reach_s = max(data.max() - data.mean(), data.mean() - data.min())
    # 16 bits: delays lie on a grid of 1/32767 of the furthest deviation.
    assert wasserstein_1(law.delays_ns() / 1e9, data) < WORTH_ENTRIES * data.std() + reach_s / 32767


def test_delays_that_are_alike_are_one_delay():
    assert delay_fields(np.full(10, 0.03)) == {"delay_s": 0.03}
    assert delay_fields(np.array([0.03])) == {"delay_s": 0.03}


def test_what_netem_cannot_reach_is_cut_and_counted():
    data = np.append(np.full(999, 0.05), 60.0)
    cut, count = within_reach(data)
    assert count == 1 and cut.max() - cut.mean() < MAX_REACH_S and cut.max() > 8.0
    LinkProfile(**delay_fields(cut))  # is not refused
    assert within_reach(data[:-1])[1] == 0


def test_a_wide_law_is_cut_until_all_is_within_reach():
    data = np.linspace(0.0, 100.0, 1001)
    cut, count = within_reach(data)
    assert cut.max() - cut.mean() <= MAX_REACH_S and 0 < count < 1001
    LinkProfile(**delay_fields(cut))
