"""Clocks out of step, simulated: what can be known of them is found, and what cannot is not claimed."""

from __future__ import annotations

import math
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from netlab.traces.clock_sync import ClockSync, synchronise
from netlab.traces.lower_envelope import LowerEnvelope, common_slope
from netlab.traces.trace import ClockVerdict

Floats = NDArray[np.float64]


def measured(
    *,
    offset_s: float = 0.0,
    drift: float = 0.0,
    n: int = 1000,
    span_s: float = 100.0,
    shortest_s: tuple[float, float] = (0.02, 0.02),
    wait_s: float = 0.005,
    seed: int = 0,
) -> tuple[Floats, Floats, Floats, Floats, Floats]:
    """Return times, delays as measured of both directions, and the true delays forward."""
    generator = np.random.default_rng(seed)
    t_s = np.linspace(0.0, span_s, n)
    forward = shortest_s[0] + generator.exponential(wait_s, n)
    back = shortest_s[1] + generator.exponential(wait_s, n)
    ahead = offset_s + drift * t_s
    return t_s, forward + ahead, t_s, back - ahead, forward


def sync(case: tuple[Floats, Floats, Floats, Floats, Floats]) -> ClockSync:
    return synchronise(*case[:4])


@pytest.mark.parametrize("drift", [-50e-6, 0.0, 50e-6])
def test_a_known_offset_and_drift_are_recovered(drift: float) -> None:
    # n = 1000 exponential waits of 5 ms: the shortest waits 5 us on average, the offset is off by about 3.5 us.
    # Bounds at more than ten times that, over 20 seeds.
    for seed in range(20):
        case = measured(offset_s=10.48, drift=drift, seed=seed)
        clocks = sync(case)
        assert clocks.verdict is ClockVerdict.CORRECTED
        assert clocks.drift == pytest.approx(drift, abs=1e-6), seed
        assert clocks.offset_s == pytest.approx(10.48, abs=60e-6), seed
        assert np.abs(clocks.forward_s - case[4]).max() < 100e-6, seed


def drawn(law: str, n: int, generator: np.random.Generator) -> Floats:
    """Return delays of about 20 ms."""
    if law == "exponential":
        return 0.02 + generator.exponential(0.005, n)
    if law == "gamma":
        return 0.02 + generator.gamma(3.0, 0.002, n)
    return 0.02 + 0.003 * generator.standard_normal(n)


@pytest.mark.parametrize("law", ["exponential", "gamma", "normal"])
@pytest.mark.parametrize("n", [20, 100, 1000])
def test_the_stated_error_is_no_smaller_than_the_error_and_a_drift_is_rarely_made_up(law: str, n: int) -> None:
    # 100 seeds. The spread of deviation over stated error is 1 at most; its own error is below 0.15. No drift is
    # seen where there is none but once in a hundred: more than 4 of 100 have a probability of 0.004.
    deviations, seen = [], 0
    t_s = np.linspace(0.0, 100.0, n)
    for seed in range(100):
        generator = np.random.default_rng(seed)
        there, back = drawn(law, n, generator), drawn(law, n, generator)
        clocks = synchronise(t_s, there + 10.48, t_s, back - 10.48)
        seen += clocks.drift != 0.0
        if clocks.drift == 0.0:
            deviations.append((clocks.offset_s - 10.48) / clocks.error_s)
    assert seen <= 4
    assert 0.2 < float(np.std(deviations)) < 1.3


def test_normal_delays_by_one_clock_are_in_step() -> None:
    # Their shortest lie far apart: a line through few of them would show a drift and an offset of 1 ms and more.
    t_s = np.linspace(0.0, 6.0, 500)
    for seed in range(20):
        generator = np.random.default_rng(seed)
        clocks = synchronise(t_s, drawn("normal", 500, generator), t_s, drawn("normal", 500, generator))
        assert clocks.verdict is ClockVerdict.IN_STEP, seed


def test_clocks_in_step_are_left_alone() -> None:
    case = measured(offset_s=0.0)
    clocks = sync(case)
    assert clocks.verdict is ClockVerdict.IN_STEP
    assert np.array_equal(clocks.forward_s, case[1])
    assert np.array_equal(clocks.back_s, case[3])


def test_an_asymmetric_path_within_three_to_two_passes_for_in_step_and_beyond_it_does_not() -> None:
    assert sync(measured(shortest_s=(0.010, 0.0148))).verdict is ClockVerdict.IN_STEP
    beyond = sync(measured(shortest_s=(0.010, 0.0152)))
    assert beyond.verdict is ClockVerdict.CORRECTED
    # Half the asymmetry is taken for an offset: what cannot be seen is where the text says it goes.
    assert beyond.offset_s == pytest.approx(-0.0026, abs=1e-4)


