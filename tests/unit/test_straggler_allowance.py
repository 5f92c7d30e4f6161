"""Stragglers: 2 % of the packets may be later however much, as the allowance says, and faults still show.

What delivers is the exact model; then packets are held up, and those behind them in an ordered queue with them.
"""

from __future__ import annotations

import math

import msgspec
import numpy as np
import pytest
from numpy.typing import NDArray

from netlab.traces.conformance.allowance import EXACT, Allowance, default_allowance
from netlab.traces.conformance.asked import Asked
from netlab.traces.conformance.expectation import Expectation, expect
from netlab.traces.conformance.flow import Flow
from netlab.traces.conformance.judge import judge_flow
from netlab.traces.conformance.reference import ReferenceBuilder
from netlab.traces.conformance.report import ConformanceReport
from netlab.traces.conformance.simulation import simulate
from netlab.traces.conformance.straggling import Straggling
from netlab.traces.loss import GilbertElliott
from netlab.traces.presets import PRESETS
from netlab.traces.profile import LinkProfile
from netlab.traces.schedule import Schedule, Step
from netlab.traces.seed import link_seed

FRAME_BYTES = 242
RATE_HZ = 10.0
REAL = default_allowance(virtual=False)
WIRE = LinkProfile(delay_s=0.002)
JITTER = LinkProfile(delay_s=0.010, jitter_s=0.001)
WIFI = PRESETS["wifi-normal"].forward
LINKS = {"wire": WIRE, "jitter": JITTER, "wifi-normal": WIFI}


def flows_of(asked: LinkProfile | Schedule, sent_s: NDArray[np.float64], flows: int, purpose: str) -> list[Flow]:
    seeds = [link_seed(number, purpose, "forward", 0) for number in range(flows)]
    return list(simulate(Asked.of(asked), sent_s, FRAME_BYTES, seeds))


def held_up(flow: Flow, packets: NDArray[np.int64], late_s: NDArray[np.float64] | float) -> Flow:
    delay_s = flow.delay_s.copy()
    delay_s[packets] += late_s
    return Flow(flow.sent_s, delay_s, flow.copies, flow.length_bytes)


def expected_of(
    asked: LinkProfile | Schedule, n: int, allowed: Allowance, rate_hz: float = RATE_HZ
) -> Expectation:
    return expect(Asked.of(asked), np.arange(n) / rate_hz, FRAME_BYTES, allowed=allowed)


@pytest.mark.parametrize("late_s", [0.006, 0.020, 0.050])
@pytest.mark.parametrize("link", LINKS)
def test_a_share_below_the_allowance_may_be_late_however_much(link: str, late_s: float) -> None:
    """15 of 1,000 late, 30 flows at a level of 0.5 %: two or more fail once in 100; before, 28 and more did."""
    expected = expected_of(LINKS[link], 1000, REAL)
    rng = np.random.default_rng(1)
    failed = []
    for flow in flows_of(LINKS[link], expected.sent_s, 30, "stragglers"):
        late = rng.choice(flow.n, 15, replace=False)
        failed.append(judge_flow(expected, held_up(flow, late, late_s)).failed)
    assert sum(map(bool, failed)) <= 1, failed


