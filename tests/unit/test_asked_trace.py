"""asked_trace: what a link would show, beside what the exact law says of it."""

from __future__ import annotations

import math

import numpy as np
import pytest
from link_strategies import refused

from netlab.traces.asked_trace import asked_trace
from netlab.traces.loss_run import loss_runs
from netlab.traces.pair import ProfilePair
from netlab.traces.presets import parse_preset
from netlab.traces.profile import LinkProfile
from netlab.traces.slot import Slot
from netlab.traces.trace import ClockVerdict, TracedPath

UNLIKE = ProfilePair("unlike", LinkProfile(delay_s=0.010, loss=0.1), LinkProfile(delay_s=0.025, jitter_s=0.002))


def test_each_path_is_its_own() -> None:
    forward, back, both = (
        asked_trace(UNLIKE, path, 50.0, 2000)
        for path in (TracedPath.FORWARD, TracedPath.BACK, TracedPath.ROUND_TRIP)
    )
    assert forward.path is TracedPath.FORWARD
    assert back.loss_ratio == 0.0
    assert np.allclose(forward.delays_s, 0.010, atol=1e-6)
    # 2000 packets: a mean of deviation 2 ms is within 0.2 ms at more than 4 of its own.
    assert abs(back.delays_s.mean() - 0.025) < 2e-4
    assert abs(both.delays_s.mean() - 0.035) < 2e-4
    # A tenth of 2000, within 4 deviations of 0.0067.
    assert forward.loss_ratio is not None
    assert abs(forward.loss_ratio - 0.1) < 0.027
    assert np.array_equal(np.isnan(both.delay_s), both.lost == 1)
    assert both.clocks is ClockVerdict.ONE_CLOCK


def test_a_round_trip_is_lost_either_way_and_a_loss_there_is_no_packet_back() -> None:
    pair = parse_preset("delay=5ms,loss=20%")
    both = asked_trace(pair, TracedPath.ROUND_TRIP, 100.0, 10_000)
    # 1 - 0.8^2 = 0.36, within 4 deviations of sqrt(0.36 * 0.64 / 10000).
    assert both.loss_ratio is not None
    assert abs(both.loss_ratio - 0.36) < 4 * math.sqrt(0.36 * 0.64 / 10_000)


def test_bursts_are_those_of_the_chain() -> None:
    trace = asked_trace(parse_preset("loss.mean=5%,loss.burst=8"), TracedPath.FORWARD, 50.0, 50_000)
    runs = loss_runs(trace)
    # About 310 runs, geometric with mean 8 and deviation 7.5: the mean is within 4 * 0.43.
    assert runs.size > 200
    assert abs(runs.mean() - 8.0) < 4 * 7.5 / math.sqrt(runs.size)


def test_each_copy_that_arrives_is_sent_back_and_may_be_copied_again() -> None:
    """Half are duplicated each way, n = 10,000: 1.5 * 1.5 replies a packet, within 4 of their deviations."""
    pair = parse_preset("delay=5ms,duplicate=50%")
    there = asked_trace(pair, TracedPath.FORWARD, 50.0, 10_000)
    both = asked_trace(pair, TracedPath.ROUND_TRIP, 50.0, 10_000)
    assert np.all(both.copies >= there.copies)
    assert set(both.copies.tolist()) == {1, 2, 3, 4}
    # E[r^2] = E[c] var(d) + E[c^2] E[d]^2 with copies c there and d back, each 1 or 2.
    variance = 1.5 * 0.25 + 0.25 * 1.5**2
    assert abs(both.copies.mean() - 2.25) < 4 * math.sqrt(variance / 10_000)


def test_a_packet_is_lost_only_where_no_copy_of_it_comes_back() -> None:
    """Each packet is doubled there and half of what is sent back is lost: a quarter lose both, n = 10,000."""
    doubled, lossy = LinkProfile(delay_s=0.005, duplicate_ratio=1.0), LinkProfile(delay_s=0.005, loss=0.5)
    both = asked_trace(ProfilePair("x", doubled, lossy), TracedPath.ROUND_TRIP, 50.0, 10_000)
    assert both.loss_ratio is not None
    assert abs(both.loss_ratio - 0.25) < 4 * math.sqrt(0.25 * 0.75 / 10_000)
    assert np.array_equal(both.lost == 1, both.copies == 0)


def test_the_reply_that_comes_first_is_the_round_trip() -> None:
    """Doubled there with a wide delay, and unordered: the sooner of two is taken, as on the way there alone."""
    doubled = LinkProfile(delay_s=0.100, jitter_s=0.030, ordered=False, duplicate_ratio=1.0)
    pair = ProfilePair("x", doubled, LinkProfile(delay_s=0.010))
    there = asked_trace(pair, TracedPath.FORWARD, 200.0, 3000)
    both = asked_trace(pair, TracedPath.ROUND_TRIP, 200.0, 3000)
    assert np.allclose(both.delay_s, there.delay_s + 0.010, atol=1e-6)


def test_packets_overtake_on_the_way_there_without_mixing_up_whose_delay_is_whose() -> None:
    wild = LinkProfile(delay_s=0.100, jitter_s=0.030, ordered=False)
    still = LinkProfile(delay_s=0.010)
    forward = asked_trace(ProfilePair("x", wild, still), TracedPath.FORWARD, 200.0, 3000)
    both = asked_trace(ProfilePair("x", wild, still), TracedPath.ROUND_TRIP, 200.0, 3000)
    assert np.allclose(both.delay_s, forward.delay_s + 0.010, atol=1e-6)


def test_the_same_seed_is_the_same_flow() -> None:
    pair = parse_preset("wifi-degraded")
    one, again, other = (asked_trace(pair, TracedPath.FORWARD, 50.0, 500, seed=seed) for seed in (1, 1, 2))
    assert np.array_equal(one.delay_s, again.delay_s, equal_nan=True)
    assert not np.array_equal(one.delay_s, other.delay_s, equal_nan=True)


@pytest.mark.parametrize(("rate_hz", "packets"), [(0.0, 5), (math.nan, 5), (50.0, 0), (50.0, 10**9)])
def test_numbers_out_of_range_are_refused(rate_hz: float, packets: int) -> None:
    refused(asked_trace, UNLIKE, TracedPath.FORWARD, rate_hz, packets)


@pytest.mark.parametrize("length_bytes", [0, -1, 2**20])
def test_lengths_that_no_frame_has_are_refused(length_bytes: int) -> None:
    error = refused(asked_trace, UNLIKE, TracedPath.FORWARD, 50.0, 5, length_bytes=length_bytes)
    assert "length_bytes" in str(error)


def test_slots_are_refused() -> None:
    slotted = LinkProfile(slot=Slot(delay_s=0.01))
    assert "slot" in str(refused(asked_trace, ProfilePair("s", slotted, slotted), TracedPath.FORWARD, 50.0, 5))