def test_clocks_9_ms_apart_on_a_way_of_20_ms_are_not_in_step() -> None:
    case = measured(offset_s=0.009)
    clocks = sync(case)
    assert clocks.verdict is ClockVerdict.CORRECTED
    assert np.abs(clocks.forward_s - case[4]).max() < 100e-6


def test_in_step_claims_no_more_than_it_knows() -> None:
    clocks = sync(measured(offset_s=0.002))
    assert clocks.verdict is ClockVerdict.IN_STEP
    assert "not shown to be out of step: an offset of 1.99755 ms (+-" in clocks.words
    # The shortest delay is 20 ms: were the whole offset the path's, the clocks could be 22 ms apart and no more.
    assert "at most by 22.0" in clocks.words
    assert clocks.offset_s == pytest.approx(0.002, abs=60e-6)


def test_clocks_known_to_be_apart_are_never_in_step() -> None:
    case = measured(offset_s=0.001)
    clocks = synchronise(*case[:4], apart_s=3000.0)
    assert clocks.verdict is ClockVerdict.CORRECTED
    assert "an offset of 3,000 s and 0.997548 ms" in clocks.words
    assert np.abs(clocks.forward_s - case[4]).max() < 100e-6


@pytest.mark.parametrize(("offset_s", "drift", "n"), [(0.001, 0.0, 500), (7.0, 80e-6, 500), (7.0, 80e-6, 4)])
def test_times_of_the_second_clock_are_told_by_the_first(offset_s: float, drift: float, n: int) -> None:
    case = measured(offset_s=offset_s, drift=drift, n=n)
    clocks = sync(case)
    came_s = case[0] + case[1]  # when each packet forward arrived, by the second clock
    assert clocks.by_first_clock(came_s) == pytest.approx(case[0] + clocks.forward_s, abs=6e-6)  # 80 ppm of 70 ms


def test_a_negative_delay_is_never_in_step() -> None:
    clocks = sync(measured(offset_s=-0.021))
    assert clocks.verdict is ClockVerdict.CORRECTED
    assert clocks.forward_s.min() > 0.0


def test_three_delays_give_variation_alone() -> None:
    case = measured(offset_s=10.48, n=3)
    clocks = sync(case)
    assert clocks.verdict is ClockVerdict.VARIATION_ONLY
    assert "3 delays" in clocks.words
    assert math.isnan(clocks.offset_s)
    # Jitter is right all the same.
    assert clocks.forward_s == pytest.approx(case[4] - case[4].min(), abs=1e-9)


def test_constant_delays_are_corrected_exactly() -> None:
    t_s = np.arange(50.0)
    clocks = synchronise(t_s, np.full(50, 3.02), t_s, np.full(50, -2.98))
    assert clocks.verdict is ClockVerdict.CORRECTED
    assert clocks.offset_s == pytest.approx(3.0, abs=1e-9)
    assert clocks.forward_s == pytest.approx(np.full(50, 0.02), abs=1e-9)
    assert clocks.back_s == pytest.approx(np.full(50, 0.02), abs=1e-9)


def test_one_direction_alone_loses_its_drift_and_keeps_its_variation() -> None:
    t_s, forward, _, _, true = measured(offset_s=10.48, drift=50e-6)
    none = np.zeros(0)
    clocks = synchronise(t_s, forward, none, none)
    assert clocks.verdict is ClockVerdict.VARIATION_ONLY
    assert clocks.drift == pytest.approx(50e-6, abs=2e-6)
    assert np.abs(clocks.forward_s - (true - 0.02)).max() < 200e-6
    mirrored = synchronise(none, none, t_s, forward)
    assert mirrored.drift == pytest.approx(-50e-6, abs=2e-6)
    assert np.abs(mirrored.back_s - (true - 0.02)).max() < 200e-6


def test_a_clock_that_was_set_in_between_is_found_out() -> None:
    t_s, forward, t_back_s, back, _ = measured()
    step = np.where(t_s > 50.0, 1.0, 0.0)
    clocks = synchronise(t_s, forward + step, t_back_s, back - step)
    assert clocks.verdict is ClockVerdict.VARIATION_ONLY


def test_a_queue_that_builds_up_one_way_is_no_drift() -> None:
    t_s, forward, t_back_s, back, _ = measured(offset_s=10.48)
    clocks = synchronise(t_s, forward + np.where(t_s > 50.0, 0.02, 0.0), t_back_s, back)
    assert abs(clocks.drift) < 1e-6
    assert clocks.offset_s == pytest.approx(10.48, abs=1e-4)


def test_what_drifts_like_no_clock_is_not_corrected() -> None:
    clocks = sync(measured(offset_s=10.48, drift=2e-3))
    assert clocks.verdict is ClockVerdict.VARIATION_ONLY
    assert "no clock's" in clocks.words


def test_a_level_that_scatter_hides_is_not_claimed() -> None:
    clocks = sync(measured(offset_s=10.48, n=10, shortest_s=(0.001, 0.001), wait_s=0.05))
    assert clocks.verdict is ClockVerdict.VARIATION_ONLY
    assert clocks.forward_s.min() == 0.0


