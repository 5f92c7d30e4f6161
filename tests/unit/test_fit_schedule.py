"""A schedule of a trace: levels, outages and rates when they were, and what the link then delivers."""

from __future__ import annotations

import time

import numpy as np
import pytest

from netlab.errors import ProfileError, TraceError
from netlab.traces.delivery import sent_delays_s
from netlab.traces.distance import wasserstein_1
from netlab.traces.fit import schedule_fit
from netlab.traces.fit.delivered_rate import carried_bits, fit_rate
from netlab.traces.fit.schedule_fit import fit_schedule
from netlab.traces.fit.schedule_steps import Direction, Window, joint_steps, to_schedule
from netlab.traces.fit.scheduled_delivery import scheduled_delays_s
from netlab.traces.fit.sources import RateSource
from netlab.traces.fit.split import Split
from netlab.traces.fit.step_levels import Grid
from netlab.traces.toml_profile import format_profile, parse_profile
from netlab.traces.trace import ClockVerdict, Trace, TracedPath


def trace(
    delay_s=None,
    *,
    interval_s=0.01,
    lost=None,
    rate_bps=None,
    path=TracedPath.FORWARD,
    clocks=ClockVerdict.ONE_CLOCK,
    **rest,
) -> Trace:
    known = next(column for column in (delay_s, lost, rate_bps) if column is not None)
    return Trace.of(
        np.arange(len(known)) * interval_s,
        path=path,
        clocks=clocks,
        delay_s=None if delay_s is None else np.array(delay_s, dtype=float),
        lost=None if lost is None else np.array(lost, dtype=np.int8),
        rate_bps=None if rate_bps is None else np.array(rate_bps, dtype=float),
        source=rest.pop("source", "walk.csv, csv"),
        **rest,
    )


def with_losses(n: int, runs: list[tuple[int, int]]) -> np.ndarray:
    lost = np.zeros(n, dtype=np.int8)
    for first, after in runs:
        lost[first:after] = 1
    return lost


def outages(schedule) -> list[tuple[float, float]]:
    """Return when every packet is lost, stretches that touch joined."""
    found: list[tuple[float, float]] = []
    begin_s = 0.0
    for segment in schedule.segments():
        end_s = begin_s + segment.length_s
        if segment.profile.loss == 1.0:
            if found and found[-1][1] == pytest.approx(begin_s):
                begin_s = found.pop()[0]
            found.append((begin_s, end_s))
        begin_s = end_s
    return found


def lag_1(values: np.ndarray) -> float:
    centred = values - values.mean()
    return float((centred[1:] * centred[:-1]).sum() / (centred**2).sum())


def walk(n: int, seed: int) -> np.ndarray:
    """Return delays that remember one another: 50 ms and an AR(1) of 0.9, deviation 5 ms."""
    rng = np.random.default_rng(seed)
    around = np.zeros(n)
    for index in range(1, n):
        around[index] = 0.9 * around[index - 1] + rng.normal(0.0, 0.005 * (1 - 0.81) ** 0.5)
    return 0.050 + around


def test_each_step_has_the_mean_and_the_deviation_of_its_packets():
    pair = fit_schedule([trace([0.02, 0.04, 0.10, 0.10, 0.03, 0.03])], 0.02).pair
    steps = pair.forward.steps
    assert [step.start_s for step in steps] == [0.0, 0.02, 0.04]
    assert [step.profile.delay_s for step in steps] == [0.03, 0.1, 0.03]
    # 30 +- 10 ms is too near to zero for a normal law: uniform, half-width sqrt 3 of the deviation.
    assert [step.profile.law for step in steps] == ["uniform", "normal", "normal"]
    assert steps[0].profile.jitter_s == pytest.approx(0.0173205, abs=1e-7)
    assert [step.profile.jitter_s for step in steps[1:]] == [0.0, 0.0]
    assert pair.forward.duration_s == 0.06 and not pair.forward.loop
    assert pair.name == "walk" and pair.reading == "oneway"
    assert parse_profile(format_profile(pair)) == pair


def test_a_step_of_one_packet_has_no_spread_and_equal_neighbours_are_one_step():
    pair = fit_schedule([trace([0.02, 0.02, 0.02, 0.05, 0.05])], 0.01, loop=True, name="short").pair
    assert [(step.start_s, step.profile.delay_s) for step in pair.forward.steps] == [(0.0, 0.02), (0.03, 0.05)]
    assert pair.forward.loop and pair.name == "short"


