"""Losses in runs: known chains are found again, in time, and carried over to another packet rate."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from netlab.traces.fit.loss_runs import LEVEL, chance_of_runs, fit_loss
from netlab.traces.fit.outages import find_outages
from netlab.traces.fit.sources import LossSource
from netlab.traces.loss import GilbertElliott
from netlab.traces.trace import UNKNOWN, ClockVerdict, Trace, TracedPath


def lossy(lost, interval_s=0.01, path=TracedPath.FORWARD, t_s=None) -> Trace:
    lost = np.asarray(lost, dtype=np.int8)
    t_s = np.arange(lost.size) * interval_s if t_s is None else t_s
    return Trace.of(t_s, path=path, clocks=ClockVerdict.ONE_CLOCK, lost=lost)


def in_time(n: int, interval_s: float, outage_s: float, gap_s: float, in_bad: float, seed: int) -> np.ndarray:
    """Return losses of packets on a path that is bad and good for exponential times."""
    return at_times(np.arange(n) * interval_s, outage_s, gap_s, in_bad, seed)


def at_times(t_s: np.ndarray, outage_s: float, gap_s: float, in_bad: float, seed: int) -> np.ndarray:
    """Return the same of packets that are sent at these times."""
    rng = np.random.default_rng(seed)
    periods = int(3 * t_s[-1] / (outage_s + gap_s)) + 100
    lengths = np.column_stack([rng.exponential(gap_s, periods), rng.exponential(outage_s, periods)]).ravel()
    turns = np.cumsum(lengths)
    bad = np.searchsorted(turns, t_s, side="right") % 2 == 1
    return (bad & (rng.random(t_s.size) < in_bad)).astype(np.int8)


def poisson_times(n: int, seed: int) -> np.ndarray:
    return np.cumsum(np.random.default_rng(seed).exponential(0.01, n))


def frame_times(n: int, seed: int) -> np.ndarray:
    """Return when a video of 30 frames a second sends: 3 packets a frame on average, 50 us apart."""
    sizes = np.random.default_rng(seed).integers(1, 6, size=n)
    frame = np.repeat(np.arange(n), sizes)[:n]
    place = np.arange(n) - np.searchsorted(frame, frame)
    return frame / 30.0 + 50e-6 * place


@pytest.mark.parametrize(("outage_s", "gap_s", "in_bad"), [(0.2, 4.0, 1.0), (0.05, 1.0, 1.0), (0.3, 3.0, 0.5)])
def test_how_long_a_path_is_bad_and_good_is_found(outage_s, gap_s, in_bad):
    # n = 200,000 at 100 Hz: 2,000 s, 470 .. 1,900 outages; the mean of so many exponential times has a relative
    # standard error of 1 / sqrt(470) = 4.6 % at most, bounded at 4 of them; the loss in bad at 0.03.
    fit = fit_loss(LossSource(lossy(in_time(200_000, 0.01, outage_s, gap_s, in_bad, seed=3))))
    assert fit.outage_s.value == pytest.approx(outage_s, rel=0.19)
    assert fit.gap_s.value == pytest.approx(gap_s, rel=0.19)
    assert fit.loss_in_bad.value == pytest.approx(in_bad, abs=0.03)
    assert fit.chance < 1e-9
    for interval in (fit.ratio, fit.outage_s, fit.gap_s, fit.loss_in_bad):
        assert interval.low <= interval.value <= interval.high


def test_the_intervals_hold_what_they_are_to_hold():
    # 40 traces: with 95 % each interval holds the truth; fewer than 32 of 40 do in 1 of 10,000 such experiments.
    held = 0
    for seed in range(40):
        fit = fit_loss(LossSource(lossy(in_time(40_000, 0.01, 0.1, 2.0, 1.0, seed=seed))))
        held += fit.outage_s.low <= 0.1 <= fit.outage_s.high
    assert held >= 32


@pytest.mark.parametrize("sender", [poisson_times, frame_times])
def test_a_sender_of_uneven_times_sees_outages_as_long_as_they_are(sender):
    # 20 traces of 20,000 packets, about 200 s and 47 outages each: the mean of 20 estimates has a standard error
    # of 1 / sqrt(20 * 47) = 3.3 %, bounded at 4 of them. Each 95 % interval holds the truth in 19 of 20; fewer
    # than 14 of 20 do in 1 of 3,000 such experiments. Of frames, all packets of one are lost together: fewer
    # independent distances than the intervals take there to be.
    found = []
    for seed in range(20):
        t_s = sender(20_000, seed)
        lost = at_times(t_s, 0.2, 4.0, 1.0, 100 + seed)
        found.append(fit_loss(LossSource(lossy(lost, t_s=t_s))).outage_s)
    assert np.mean([one.value for one in found]) == pytest.approx(0.2, rel=0.14)
    if sender is poisson_times:
        assert sum(one.low <= 0.2 <= one.high for one in found) >= 14


def test_a_chain_at_100_packets_a_second_becomes_one_at_20():
    """The chain for 20 Hz loses as the same path does when it is asked 20 times a second."""
    fit = fit_loss(LossSource(lossy(in_time(200_000, 0.01, 0.2, 4.0, 1.0, seed=5))))
    slow = in_time(200_000, 0.05, 0.2, 4.0, 1.0, seed=6)
    chain = fit.at_rate(20.0)
    assert isinstance(chain, GilbertElliott)
    runs = find_outages(lossy(slow)).packets
    # 2,000 runs in 10,000 s: standard error 2 % of their mean, and as much of the chain's.
    assert chain.burst_packets == pytest.approx(runs.mean(), rel=0.12)
    assert chain.loss_ratio_mean == pytest.approx(slow.mean(), rel=0.15)
    # At 100 Hz the same outages take five times as many packets, but for their ends.
    fast = fit.at_rate(100.0)
    assert fast.burst_packets == pytest.approx(0.2 / 0.01, rel=0.2)
    assert fast.loss_ratio_mean == pytest.approx(chain.loss_ratio_mean, rel=1e-3)


def test_rescaling_is_sampling_the_path_less_often():
    fit = fit_loss(LossSource(lossy(in_time(100_000, 0.01, 0.2, 4.0, 0.8, seed=5))))
    fast, slow = fit.at_rate(100.0), fit.at_rate(20.0)
    # Five steps of the fast chain are one of the slow one: what is remembered is the fifth power.
    assert 1.0 - slow.p - slow.r == pytest.approx((1.0 - fast.p - fast.r) ** 5, abs=2e-3)
    assert slow.p / slow.r == pytest.approx(fast.p / fast.r, rel=1e-3)
    assert slow.loss_in_bad == fast.loss_in_bad < 1.0


@pytest.mark.parametrize("share", [None, 0.5])
@pytest.mark.parametrize("packet_rate_hz", [1000.0, 100.0, 20.0])
def test_a_chain_that_loses_some_in_bad_loses_as_many_as_the_direction_does(share, packet_rate_hz):
    fit = fit_loss(LossSource(lossy(in_time(100_000, 0.01, 0.2, 4.0, 0.8, seed=5)))).for_direction(share)
    chain = fit.at_rate(packet_rate_hz)
    # p, r and the loss in bad are kept to four digits each.
    assert chain.loss_in_bad == pytest.approx(0.8, abs=0.02)
    assert chain.loss_ratio_mean == pytest.approx(fit.direction_ratio, rel=1e-3)


def test_independent_losses_are_a_ratio_but_for_one_in_a_hundred():
    alarms = 0
    for seed in range(200):
        lost = np.random.default_rng(seed).random(2000) < 0.05
        fit = fit_loss(LossSource(lossy(lost)))
        alarms += isinstance(fit.at_rate(50.0), GilbertElliott)
    # 200 traces at a level of 1 %: more than 7 false alarms come in 1 of 1,000 such experiments.
    assert LEVEL == 0.01 and alarms <= 7
    assert fit.ratio.low < 0.05 < fit.ratio.high
    assert fit.outage_s is None


@pytest.mark.parametrize(("packets", "lost"), [(7, 3), (8, 5), (6, 1), (5, 5), (4, 0)])
def test_the_chance_of_so_few_runs_is_counted(packets, lost):
    orders = list(itertools.combinations(range(packets), lost))
    counts = [sum(place - 1 not in order for place in order) for order in orders]
    for runs in range(1 if lost else 0, lost + 1):
        expected = sum(count <= runs for count in counts) / math.comb(packets, lost)
        if lost not in (0, packets):
            assert chance_of_runs(packets, lost, runs) == pytest.approx(expected)
        else:
            assert chance_of_runs(packets, lost, runs) == 1.0


def test_a_directions_share_of_a_round_trips_losses():
    both = fit_loss(LossSource(lossy(in_time(100_000, 0.01, 0.2, 4.0, 1.0, seed=1)), share=0.5))
    way = both.at_rate(100.0)
    # (1 - p)^2 = 1 - lost; outages last as long, there are half as many.
    assert (1.0 - way.loss_ratio_mean) ** 2 == pytest.approx(1.0 - both.ratio.value, abs=1e-4)
    whole = both.for_direction(None).at_rate(100.0)
    assert way.burst_packets == pytest.approx(whole.burst_packets, rel=0.05)
    assert both.for_direction(0.0).at_rate(100.0) == 0.0
    assert both.for_direction(1.0).direction_ratio == pytest.approx(both.ratio.value)


@pytest.mark.parametrize(
    ("lost", "loss"),
    [([0, 0, 0], 0.0), ([1, 1, 1], 1.0), ([1], 1.0), ([0, 1, 0, 0], 0.25), ([UNKNOWN, 0, 1, UNKNOWN], 0.5)],
)
def test_short_traces_give_a_ratio(lost, loss):
    fit = fit_loss(LossSource(lossy(lost)))
    assert fit.at_rate(50.0) == loss
    assert 0.0 <= fit.ratio.low <= loss <= fit.ratio.high <= 1.0


@pytest.mark.parametrize("first", [0, 300, 970])
def test_a_single_outage_has_the_length_it_had(first):
    lost = np.zeros(1000, dtype=np.int8)
    lost[first : first + 30] = 1
    fit = fit_loss(LossSource(lossy(lost)))
    # 30 packets of 10 ms; the mean stay of a chain is longer than its packets' time by half of one at each end.
    assert fit.outage_s.value == pytest.approx(0.3, rel=0.05)
    chain = fit.at_rate(100.0)
    assert chain.burst_packets == pytest.approx(30.0, rel=0.02)
    assert chain.loss_ratio_mean == pytest.approx(0.03, rel=1e-3)


def test_an_outage_of_another_kind_than_the_rest_is_noticed():
    lost = (np.random.default_rng(1).random(50_000) < 0.02).astype(np.int8)
    assert not fit_loss(LossSource(lossy(lost))).is_unlike
    lost[1000:1400] = 1
    fit = fit_loss(LossSource(lossy(lost)))
    # No chain of one kind of burst has runs of one packet and one of 400.
    assert fit.is_unlike and fit.longest_s == pytest.approx(4.0, abs=0.05)
    unlike = sum(
        fit_loss(LossSource(lossy(in_time(40_000, 0.01, 0.1, 2.0, 1.0, seed=seed)))).is_unlike
        for seed in range(60)
    )
    # 60 traces of a chain, at a level of 1 %: more than 4 false ones come in 3 of 1,000 such experiments.
    assert unlike <= 4


def test_outages_have_the_times_they_had():
    trace = Trace.of(
        np.array([0.0, 0.1, 0.2, 0.3, 0.4, 5.0, 5.1]),
        path=TracedPath.FORWARD,
        clocks=ClockVerdict.ONE_CLOCK,
        lost=np.array([0, 1, 1, 0, 1, 0, 1], dtype=np.int8),
    )
    outages = find_outages(trace)
    assert outages.begin_s.tolist() == [0.1, 0.4, 5.1]
    # A sender that paused tells nothing of the time between: five usual intervals at most.
    assert outages.end_s == pytest.approx([0.3, 0.9, 5.2])
    assert outages.packets.tolist() == [2, 1, 1]
    assert find_outages(lossy([])).length_s.size == 0