def test_all_may_be_late_by_the_allowance_and_stalls_come_in_a_row() -> None:
    """Stalls of 50 ms at 100 Hz hold five packets up each; n = 2,000, 7 stalls are 1.75 %; 20 flows."""
    expected = expected_of(JITTER, 2000, REAL, 100.0)
    rng = np.random.default_rng(2)
    failed = []
    for flow in flows_of(JITTER, expected.sent_s, 20, "stalls"):
        late_s = rng.uniform(0.0, REAL.later_s, flow.n)
        for first in rng.choice(flow.n // 10 - 1, 7, replace=False) * 10:
            late_s[first : first + 5] += 0.050 - np.arange(5) * 0.010
        arrival_s = np.maximum.accumulate(flow.sent_s + flow.delay_s + late_s)
        other = Flow(flow.sent_s, arrival_s - flow.sent_s, flow.copies, flow.length_bytes)
        failed.append(judge_flow(expected, other).failed)
    assert sum(map(bool, failed)) <= 1, failed


@pytest.mark.parametrize("late", [35, 100])
def test_more_stragglers_than_that_are_too_many(late: int) -> None:
    """n = 1,000, 3.5 % and 10 % late by 50 ms: each of 20 flows fails."""
    for asked in (WIRE, JITTER, WIFI):
        expected = expected_of(asked, 1000, REAL)
        for flow in flows_of(asked, expected.sent_s, 20, "too many"):
            packets = np.arange(flow.n)[flow.arrived][:: flow.n // late][:late]
            found = judge_flow(expected, held_up(flow, packets, 0.050))
            assert not found.holds or (asked is WIFI and late == 35), (asked, found.statistics)


def test_nobody_may_be_early() -> None:
    """20 of 1,000 packets of a wire early by 0.5 ms, with an allowance for late ones."""
    expected = expected_of(WIRE, 1000, REAL)
    flow = flows_of(WIRE, expected.sent_s, 1, "early")[0]
    assert judge_flow(expected, flow).holds
    assert {"ks", "mean"} <= set(judge_flow(expected, held_up(flow, np.arange(0, 1000, 50), -0.0005)).failed)


def test_faults_show_in_real_time() -> None:
    """n = 2,000 of wifi-normal, each fault well beyond the allowance: all of 10 flows fail by what should tell."""
    assert isinstance(WIFI, LinkProfile)
    expected = expected_of(WIFI, 2000, REAL)
    for wrong, caught_by in (
        (WIFI.replace(delay_s=WIFI.delay_s + 0.003), "mean"),
        (WIFI.replace(delay_s=WIFI.delay_s - 0.002), "mean"),
        (WIFI.replace(jitter_s=WIFI.jitter_s * 2), "sd"),
        (WIFI.replace(loss=0.05), "loss"),
        (WIFI.replace(loss=GilbertElliott.from_mean(0.02, 8.0)), "loss-burst"),
    ):
        for flow in flows_of(wrong, expected.sent_s, 10, "faults"):
            assert caught_by in judge_flow(expected, flow).failed


def test_what_is_not_judged_above_has_no_bound_and_the_report_travels() -> None:
    """p99 with 2 % of stragglers: JSON has no infinity, so the bound is null."""
    expected = expected_of(WIRE, 300, REAL)
    found = judge_flow(expected, flows_of(WIRE, expected.sent_s, 1, "bounds")[0])
    by_name = {one.name: one for one in found.statistics}
    assert by_name["p99"].high is None and by_name["p99"].low is not None and by_name["p99"].holds
    assert by_name["p95"].high is not None
    report = ConformanceReport(
        directions=[found], level=0.01, allowance=REAL, engine="model", clock="virtual", holds=True
    )
    assert msgspec.json.decode(msgspec.json.encode(report), type=ConformanceReport) == report


@pytest.mark.parametrize("share", [0.005, 0.02, 0.1])
@pytest.mark.parametrize("law", ["normal", "exponential", "two heaps"])
def test_the_envelope_holds_whatever_stragglers_do(share: float, law: str) -> None:
    """Sorted, a delay is moved up by as many places as there are stragglers at most: mean and sd follow."""
    rng = np.random.default_rng(3)
    n = 20_000
    made = {
        "normal": rng.normal(0.03, 0.004, n),
        "exponential": rng.exponential(0.01, n),
        "two heaps": rng.choice([0.01, 0.04], n) + rng.normal(0.0, 0.001, n),
    }[law]
    kept = n - int(share * n)
    most = Straggling.of(np.sort(made), share)
    prompt = np.sort(made)[:kept]
    first = np.arange(n - kept)
    for which in (first, n // 2 + first, rng.choice(n, n - kept, replace=False)):
        for to_s in (prompt[-1], 0.02, 1.0):
            late = np.sort(made)
            late[which] = np.maximum(late[which], to_s)
            found = np.sort(late)[:kept]
            assert -1e-5 <= found.mean() - prompt.mean() <= most.mean_up_s * 1.01 + 1e-5
            assert -most.sd_down_s * 1.01 - 1e-5 <= found.std() - prompt.std() <= most.sd_up_s * 1.01 + 1e-5
    assert Straggling.of(np.sort(made), 0.0) == Straggling(0.0, 0.0, 0.0, 0.0)


def test_a_spread_of_lateness_below_the_allowance_moves_the_sd_by_half_of_it_at_most() -> None:
    """A wire whose packets are late by 0 or all of the allowance in turn: the widest spread there is."""
    allowed = Allowance(later_s=1e-3)
    expected = expected_of(WIRE, 400, allowed)
    flow = flows_of(WIRE, expected.sent_s, 1, "sd")[0]
    found = judge_flow(expected, held_up(flow, np.arange(0, 400, 2), 1e-3))
    sd = next(one for one in found.statistics if one.name == "sd")
    assert sd.holds and sd.high == pytest.approx(0.5e-3, abs=2e-6) and sd.delivered == pytest.approx(0.5e-3)


def test_lateness_that_follows_the_delay_moves_lag_1_within_its_bounds() -> None:
    """Long delays late by the whole allowance and others not, or the next packet's: the worst it can do."""
    asked = LinkProfile(delay_s=0.03, jitter_s=0.004, ordered=False)
    allowed = Allowance(later_s=2e-3)
    expected = expected_of(asked, 2000, allowed)
    for flow in flows_of(asked, expected.sent_s, 10, "lag"):
        beyond = np.roll(flow.delay_s, 1) > np.median(flow.delay_s)
        for late in (flow.delay_s > np.median(flow.delay_s), beyond, ~beyond):
            found = judge_flow(expected, held_up(flow, np.flatnonzero(late), 2e-3))
            assert "lag-1" not in found.failed


def test_throughput_may_not_be_more_than_was_asked_however_late() -> None:
    """500 kbit/s asked and 520 kbit/s delivered, offered 1 Mbit/s: an allowance for lateness is none for speed."""
    asked = LinkProfile(delay_s=0.01, rate_bps=500e3, limit_packets=40)
    sent_s = np.arange(1500) / 500.0
    expected = expect(Asked.of(asked), sent_s, FRAME_BYTES, allowed=Allowance(later_s=0.2, stragglers=0.02))
    flow = next(simulate(Asked.of(asked.replace(rate_bps=520e3)), sent_s, FRAME_BYTES, [3]))
    assert "throughput" in judge_flow(expected, flow).failed
    flow = next(simulate(Asked.of(asked), sent_s, FRAME_BYTES, [3]))
    assert judge_flow(expected, flow).holds
    last = np.flatnonzero(flow.arrived)[-10:]
    assert "throughput" not in judge_flow(expected, held_up(flow, last, 5.0)).failed


def test_packets_right_after_a_change_are_not_compared() -> None:
    """A schedule put in force 0.8 ms late: the packet sent 0.5 ms after each change meets the step before."""
    near, far = (LinkProfile(delay_s=delay_s, ordered=False) for delay_s in (0.01, 0.04))
    steps = (Step(0.0, near), Step(0.5, far))
    asked = Asked.of(Schedule(steps, 1.0, loop=True), 0.0)
    sent_s = np.arange(1000) / 100.0 + 0.0005
    expected = expect(asked, sent_s, FRAME_BYTES, allowed=Allowance(later_s=1e-3))
    assert expected.kept.sum() == 1000 - 19
    late = next(simulate(asked._replace(begin_s=0.0008), sent_s, FRAME_BYTES, [3]))
    found = judge_flow(expected, late)
    assert found.failed == []
    assert (found.packets, found.left_out) == (981, 19)
    assert not judge_flow(expect(asked, sent_s, FRAME_BYTES), late).holds


def test_distances_of_a_flow_without_its_stragglers_are_those_of_the_rest() -> None:
    """The reference leaves out the same share."""
    rng = np.random.default_rng(5)
    delay_s = rng.normal(0.03, 0.004, 1000)
    flow = Flow(np.arange(1000) / 10.0, delay_s, np.ones(1000, dtype=np.int8), FRAME_BYTES)
    builder = ReferenceBuilder(2, 0.02)
    for _ in range(2):
        builder.add(flow)
    reference = builder.build()
    assert reference.wasserstein_1(flow) < 1e-4
    late = held_up(flow, np.argsort(delay_s)[-20:], 10.0)
    assert reference.wasserstein_1(late) == reference.wasserstein_1(flow)
    assert math.isclose(flow.prompt(0.02).delays_s.size, 980)
    assert flow.prompt(0.0) is flow and EXACT.stragglers == 0.0