def test_a_step_without_packets_holds_the_last_delay():
    pair = fit_schedule([trace([np.nan, 0.02, np.nan, 0.05])], 0.01).pair
    assert [(step.start_s, step.profile.delay_s) for step in pair.forward.steps] == [(0.0, 0.02), (0.03, 0.05)]


def test_the_direction_that_was_not_measured_is_left_perfect_and_this_is_said():
    pair = fit_schedule([trace([0.02, 0.03])], 0.01).pair
    assert [segment.profile.delay_s for segment in pair.back.segments()] == [0.0]
    assert any("no delay of the direction back" in text for text in pair.provenance.assumptions)


def test_outages_are_windows_when_they_were_and_lone_losses_a_ratio():
    # 10 ms apart: 35 lost from 0.23 s on, off the grid of 0.1 s; 2 of 10 lost within the step at 0.8 s.
    lost = with_losses(100, [(23, 58), (82, 83), (85, 86)])
    pair = fit_schedule([trace(np.where(lost, np.nan, 0.02), lost=lost)], 0.1).pair
    assert outages(pair.forward) == [(pytest.approx(0.23), pytest.approx(0.58))]
    ratios = [step.profile.loss for step in pair.forward.steps if step.profile.loss < 1.0]
    assert ratios == [0.0, 0.0, 0.2, 0.0]
    assert pair.forward.loss_ratio_mean == pytest.approx(lost.mean())
    assert outages(pair.back) == []


def test_how_long_an_outage_is_can_be_said():
    lost = with_losses(100, [(23, 58)])
    pair = fit_schedule([trace(lost=lost)], 0.1, outage_s=0.5).pair
    assert [step.profile.loss for step in pair.forward.steps] == [0.0, 0.7, 1.0, 0.8, 0.0]


def test_an_edge_beside_the_grid_falls_on_it():
    lost = with_losses(1000, [(300, 500)])
    pair = fit_schedule([trace(lost=lost, interval_s=0.0010005)], 0.1).pair
    assert outages(pair.forward) == [(pytest.approx(0.3), pytest.approx(0.5))]


def sent_round_trips(pair, sent_s: np.ndarray) -> np.ndarray:
    """Tell of each packet whether it comes back, by the outages of both ways alone."""

    def out(schedule, at_s):
        return np.any([(at_s >= begin) & (at_s < end) for begin, end in outages(schedule)] or [at_s < 0], axis=0)

    delay_s = pair.forward.steps[0].profile.delay_s
    return ~(out(pair.forward, sent_s) | out(pair.back, sent_s + delay_s))


@pytest.mark.parametrize("packets", [3, 9, 30])
def test_a_round_trips_outage_loses_as_many_round_trips(packets):
    lost = with_losses(200, [(77, 77 + packets)])
    measured = trace(np.where(lost, np.nan, 0.06), lost=lost, path=TracedPath.ROUND_TRIP)
    pair = fit_schedule([measured], 0.02).pair
    sent_s = measured.t_s + 1e-6
    assert np.array_equal(sent_round_trips(pair, sent_s), lost == 0)
    # The packet sent at 0.77 s met the outage on its way back, 30 ms later; too short a one is forward's alone.
    begin_s = 0.77 if packets == 3 else 0.77 + 0.03
    assert outages(pair.forward)[0][0] == pytest.approx(begin_s)
    assert [begin for begin, _ in outages(pair.back)] == ([] if packets == 3 else [pytest.approx(begin_s)])
    assert pair.reading == "rtt" and pair.forward.steps[0].profile.delay_s == 0.03


def test_a_declared_split_moves_delays_and_losses():
    lost = with_losses(200, [(100, 150)])
    measured = trace(np.where(lost, np.nan, 0.06), lost=lost, path=TracedPath.ROUND_TRIP)
    pair = fit_schedule([measured], 0.02, split=Split.parse("70:30")).pair
    assert (pair.forward.steps[0].profile.delay_s, pair.back.steps[0].profile.delay_s) == (0.042, 0.018)
    whole = fit_schedule([measured], 0.02, split=Split.parse("0:1")).pair
    assert outages(whole.forward) == [] and outages(whole.back) == [(1.0, 1.5)]
    assert any("70:30 (forward:back), as declared" in text for text in pair.provenance.assumptions)


