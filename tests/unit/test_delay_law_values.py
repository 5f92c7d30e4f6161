"""Laws of very many steps: their figures without their tables are the figures of their tables."""

from __future__ import annotations

import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from netlab.traces.delay_law import DelayLaw, kernel_values
from netlab.traces.pair import ProfilePair
from netlab.traces.profile import LinkProfile
from netlab.traces.schedule import Schedule, Step

laws = st.builds(
    DelayLaw,
    delay_s=st.floats(1e-3, 2.0),
    jitter_s=st.one_of(st.just(0.0), st.floats(1e-9, 0.2)),
    law=st.sampled_from(["normal", "uniform", "pareto", "paretonormal"]),
    entries=st.sampled_from([4096, 16384]),
)
tables = st.lists(st.floats(1e-6, 4.0), min_size=2, max_size=30).map(
    lambda values: DelayLaw(law="table", table_s=tuple(sorted(values)))
)


@given(st.one_of(laws, tables))
def test_mean_and_deviation_are_those_of_the_values(law):
    values_ns = kernel_values(law).astype(float)
    assert law.mean_s == pytest.approx(values_ns.mean() / 1e9, rel=1e-15)
    if law.law != "uniform":  # whose own law in the kernel has no steps
        assert law.sd_s == pytest.approx(values_ns.std() / 1e9, rel=1e-9, abs=1e-15)


@given(st.one_of(laws, tables), st.integers(1, 2000))
def test_a_grid_of_few_points_is_read_off_all_values(law, points):
    values_ns = kernel_values(law).astype(float)
    if values_ns.size <= points:
        assert law.grid_ns(points).tolist() == values_ns.tolist()
        return
    places = (np.arange(points) + 0.5) / points * (values_ns.size - 1)
    expected = np.interp(places, np.arange(values_ns.size), values_ns)
    assert law.grid_ns(points) == pytest.approx(expected, rel=1e-12, abs=1e-3)


@given(st.one_of(laws, tables), st.integers(0, 2**32))
def test_delays_drawn_are_values_drawn(law, seed):
    values_ns = kernel_values(law)
    rng = np.random.default_rng(seed)
    assert np.array_equal(
        law.drawn_ns(np.random.default_rng(seed), 50), values_ns[rng.integers(values_ns.size, size=50)]
    )


def test_what_a_long_schedule_asks_for_takes_seconds():
    rng = np.random.default_rng(1)
    steps = tuple(
        Step(index / 10, LinkProfile(delay_s=delay_s, jitter_s=jitter_s))
        for index, (delay_s, jitter_s) in enumerate(
            zip(rng.uniform(0.05, 0.09, 5000).round(6), rng.uniform(0.001, 0.009, 5000).round(5), strict=True)
        )
    )
    schedule = Schedule(tuple(steps), 500.0)
    pair = ProfilePair("long", schedule, schedule)
    began = time.process_time()
    asked, delivered = pair.asked_round_trip, pair.delivered_round_trip(50.0)
    assert pair.round_trip_quantile_s(0.99) > asked.mean_s
    assert delivered.mean_s == pytest.approx(asked.mean_s, rel=0.02)
    assert time.process_time() - began < 30.0  # about 5 s on an idle machine; with a table a step, minutes
