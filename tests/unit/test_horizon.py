"""Round trips of pairs and the play-out horizon that follows from them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from link_strategies import pairs, refused

from netlab.errors import ProfileError
from netlab.traces.horizon import horizon_ticks
from netlab.traces.pair import ProfilePair
from netlab.traces.presets import parse_preset
from netlab.traces.profile import LinkProfile
from netlab.traces.schedule import Schedule, Step
from netlab.traces.series import PingSeries, series_schedule

TICK_S = 0.02


def both(profile: LinkProfile) -> ProfilePair:
    return ProfilePair("both", profile, profile)


# ceil((mean + 2 sd) / 20 ms) + 1 if lossy + 1 more above 5 %; docs/profiles.md shows the sums.
@pytest.mark.parametrize(
    ("name", "ticks"),
    [
        ("ethernet-clean", 1),
        ("ethernet-clean@oneway", 1),
        ("wifi-normal", 4),
        ("wifi-normal@oneway", 6),
        ("wifi-degraded", 10),
        ("wifi-degraded@oneway", 16),
        ("measured", 12),
    ],
)
def test_horizons_of_the_presets(name, ticks):
    assert horizon_ticks(parse_preset(name), TICK_S) == ticks


def test_a_lossless_link_needs_no_spare_tick():
    assert horizon_ticks(both(LinkProfile(delay_s=0.03)), TICK_S) == 3
    assert horizon_ticks(both(LinkProfile(delay_s=0.03, loss=0.01)), TICK_S) == 4
    assert horizon_ticks(both(LinkProfile(delay_s=0.03, loss=0.06)), TICK_S) == 5
    assert horizon_ticks(both(LinkProfile(delay_s=0.03, loss=0.05)), TICK_S) == 4
    assert horizon_ticks(both(LinkProfile()), TICK_S) == 1


def test_the_worse_direction_counts():
    assert horizon_ticks(ProfilePair("a", LinkProfile(loss=0.1), LinkProfile()), TICK_S) == 3


def test_a_whole_number_of_ticks_is_not_rounded_up():
    assert (0.035 + 0.035) / 0.01 > 7.0  # in binary
    assert horizon_ticks(both(LinkProfile(delay_s=0.035)), 0.01) == 7


def test_more_deviations_need_more_ticks():
    pair = both(LinkProfile(delay_s=0.04, jitter_s=0.01, ordered=False))
    assert [horizon_ticks(pair, 0.01, z) for z in (0.0, 1.0, 2.0, 4.0)] == [9, 10, 11, 14]


def test_an_ordered_link_is_measured_as_it_delivers():
    unordered = both(LinkProfile(delay_s=0.08, jitter_s=0.04, ordered=False))
    ordered = both(LinkProfile(delay_s=0.08, jitter_s=0.04))
    # 161 + 2 x 55 ms asked against 199 + 2 x 42 ms delivered
    assert (horizon_ticks(unordered, TICK_S), horizon_ticks(ordered, TICK_S)) == (14, 15)


def test_a_series_is_covered_by_its_99th_percentile():
    rtt_s = tuple(0.100 + 0.001 * (index % 100) for index in range(1000))
    pair = ProfilePair("s", *series_schedule(PingSeries(rtt_s=rtt_s)))
    assert pair.round_trip_quantile_s(0.99) == pytest.approx(0.198)
    assert horizon_ticks(pair, TICK_S) == 10  # 198 ms
    assert pair.round_trip_mean_s == pytest.approx(np.mean(rtt_s))
    assert pair.round_trip_sd_s == pytest.approx(np.std(rtt_s))


def test_quantiles_of_a_series_are_its_samples():
    rtt_s = (0.2, 0.3, 0.25, 0.22)
    pair = ProfilePair("s", *series_schedule(PingSeries(rtt_s=rtt_s)))
    assert [pair.round_trip_quantile_s(q) for q in (0.0, 0.25, 0.26, 0.5, 0.75, 1.0)] == pytest.approx(
        [0.2, 0.2, 0.22, 0.22, 0.25, 0.3]
    )


def test_quantiles_of_two_normal_directions_are_a_normals():
    pair = both(LinkProfile(delay_s=0.2, jitter_s=0.01, ordered=False))
    sd_s = 0.01 * 2**0.5
    assert pair.round_trip_sd_s == pytest.approx(sd_s, rel=1e-6)
    for q, z in ((0.01, -2.3263), (0.5, 0.0), (0.99, 2.3263)):
        assert pair.round_trip_quantile_s(q) == pytest.approx(0.4 + z * sd_s, abs=sd_s * 0.02)


def test_directions_out_of_step_are_independent():
    step = Schedule((Step(0.0, LinkProfile(delay_s=0.01)), Step(1.0, LinkProfile(delay_s=0.03))), 2.0)
    pair = ProfilePair("a", step, LinkProfile(delay_s=0.1, jitter_s=0.001))
    assert pair.round_trip_mean_s == pytest.approx(0.12, abs=1e-7)
    assert pair.round_trip_sd_s == pytest.approx((0.01**2 + 0.001**2) ** 0.5, rel=1e-4)
    assert pair.round_trip_quantile_s(0.25) == pytest.approx(0.11, abs=0.001)
    assert pair.round_trip_quantile_s(0.75) == pytest.approx(0.13, abs=0.001)


def test_steps_count_by_their_length():
    steps = (Step(0.0, LinkProfile(delay_s=0.01)), Step(9.0, LinkProfile(delay_s=0.5)))
    pair = ProfilePair("a", Schedule(steps, 10.0), Schedule(steps, 10.0))
    assert pair.round_trip_quantile_s(0.89) == pytest.approx(0.02)
    assert pair.round_trip_quantile_s(0.91) == pytest.approx(1.0)


@settings(deadline=None, max_examples=50)
@given(pairs(), st.floats(0.0, 1.0))
def test_quantiles_ascend_and_lie_around_the_mean(pair, q):
    low, at, high = (pair.round_trip_quantile_s(share) for share in (0.0, q, 1.0))
    assert low <= at <= high
    assert low - 1e-9 <= pair.round_trip_mean_s
    assert pair.round_trip_sd_s >= 0.0
    try:
        assert 1 <= horizon_ticks(pair, 1.0) <= 256
    except ProfileError as error:
        assert "at most 256" in str(error) or "loses all" in str(error)


def test_what_has_no_horizon_is_refused():
    error = refused(horizon_ticks, both(LinkProfile(delay_s=2.5)), 0.01)
    assert "both: a horizon of 500 ticks of 10 ms: at most 256 fit a message" in str(error)
    assert "tick_s = 0.0" in str(refused(horizon_ticks, both(LinkProfile()), 0.0))
    assert "q = 1.5" in str(refused(both(LinkProfile()).round_trip_quantile_s, 1.5))