@pytest.mark.parametrize(("split", "shares"), [("50:50", (0.5, 0.5)), ("70:30", (0.7, 0.3))])
def test_a_round_trips_spread_is_divided_as_its_variance_is(split, shares):
    measured = trace(np.tile([0.090, 0.110], 200), path=TracedPath.ROUND_TRIP)  # 100 +- 10 ms, 20 packets a step
    pair = fit_schedule([measured], 0.2, split=Split.parse(split)).pair
    for schedule, share in zip((pair.forward, pair.back), shares, strict=True):
        (profile,) = {step.profile for step in schedule.steps}
        assert profile.delay_s == pytest.approx(share * 0.100)
        # Spreads are kept to three digits; the variances of both ways add up to the round trip's.
        assert profile.jitter_s == pytest.approx(share**0.5 * 0.010, rel=1e-3)


def test_losses_in_a_ratio_are_split_so_that_both_ways_lose_them():
    lost = np.tile([1, 0, 0, 0], 50)
    pair = fit_schedule([trace(lost=lost, path=TracedPath.ROUND_TRIP)], 0.1).pair
    assert pair.forward == pair.back
    # Steps of 10 packets have 2 or 3 of them lost; over both ways as many.
    assert 1.0 - (1.0 - pair.forward.loss_ratio_mean) ** 2 == pytest.approx(0.25, abs=0.002)


def test_both_directions_measured_stay_their_own():
    there, back = trace([0.02] * 10), trace([0.05] * 5 + [0.03] * 5, path=TracedPath.BACK)
    pair = fit_schedule([back, there], 0.01).pair
    assert [segment.profile.delay_s for segment in pair.forward.segments()] == [0.02]
    assert [segment.profile.delay_s for segment in pair.back.segments()] == [0.05, 0.03]
    assert [origin.path for origin in pair.provenance.origins] == ["back", "forward"]


def test_rates_are_means_of_their_steps_and_never_stop():
    rates = trace(rate_bps=[1e6, 3e6, 0.0, 0.0, 2e6, 2e6], interval_s=0.05, bin_s=0.05)
    pair = fit_schedule([rates], 0.1).pair
    assert [step.profile.rate_bps for step in pair.forward.steps] == [2e6, 120e3, 2e6]
    assert [step.profile.rate_bps for step in pair.back.steps] == [None]
    assert any("in 1 step with less than a full packet" in text for text in pair.provenance.assumptions)
    assert pair.provenance.predicted_ks is None


def test_a_schedule_remembers_as_the_trace_does_and_says_how_near_it_comes():
    measured = trace(walk(6000, seed=5), interval_s=0.1)
    pair = fit_schedule([measured], 0.1).pair
    delivered_s = sent_delays_s(pair.forward, 10.0, n=6000)
    # n = 6,000, a lag-1 of 0.9: its standard error is sqrt((1 - 0.81) / n) = 0.006, and both see one walk.
    assert lag_1(delivered_s) == pytest.approx(lag_1(measured.delay_s), abs=0.01)
    assert pair.provenance.predicted_w1_s == pytest.approx(wasserstein_1(delivered_s, measured.delay_s), abs=2e-6)
    assert pair.provenance.predicted_w1_s < 20e-6 and pair.provenance.predicted_ks < 0.01


def test_what_is_predicted_is_what_the_link_is_simulated_to_deliver():
    rng = np.random.default_rng(2)
    steps, n = 200, 40_000
    direction = Direction(
        np.round(rng.uniform(0.02, 0.05, steps), 6),
        np.round(rng.uniform(0.0, 0.008, steps), 6),
        np.round(rng.uniform(0.0, 0.2, steps), 6),
        np.round(rng.uniform(5e6, 9e6, steps), -1),
        Window(np.array([3.0]), np.array([4.5])),
    )
    joint = joint_steps(direction, direction, Grid(0.1, steps), 20.0)
    got_s = scheduled_delays_s(joint, 0, np.arange(n) / 2000.0, np.random.default_rng(1))
    # The other simulation, packet by step, through the tables that the kernel is sent.
    expected_s = sent_delays_s(to_schedule(joint, 0, 20.0, False, None), 2000.0, n=n)
    assert np.isnan(got_s).mean() == pytest.approx(np.isnan(expected_s).mean(), abs=0.01)
    got_s, expected_s = got_s[~np.isnan(got_s)], expected_s[~np.isnan(expected_s)]
    # n = 33,000 each, deviation 9 ms: 0.05 ms of standard error each, neighbours waiting for one another.
    assert wasserstein_1(got_s, expected_s) < 0.4e-3
    assert got_s.mean() == pytest.approx(expected_s.mean(), abs=0.3e-3)


def test_an_hour_at_a_tenth_of_a_second_takes_seconds_at_most():
    rng = np.random.default_rng(1)
    measured = trace(rng.lognormal(-3.0, 0.2, 180_000), interval_s=0.02)
    began = time.process_time()
    pair = fit_schedule([measured], 0.1).pair
    assert len(pair.forward.steps) == 36_000
    assert time.process_time() - began < 10.0  # about 2 s on an idle machine


