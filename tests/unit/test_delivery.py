"""What a link delivers: the wait behind earlier packets, checked against a packet-by-packet queue."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from link_strategies import profiles, refused

from netlab.traces.delivery import DelayMoments, delivered_delays_s, delivered_moments
from netlab.traces.profile import LinkProfile
from netlab.traces.schedule import Schedule, Step


def ms(moments: DelayMoments) -> tuple[float, float]:
    return moments.mean_s * 1e3, moments.sd_s * 1e3


# Reference figures of the project: what first-in first-out makes of wifi-degraded at 50 packets a second.
@pytest.mark.parametrize(
    ("delay_s", "jitter_s", "mean_ms", "sd_ms"),
    [(0.040, 0.040 / 2**0.5, 49.0, 23.0), (0.080, 0.040, 98.0, 31.0)],
)
def test_keeping_the_order_makes_of_wifi_degraded_what_was_computed_before(delay_s, jitter_s, mean_ms, sd_ms):
    link = LinkProfile(delay_s=delay_s, jitter_s=jitter_s, loss=0.1)
    # n = 100,000; neighbouring delays hang together over a few packets: 5 sigma of the mean is below 0.7 ms.
    mean, sd = ms(delivered_moments(link, 50.0, seed=1, n=100_000))
    assert mean == pytest.approx(mean_ms, abs=0.7)
    assert sd == pytest.approx(sd_ms, abs=0.7)


def test_an_unordered_link_delivers_what_it_draws():
    link = LinkProfile(delay_s=0.1, jitter_s=0.01, ordered=False)
    moments = delivered_moments(link, 1000.0, seed=3, n=100_000)
    # 5 sigma of the mean of 100,000 draws of 10 ms is 0.16 ms.
    assert ms(moments)[0] == pytest.approx(100.0, abs=0.16)
    assert ms(moments)[1] == pytest.approx(10.0, abs=0.12)


def test_a_slow_flow_does_not_wait():
    link = LinkProfile(delay_s=0.1, jitter_s=0.01)
    assert np.array_equal(
        delivered_delays_s(link, 1.0, seed=3, n=1000),
        delivered_delays_s(link.replace(ordered=False), 1.0, seed=3, n=1000),
    ) or np.allclose(
        delivered_delays_s(link, 1.0, seed=3, n=1000),
        delivered_delays_s(link.replace(ordered=False), 1.0, seed=3, n=1000),
        atol=1e-9,
    )


def test_the_same_seed_gives_the_same_numbers():
    link = LinkProfile(delay_s=0.05, jitter_s=0.02, loss=0.1)
    assert delivered_moments(link, 50.0, seed=7) == delivered_moments(link, 50.0, seed=7)
    assert delivered_moments(link, 50.0, seed=7) != delivered_moments(link, 50.0, seed=8)


def test_a_rate_adds_the_time_on_the_wire():
    # 200 bytes + 20 in cells of 48 + 5: five cells of 53 bytes, 2120 bits at 1 Mbit/s.
    link = LinkProfile(delay_s=0.01, rate_bps=1e6, overhead_bytes=20, cell_bytes=48, cell_overhead_bytes=5)
    mean, sd = ms(delivered_moments(link, 10.0, n=100, packet_bytes=200))
    assert mean == pytest.approx(10.0 + 2.12, abs=1e-6)
    assert sd == pytest.approx(0.0, abs=1e-6)


def test_an_overloaded_rate_builds_a_queue():
    # 1000 bits every 10 ms through 50 kbit/s: packet i waits 10 ms longer than the one before.
    link = LinkProfile(rate_bps=50e3)
    delays = delivered_delays_s(link, 100.0, n=50, packet_bytes=125)
    assert np.allclose(np.diff(delays), 0.010)


def test_reordered_packets_skip_the_delay_and_hold_nobody_up():
    link = LinkProfile(delay_s=0.05, reorder_ratio=0.25, reorder_gap=5)
    delays = delivered_delays_s(link, 100.0, seed=1, n=50_000)
    share = (delays == 0.0).mean()
    assert share == pytest.approx(1 / 8, abs=5 * (1 / 8 * 7 / 8 / 50_000) ** 0.5)
    assert np.allclose(delays[delays > 0.0], 0.05)


def test_losses_thin_the_queue():
    link = LinkProfile(delay_s=0.05, jitter_s=0.02)
    assert delivered_delays_s(link.replace(loss=0.5), 50.0, n=10_000).size == pytest.approx(5000, abs=250)
    assert (
        delivered_moments(link.replace(loss=0.5), 200.0, n=50_000).mean_s
        < delivered_moments(link, 200.0, n=50_000).mean_s
    )


def test_lost_packets_take_no_time_on_the_wire():
    # 20 ms a packet every 10 ms, but only 40 % of them get that far: the queue stays short.
    link = LinkProfile(rate_bps=50e3, loss=0.6)
    assert delivered_delays_s(link, 100.0, n=5000, packet_bytes=125).max() < 1.0


def test_a_fall_in_a_schedule_slopes_where_order_is_kept():
    def falling(ordered: bool) -> Schedule:
        high, low = (LinkProfile(delay_s=delay_s, ordered=ordered) for delay_s in (0.050, 0.010))
        return Schedule((Step(0.0, high), Step(0.1, low)), 0.2)

    ordered = delivered_delays_s(falling(True), 100.0, n=20) * 1e3
    # Sent at 100 ms: the packet of 90 ms leaves at 140, so this one waits 40 ms, the next 30, ...
    assert np.allclose(ordered, [50] * 10 + [40, 30, 20] + [10] * 7)
    assert np.allclose(delivered_delays_s(falling(False), 100.0, n=20) * 1e3, [50] * 10 + [10] * 10)


def test_a_schedule_is_cut_at_its_end_or_begins_again():
    steps = (Step(0.0, LinkProfile(delay_s=0.01)), Step(0.1, LinkProfile(delay_s=0.02)))
    assert delivered_delays_s(Schedule(steps, 0.2), 100.0, n=1000).size == 20
    looped = delivered_delays_s(Schedule(steps, 0.2, loop=True), 100.0, n=1000)
    assert looped.size == 1000
    assert looped.mean() == pytest.approx(0.0155, abs=0.001)


@settings(deadline=None, max_examples=50)
@given(profiles(), st.floats(1.0, 1000.0))
def test_delays_are_finite_and_never_below_the_least_drawn(profile, rate_hz):
    delays = delivered_delays_s(profile, rate_hz, n=200)
    assert np.isfinite(delays).all()
    floor = 0.0 if profile.reorder_ratio else profile.delay_law.delays_ns().min() / 1e9
    assert (delays >= floor - 1e-9).all()


def test_a_dead_link_delivers_nothing():
    assert "loses all" in str(refused(delivered_moments, LinkProfile(loss=1.0), 50.0))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [((0.0,), "packet_rate_hz = 0.0"), ((50.0, 0, 0), "n = 0"), ((50.0, 0, 10**8), "n = 100000000")],
)
def test_sizes_are_bounded(arguments, words):
    assert words in str(refused(delivered_moments, LinkProfile(), *arguments))
