"""Distribution tables: what the kernel's integer arithmetic makes of them is what was asked."""

from __future__ import annotations

import gzip
import json
import math
from pathlib import Path
from statistics import NormalDist

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from link_strategies import refused

from netlab.traces.delay_law import DelayLaw
from netlab.traces.distribution import (
    MAX_REACH_S,
    SHORT_TABLE_ENTRIES,
    TABLE_ENTRIES,
    kernel_delay_ns,
    kernel_delays_ns,
    scale_table,
    shared_table,
    standard_quantiles,
)

GOLDEN = Path(__file__).parents[1] / "golden" / "profiles"
SPREAD_LAWS = ["uniform", "normal", "pareto", "paretonormal"]


def c_tabledist(latency: int, jitter: int, entry: int) -> int:
    """Return one delay by the formula of docs/netem.md, in plain Python with C's division."""
    product = (jitter % 8192) * entry
    product += 4096 if product >= 0 else -4096
    return int(math.copysign(abs(product) // 8192, product)) + (jitter // 8192) * entry + latency


def grid_ns(law: DelayLaw) -> float:
    """Return the distance of neighbouring delays that 16-bit entries allow."""
    return law.to_kernel(as_table=True).jitter_ns / 8192


@settings(deadline=None)
@given(st.integers(-(2**40), 2**40), st.integers(0, 2**31 - 1), st.lists(st.integers(-32768, 32767), min_size=1))
def test_vectorised_formula_is_the_kernels(latency, jitter, entries):
    got = kernel_delays_ns(latency, jitter, tuple(entries))
    assert got.tolist() == [c_tabledist(latency, jitter, entry) for entry in entries]
    assert got.tolist() == [kernel_delay_ns(latency, jitter, entry) for entry in entries]


def test_formula_against_delays_recorded_in_the_kernel():
    # 2000 packets recorded on Linux 6.12 through 20 +- 10 ms with a table of 4096: every delay is an entry's.
    recorded = json.loads(gzip.decompress((GOLDEN / "recorded_delay20_10_normal.json.gz").read_bytes()))
    options = recorded["options"]
    possible = set(
        kernel_delays_ns(options["latency"], options["jitter"], tuple(recorded["delay_table"])).tolist()
    )
    delays = [entry[1] for entry in recorded["enqueue_now_delay_tts_ns"]]
    assert len(delays) == 2000
    assert set(delays) <= possible


@pytest.mark.parametrize("law", SPREAD_LAWS)
@pytest.mark.parametrize("entries", [SHORT_TABLE_ENTRIES, TABLE_ENTRIES, 7])
def test_standard_quantiles_ascend_with_mean_0_and_spread_1(law, entries):
    quantiles = standard_quantiles(law, entries)
    assert quantiles.shape == (entries,)
    assert (np.diff(quantiles) > 0).all()
    assert abs(quantiles.mean()) < 1e-9
    if law == "uniform":
        assert quantiles[-1] == pytest.approx(1.0 - 1.0 / entries)
    else:
        assert quantiles.std() == pytest.approx(1.0, abs=1e-12)


def test_normal_quantiles_are_the_gaussians():
    quantiles = standard_quantiles("normal", TABLE_ENTRIES)
    for probability in (0.001, 0.1, 0.5, 0.9, 0.999):
        index = int(probability * TABLE_ENTRIES)
        exact = NormalDist().inv_cdf((index + 0.5) / TABLE_ENTRIES)
        assert quantiles[index] == pytest.approx(exact, abs=1e-3)
    # Not cut at 4 deviations: the outermost of 16384 equally likely values lies at 4.0.
    assert quantiles[-1] > 4.0


def test_pareto_is_paretos():
    # Standardising is a straight line, so the quantiles lie on a line over (1 - p)^(-1/3).
    quantiles = standard_quantiles("pareto", TABLE_ENTRIES)
    pareto = (1.0 - (np.arange(TABLE_ENTRIES) + 0.5) / TABLE_ENTRIES) ** (-1.0 / 3.0)
    slope = (quantiles[-1] - quantiles[0]) / (pareto[-1] - pareto[0])
    assert np.allclose(quantiles, quantiles[0] + slope * (pareto - pareto[0]))
    assert quantiles[-1] > 30.0


def test_tables_are_scaled_to_their_maximum():
    for law in SPREAD_LAWS:
        table, reach = shared_table(law, TABLE_ENTRIES)
        top = max(abs(entry) for entry in table)
        assert top == (32766 if law == "uniform" else 32767)
        assert reach * top / 32767 == pytest.approx(np.abs(standard_quantiles(law, TABLE_ENTRIES)).max())


@pytest.mark.parametrize("entries", [SHORT_TABLE_ENTRIES, TABLE_ENTRIES])
def test_the_linear_table_has_equal_steps(entries):
    table, _ = shared_table("uniform", entries)
    assert set(np.diff(table)) == {65536 // entries}


@pytest.mark.parametrize("law", SPREAD_LAWS)
@pytest.mark.parametrize(("delay_s", "jitter_s"), [(0.2, 0.03), (0.05, 0.001), (1.0, 0.1)])
def test_unclipped_law_has_the_asked_moments(law, delay_s, jitter_s):
    delay = DelayLaw(delay_s=delay_s, jitter_s=jitter_s, law=law)
    assert delay.clipped_ratio == 0.0
    assert delay.mean_s == pytest.approx(delay_s, abs=2e-9 + grid_ns(delay) * 1e-9 / 50)
    sd_s = jitter_s / math.sqrt(3.0) if law == "uniform" else jitter_s
    assert delay.sd_s == pytest.approx(sd_s, rel=1e-4)


@pytest.mark.parametrize("law", SPREAD_LAWS)
@pytest.mark.parametrize("jitter_s", [0.03, 0.001, 1e-6])
def test_every_quantile_is_within_half_a_grid_step(law, jitter_s):
    delay = DelayLaw(delay_s=0.15, jitter_s=jitter_s, law=law)
    wanted_ns = (0.15 + jitter_s * standard_quantiles(law, TABLE_ENTRIES)) * 1e9
    # 2 ns beside the grid: the jitter itself is a whole number of ns, and an entry is up to 4 of it.
    assert np.abs(delay.delays_ns() - wanted_ns).max() <= grid_ns(delay) / 2 + 2.5


def test_clipped_normal_is_the_normal_above_zero():
    mean_s, sd_s = 0.040, 0.040 / math.sqrt(2.0)
    delay = DelayLaw(delay_s=mean_s, jitter_s=sd_s)
    below = NormalDist(mean_s, sd_s).cdf(0.0)
    assert delay.clipped_ratio == pytest.approx(below, abs=1e-4)
    # Mean of max(0, X) for a normal X.
    exact_mean_s = mean_s * (1.0 - below) + sd_s**2 * NormalDist(mean_s, sd_s).pdf(0.0)
    assert delay.mean_s == pytest.approx(exact_mean_s, abs=1e-6)
    assert 0 <= delay.delays_ns().min() <= 4


def test_clipping_at_zero_is_common_to_all_clipped_packets():
    # 16 % of the packets are clipped: were zero half a grid step off, the mean would be too.
    delay = DelayLaw(delay_s=0.010, jitter_s=0.010)
    wanted_ns = np.maximum(0.0, (0.010 + 0.010 * standard_quantiles("normal", TABLE_ENTRIES)) * 1e9)
    assert delay.mean_s * 1e9 == pytest.approx(wanted_ns.mean(), abs=25.0)
    assert (delay.delays_ns() <= 4).mean() == pytest.approx(delay.clipped_ratio, abs=1e-3)


def test_uniform_is_the_kernels_own_unless_a_table_is_needed():
    law = DelayLaw(delay_s=0.020, jitter_s=0.010, law="uniform")
    assert law.to_kernel() == (20_000_000, 10_000_000, None)
    latency_ns, jitter_ns, table = law.to_kernel(as_table=True)
    delays = kernel_delays_ns(latency_ns, jitter_ns, table)
    assert len(table) == TABLE_ENTRIES
    steps = np.diff(delays)
    assert steps.min() >= 1220 and steps.max() <= 1222  # 20 ms in 16384 equal steps
    assert delays.min() == pytest.approx(10_000_000, abs=1000)
    assert delays.max() == pytest.approx(30_000_000, abs=1000)


def test_clipped_uniform_becomes_a_table():
    law = DelayLaw(delay_s=0.010, jitter_s=0.020, law="uniform")
    assert law.to_kernel().table is not None
    assert law.clipped_ratio == pytest.approx(0.25, abs=1e-4)
    assert law.mean_s == pytest.approx(0.01125, abs=1e-6)  # 1/4 at zero, 3/4 uniform up to 30 ms


def test_uniform_wider_than_the_kernels_jitter_becomes_a_table():
    law = DelayLaw(delay_s=10.0, jitter_s=3.0, law="uniform")
    assert law.to_kernel().table is not None
    assert law.sd_s == pytest.approx(3.0 / math.sqrt(3.0), rel=1e-4)


def test_table_law_delivers_its_entries():
    wanted_s = (0.0, 0.010, 0.0105, 0.0300001, 0.5)
    law = DelayLaw(law="table", table_s=wanted_s)
    law.check()
    delays = law.delays_ns()
    assert np.abs(delays - np.array(wanted_s) * 1e9).max() <= grid_ns(law) / 2 + 2.5
    assert delays.min() >= 0
    assert law.mean_s == pytest.approx(sum(wanted_s) / 5, abs=grid_ns(law) * 1e-9)


def test_constant_law_sends_neither_jitter_nor_table():
    assert DelayLaw(delay_s=0.03).to_kernel(as_table=True) == (30_000_000, 0, None)
    assert DelayLaw(law="table", table_s=(0.01, 0.01)).to_kernel() == (10_000_000, 0, None)


def test_laws_of_one_kind_share_one_table():
    # A schedule of a thousand normal steps holds one table, not a thousand.
    first = DelayLaw(delay_s=0.2, jitter_s=0.02).to_kernel().table
    second = DelayLaw(delay_s=0.3, jitter_s=0.07).to_kernel().table
    assert first is second


@settings(deadline=None, max_examples=60)
@given(st.floats(1e-6, 2.0), st.floats(1e-9, 0.24), st.sampled_from(SPREAD_LAWS))
def test_no_delay_is_ever_negative_and_order_is_kept(delay_s, jitter_s, law):
    delay = DelayLaw(delay_s=delay_s, jitter_s=jitter_s, law=law, entries=SHORT_TABLE_ENTRIES)
    delay.check()
    latency_ns, jitter_ns, table = delay.to_kernel(as_table=True)
    assert 0 <= jitter_ns <= 2**31 - 1
    if table is None:
        return
    assert all(-32768 <= entry <= 32767 for entry in table)
    delays = kernel_delays_ns(latency_ns, jitter_ns, table)
    assert delays.min() >= 0
    assert (np.diff(delays) >= 0).all()
    wanted_ns = np.maximum(0.0, (delay_s + jitter_s * standard_quantiles(law, SHORT_TABLE_ENTRIES)) * 1e9)
    # A law clipped almost whole may need a grid up to twice as coarse, to have a point at zero; and where
    # even that has none, the latency is below one step of it.
    assert np.abs(delays - wanted_ns).max() <= jitter_ns / 8192 + 4.5


@settings(deadline=None)
@given(st.lists(st.floats(0.0, 3e9), min_size=2, max_size=50))
def test_any_delays_are_scaled_without_overflow(delays):
    delays_ns = np.sort(np.array(delays))
    latency_ns = round(float(delays_ns.mean()))
    jitter_ns, table = scale_table(delays_ns, latency_ns)
    got = kernel_delays_ns(latency_ns, jitter_ns, table)
    assert got.min() >= 0
    if jitter_ns:
        assert np.abs(got - delays_ns).max() <= jitter_ns / 8192 + 4.5


@pytest.mark.parametrize(("law", "jitter_s"), [("pareto", 0.3), ("normal", 3.0), ("uniform", 9.0)])
def test_deviation_beyond_a_tables_reach_is_refused(law, jitter_s):
    error = refused(DelayLaw(delay_s=20.0, jitter_s=jitter_s, law=law).check)
    assert f"reaches {MAX_REACH_S:.2f} s" in str(error)
    assert str(jitter_s) in str(error)
    assert error.hint