def test_more_steps_than_a_schedule_has_are_refused(monkeypatch):
    monkeypatch.setattr(schedule_fit, "MAX_STEPS", 50)
    with pytest.raises(ProfileError, match=r"60 steps over 0\.6 s: a schedule has at most 50") as caught:
        fit_schedule([trace(np.linspace(0.02, 0.05, 60))], 0.01)
    assert "longer steps than 10 ms" in caught.value.hint


@pytest.mark.parametrize(
    ("traces", "words"),
    [
        ([], "there is no trace"),
        ([trace([0.1]), trace([0.1])], "is of the path forward, and so is walk.csv"),
        ([trace([np.nan])], "neither a delay, nor a loss, nor a rate"),
        ([trace([0.1], clocks=ClockVerdict.VARIATION_ONLY)], "clocks are out of step"),
        ([trace([0.1, 0.1], interval_s=1e8)], "lasts 2.31e+03 days: a schedule lasts at most 30"),
    ],
)
def test_what_traces_do_not_say_is_refused(traces, words):
    with pytest.raises(TraceError, match=words.replace("+", r"\+")):
        fit_schedule(traces, 0.1)


def test_a_grid_that_would_not_fit_into_memory_is_refused():
    with pytest.raises(ProfileError, match="more than 2000000 steps are not looked at"):
        fit_schedule([trace([0.02, 0.03], interval_s=1e6)], 1e-3)


def test_spreads_beyond_netems_tables_are_cut():
    pair = fit_schedule([trace([5.0, 50.0])], 0.02).pair
    assert (pair.forward.steps[0].profile.delay_s, pair.forward.steps[0].profile.jitter_s) == (27.5, 2.0)


def test_a_round_trip_is_predicted_as_two_flows_that_are_sent_at_the_same_times():
    """As a fit predicts it, and as ``netlab verify`` sends them; an echo would wait longer here."""
    round_trip_s = 0.1 + np.random.default_rng(3).uniform(-0.05, 0.05, 20_000)
    found = fit_schedule([trace(round_trip_s, path=TracedPath.ROUND_TRIP, interval_s=0.01)], 200.0)
    rate_hz, n = 100.0, 20_000
    there_s, back_s = (
        sent_delays_s(way, rate_hz, seed, n) for seed, way in enumerate((found.pair.forward, found.pair.back))
    )
    # n = 20,000, neighbours alike over a tenth of a second: a standard error of 0.1 ms, bounded at 5.
    both_s = float((there_s + back_s).mean())
    assert found.agreements[0].predicted_mean_s == pytest.approx(both_s, abs=0.5e-3)
    echo_s = (
        np.maximum.accumulate(
            np.arange(n) / rate_hz
            + there_s
            + found.pair.back.steps[0].profile.delay_law.drawn_ns(np.random.default_rng(5), n) / 1e9
        )
        - np.arange(n) / rate_hz
    )
    assert echo_s.mean() > both_s + 2e-3


def test_warnings_of_very_many_steps_are_looked_for_in_the_widest():
    rng = np.random.default_rng(1)
    pair = fit_schedule([trace(0.2 + rng.normal(0.0, 0.03, 20_000), interval_s=0.1)], 0.2).pair
    assert len(pair.forward.steps) == 10_000
    began = time.process_time()
    warnings = pair.forward.warnings()
    assert time.process_time() - began < 10.0  # 50 simulations; of all 10,000 steps they took minutes
    assert len(warnings) == 1
    assert warnings[0].startswith("in at least 50 of 10000 different steps, worst step ")
    few = fit_schedule([trace(0.2 + rng.normal(0.0, 0.03, 50), interval_s=0.1)], 0.2).pair.forward
    assert not any("at least" in text for text in few.warnings())


def test_numbers_are_bounded():
    for step_s in (0.0, 1e-4, 1e5, float("nan")):
        with pytest.raises(ProfileError, match="step_s"):
            fit_schedule([trace([0.1])], step_s)