def test_lost_packets_stay_lost_and_say_nothing() -> None:
    case = list(measured(offset_s=10.48))
    whole = synchronise(*case[:4])
    case[1] = case[1].copy()
    lost = np.argsort(case[1])[500:]  # the longest half: the envelope is the same without them
    case[1][lost] = np.nan
    clocks = synchronise(*case[:4])
    assert np.isnan(clocks.forward_s[lost]).all()
    assert int(np.isnan(clocks.forward_s).sum()) == 500
    assert clocks.offset_s == pytest.approx(whole.offset_s, abs=1e-6)


def test_nothing_at_all_is_variation_only() -> None:
    none = np.zeros(0)
    clocks = synchronise(none, none, none, none)
    assert clocks.verdict is ClockVerdict.VARIATION_ONLY
    assert clocks.forward_s.size == 0
    lost = synchronise(np.arange(3.0), np.full(3, np.nan), none, none)
    assert np.isnan(lost.forward_s).all()


numbers = st.floats(-100.0, 100.0, allow_nan=False, width=32)


times = st.one_of(st.integers(0, 40).map(float), st.floats(0.0, 1e10), st.floats(0.0, 1e-300))


@settings(max_examples=300, deadline=None)
@given(st.lists(st.tuples(times, numbers), min_size=0, max_size=60), st.integers(0, 60))
def test_no_delay_comes_out_negative_and_none_is_made_up(points: list[tuple[float, float]], cut: int) -> None:
    t_s = np.array([t for t, _ in points])
    delay_s = np.array([value for _, value in points])
    clocks = synchronise(t_s[:cut], delay_s[:cut], t_s[cut:], delay_s[cut:])
    for given_s, got_s in ((delay_s[:cut], clocks.forward_s), (delay_s[cut:], clocks.back_s)):
        assert got_s.shape == given_s.shape
        assert np.isfinite(got_s).all()
        assert (got_s >= 0.0).all()


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 30), st.integers(-50, 50)), min_size=1, max_size=60))
def test_the_envelope_is_under_all_points_and_touches_them(points: list[tuple[int, int]]) -> None:
    t_s = np.array([float(t) for t, _ in points])
    value_s = np.array([float(value) for _, value in points])
    envelope = LowerEnvelope.of(t_s, value_s)
    for slope in (-7.0, -0.5, 0.0, 0.25, 11.0):
        assert envelope.height_s(slope) == pytest.approx(float((value_s - slope * t_s).min()), abs=1e-9)
    assert (np.diff(envelope.slopes) > 0.0).all()


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 12), st.integers(-9, 9)), min_size=2, max_size=14), st.integers(1, 13))
def test_the_common_slope_leaves_the_least_room_of_all_slopes(points: list[tuple[int, int]], cut: int) -> None:
    t_s = np.array([float(t) for t, _ in points])
    value_s = np.array([float(value) for _, value in points])
    cut = min(cut, t_s.size - 1)
    rising = LowerEnvelope.of(t_s[:cut], value_s[:cut])
    falling = LowerEnvelope.of(t_s[cut:], value_s[cut:])

    def room(slope: float) -> float:
        up = value_s[:cut] - slope * t_s[:cut]
        down = value_s[cut:] + slope * t_s[cut:]
        return float((up - up.min()).mean() + (down - down.min()).mean())

    best = room(common_slope(rising, falling))
    for slope in np.linspace(-20.0, 20.0, 161):
        assert room(float(slope)) >= best - 1e-9


def test_a_million_delays_take_about_a_second_even_in_the_worst_order() -> None:
    t_s = np.arange(1_000_000.0)
    convex = 1e-12 * t_s**2  # every point is a corner
    begin = time.perf_counter()
    assert LowerEnvelope.of(t_s, convex).t_s.size > 900_000
    assert time.perf_counter() - begin < 20.0  # it would be hours if it grew with n squared


@pytest.mark.parametrize(
    ("error_ratio", "verdict"), [(0.2, ClockVerdict.VARIATION_ONLY), (0.05, ClockVerdict.CORRECTED)]
)
def test_a_level_is_claimed_where_its_error_is_below_a_tenth_of_it(
    error_ratio: float, verdict: ClockVerdict
) -> None:
    # Ten delays, so no drift. The i-th spacing is s / i: its weighted mean is s, and the error of both s / sqrt 2.
    spacing_s = math.sqrt(2.0) * error_ratio * 0.02
    waits_s = np.concatenate([[0.0], np.cumsum(spacing_s / np.arange(1, 10))])
    t_s = np.arange(10.0)
    clocks = synchronise(t_s, 0.02 + waits_s + 5.0, t_s, 0.02 + waits_s[::-1] - 5.0)
    assert clocks.error_s == pytest.approx(error_ratio * 0.02)
    assert clocks.verdict is verdict
