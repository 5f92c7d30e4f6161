"""Round trips split into directions: what is declared, what is scaled, what is unfolded."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from link_strategies import refused

from netlab.traces.distance import ks_distance, wasserstein_1
from netlab.traces.fit.order_cost import compensate_order, queued_s
from netlab.traces.fit.round_trip_split import (
    LEAST_UNFOLDED,
    WORTH_UNFOLDING,
    scaled_way_s,
    split_round_trip,
    sum_values_s,
    unfolded_way_s,
    unfolding_gain,
)
from netlab.traces.fit.split import SYMMETRIC, Split


@pytest.mark.parametrize(
    ("text", "forward"), [("50:50", 0.5), ("70:30", 0.7), (" 100 : 0 ", 1.0), ("0:3", 0.0), ("1:3", 0.25)]
)
def test_a_split_is_read_as_parts(text, forward):
    assert Split.parse(text) == Split(forward)
    assert Split.parse(Split(forward).words) == Split(forward)


@pytest.mark.parametrize(
    "text", ["", "70", "70:", "70:30:10", "-1:2", "0:0", "nan:1", "1e3:1", "a:b", "1" * 99 + ":1"]
)
def test_what_is_no_split_is_refused(text):
    error = refused(Split.parse, text)
    assert "must be FORWARD:BACK" in str(error) and "70:30" in error.hint


def test_a_share_is_bounded():
    assert "split = 1.5" in str(refused(Split, 1.5))


@given(st.floats(0.0, 1.0), st.floats(0.0, 1.0))
def test_losses_of_both_ways_are_the_round_trips(loss, forward):
    there, back = (Split.of_loss(loss, share) for share in Split(forward).shares)
    assert (1.0 - there) * (1.0 - back) == pytest.approx(1.0 - loss, abs=1e-9)


@pytest.mark.parametrize("forward", [0.5, 0.7, 1.0, 0.0])
def test_scaled_ways_have_their_parts_of_mean_and_variance(forward):
    round_trip = np.random.default_rng(1).normal(0.1, 0.005, 5000)
    parts = split_round_trip(round_trip, Split(forward)) if forward != 0.5 else None
    ways = (parts.forward_s, parts.back_s) if parts else [scaled_way_s(round_trip, 0.5)] * 2
    for way, share in zip(ways, (forward, 1.0 - forward), strict=True):
        assert way.mean() == pytest.approx(share * round_trip.mean(), abs=1e-12)
        assert way.var() == pytest.approx(share * round_trip.var(), abs=1e-12)


def test_what_scaling_puts_below_zero_is_clipped_and_counted():
    round_trip = np.append(np.full(990, 0.001), np.full(10, 0.5))
    parts = split_round_trip(round_trip, Split(0.3))
    assert parts.clipped_ratio == pytest.approx(0.99)
    assert parts.forward_s.min() == 0.0


LAWS = {
    "lognormal": lambda rng, n: 0.02 + rng.lognormal(-5.0, 0.8, n),
    "two levels": lambda rng, n: rng.choice((0.02, 0.05), n) + rng.normal(0.0, 0.001, n).clip(-0.004, 0.004),
    "exponential": lambda rng, n: 0.01 + rng.exponential(0.01, n),
}


@pytest.mark.parametrize("name", LAWS)
def test_the_law_of_one_way_is_found_in_sums_of_two(name):
    n = 20_000
    rng = np.random.default_rng(4)
    law = LAWS[name]
    round_trip = law(rng, n) + law(rng, n)
    found = unfolded_way_s(round_trip)
    truth = law(rng, 200_000)
    scaled = scaled_way_s(round_trip, 0.5)
    # n = 20,000: the data themselves are about sd / sqrt n = 0.7 % of a deviation from their law; the way back
    # to one direction is worse: 6 % of it allowed, where scaling is off by 10 % and more.
    assert wasserstein_1(found, truth) < 0.06 * truth.std()
    assert wasserstein_1(found, truth) < 0.6 * wasserstein_1(scaled, truth)
    assert found.min() >= 0.5 * round_trip.min() - 1e-7


@pytest.mark.parametrize("name", LAWS)
def test_the_unfolded_law_is_used_where_its_round_trip_is_nearer(name):
    rng = np.random.default_rng(5)
    round_trip = LAWS[name](rng, 5000) + LAWS[name](rng, 5000)
    parts = split_round_trip(round_trip, SYMMETRIC)
    assert "deconvolution" in parts.method and parts.forward_s is parts.back_s
    scaled = scaled_way_s(round_trip, 0.5)
    assert wasserstein_1(sum_values_s(parts.forward_s, parts.back_s), round_trip) < 0.5 * wasserstein_1(
        sum_values_s(scaled, scaled), round_trip
    )
    # n = 5,000: KS of the data against their own law passes 1.63 / sqrt n = 0.023 in 1 of 100; three times that.
    assert ks_distance(sum_values_s(parts.forward_s, parts.back_s), round_trip) < 0.07


@pytest.mark.parametrize("n", [60, 300, 2000])
@pytest.mark.parametrize("name", LAWS)
def test_a_way_has_half_of_the_round_trips_mean_and_variance(name, n):
    """However few they are: what unfolding a sample widens (3 to 8 % of the deviation) is taken back."""
    rng = np.random.default_rng(n)
    round_trip = LAWS[name](rng, n) + LAWS[name](rng, n)
    parts = split_round_trip(round_trip, SYMMETRIC)
    assert parts.forward_s.mean() == pytest.approx(0.5 * round_trip.mean(), rel=1e-5)
    if not parts.clipped_ratio:
        assert parts.forward_s.std() == pytest.approx(round_trip.std() / 2**0.5, rel=1e-4)
    assert f"deviation of a way {1e3 * parts.forward_s.std():.4g} ms" in parts.method


@pytest.mark.parametrize("n", [60, 100, 300, 2000])
def test_a_shape_that_is_chance_is_not_unfolded(n):
    """Normal round trips are those of two scaled normal ways: what unfolding finds besides is the sample's."""
    for seed in range(5):
        round_trip = np.random.default_rng(seed).normal(0.1, 0.005, n)
        parts = split_round_trip(round_trip, SYMMETRIC)
        assert "scaled" in parts.method
        # The law it was made of is no judge: in the sample the unfolded one is nearer.
        if n >= LEAST_UNFOLDED:
            assert unfolding_gain(round_trip) > WORTH_UNFOLDING