def test_delays_above_the_shortest_one_stand_on_a_declared_or_a_round_trips():
    variation = trace([0.0, 0.004], clocks=ClockVerdict.VARIATION_ONLY)
    pair = fit_schedule([variation], 0.01, base_delay_s=0.02).pair
    assert [step.profile.delay_s for step in pair.forward.steps] == [0.02, 0.024]
    back = trace([0.001, 0.0], clocks=ClockVerdict.VARIATION_ONLY, path=TracedPath.BACK)
    whole = trace([0.05, 0.06], path=TracedPath.ROUND_TRIP)
    pair = fit_schedule([variation, back, whole], 0.01).pair
    assert [step.profile.delay_s for step in pair.forward.steps] == [0.025, 0.029]
    assert [step.profile.delay_s for step in pair.back.steps] == [0.026, 0.025]
    with pytest.raises(TraceError, match="absolute already"):
        fit_schedule([trace([0.1])], 0.1, base_delay_s=0.02)


def test_where_nothing_gets_through_for_longer_than_a_step_all_is_lost():
    rates = trace(rate_bps=[1e6, 1e6, 0.0, 0.0, 0.0, 2e6, 0.0, 2e6], interval_s=0.1, bin_s=0.1)
    pair = fit_schedule([rates], 0.1).pair
    assert outages(pair.forward) == [(pytest.approx(0.2), pytest.approx(0.5))]
    # One step of it is a queue that waits, not one that is thrown away.
    assert [(step.start_s, step.profile.rate_bps) for step in pair.forward.steps if step.start_s > 0.45] == [
        (0.5, 2e6), (0.6, 120e3), (0.7, 2e6),
    ]  # fmt: skip
    words = pair.provenance.assumptions
    assert "forward: in 1 step with less than a full packet a step that rate is given" in words
    assert "forward: in 3 steps, two or more in a row, nothing got through: all is lost then" in words


def test_a_rate_of_both_directions_is_said_once():
    rates = trace(rate_bps=[1e6, 0.0, 1e6], interval_s=0.1, bin_s=0.1, path=TracedPath.ROUND_TRIP)
    words = fit_schedule([rates], 0.1).pair.provenance.assumptions
    assert sum("full packet a step" in text for text in words) == 1
    assert "both ways: in 1 step with less than a full packet a step that rate is given" in words


def test_a_schedule_ends_on_a_step_that_delivers_where_the_trace_does():
    lost = with_losses(100, [(80, 99)])
    measured = trace(np.where(lost, np.nan, 0.05), lost=lost, path=TracedPath.ROUND_TRIP)
    pair = fit_schedule([measured], 0.1).pair
    assert pair.forward.steps[-1].profile.loss == pair.back.steps[-1].profile.loss == 0.0
    assert not any("for ever" in text for text in pair.warnings())


def test_an_outage_before_the_very_last_packet_ends_with_it():
    """Packets sent three at a time: the usual time from row to row, and so how long the last one holds, is 0."""
    lost = np.repeat(np.array([0, 1, 1, 0], dtype=np.int8), 3)
    measured = Trace.of(
        np.repeat(np.arange(4.0), 3), path=TracedPath.FORWARD, clocks=ClockVerdict.ONE_CLOCK, lost=lost
    )
    pair = fit_schedule([measured], 0.5).pair
    assert pair.forward.steps[-1].start_s == 3.0 and pair.forward.steps[-1].profile.loss == 0.0
    assert pair.forward.duration_s > 3.0 and not any("for ever" in text for text in pair.warnings())


def test_rates_whose_bins_overlap_are_counted_once():
    """A second's rate that the next one follows after half of it holds until then."""
    rates = trace(rate_bps=[1e6, 3e6], interval_s=0.5, bin_s=1.0)
    moments_s, carried = carried_bits(rates)
    assert moments_s.tolist() == [0.0, 0.5, 0.5, 1.5]
    assert carried[:, -1].tolist() == [0.5 * 1e6 + 1.0 * 3e6, 1.5]
    fit = fit_rate(RateSource(rates))
    assert (fit.rate_bps, fit.known_s) == (pytest.approx(3.5e6 / 1.5, rel=1e-3), 1.5)


def test_an_outage_across_steps_of_other_levels_is_one_step():
    levels = np.array([0.010, 0.020, 0.030, 0.040])
    nothing = np.zeros(4)
    windows = Window(np.array([0.05]), np.array([0.25]))
    out = Direction(levels, nothing, nothing, np.full(4, np.nan), windows)
    still = Direction(nothing, nothing, nothing, np.full(4, np.nan), Window.none())
    steps = joint_steps(out, still, Grid(0.1, 4), 0.4)
    assert steps.starts_s.tolist() == [0.0, 0.05, 0.25, 0.3]
    assert steps.states[0, :, 0].tolist() == [0.010, 0.010, 0.030, 0.040]
    assert steps.states[0, :, 2].tolist() == [0.0, 1.0, 0.0, 0.0]