def test_few_round_trips_are_scaled_whatever_their_shape():
    rng = np.random.default_rng(5)
    round_trip = LAWS["two levels"](rng, 2 * LEAST_UNFOLDED) + LAWS["two levels"](rng, 2 * LEAST_UNFOLDED)
    assert "deconvolution" in split_round_trip(round_trip, SYMMETRIC).method
    assert "scaled" in split_round_trip(round_trip[: LEAST_UNFOLDED - 1], SYMMETRIC).method


def test_round_trips_that_are_alike_and_few_of_them_can_be_split():
    assert split_round_trip(np.full(5, 0.08), SYMMETRIC).forward_s == pytest.approx([0.04] * 5)
    parts = split_round_trip(np.array([0.05, 0.09]), SYMMETRIC)
    assert parts.forward_s.min() > 0.0 and parts.forward_s.max() < 0.09


def delivered(law_s: np.ndarray, rate_hz: float, seed: int) -> np.ndarray:
    drawn = law_s[np.random.default_rng(seed).integers(law_s.size, size=200_000)]
    return queued_s(drawn, 1.0 / rate_hz)


def test_what_order_adds_is_taken_off():
    wanted = np.random.default_rng(7).lognormal(np.log(0.045), 0.4, 5000)
    changed = compensate_order(wanted, 50.0)
    assert changed.is_changed
    before, after = (wasserstein_1(delivered(law, 50.0, seed=1), wanted) for law in (wanted, changed.delay_s))
    assert before > 2e-3 and after < 0.4 * before
    assert after == pytest.approx(changed.far_s, rel=0.2, abs=1e-4)
    assert changed.delay_s.min() >= 0.0


def test_a_flow_that_never_waits_keeps_the_measured_law():
    wanted = np.random.default_rng(7).normal(0.05, 0.002, 5000)
    changed = compensate_order(wanted, 10.0)
    assert not changed.is_changed and changed.delay_s.tolist() == sorted(wanted.tolist())
