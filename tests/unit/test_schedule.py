"""Schedules: order of steps, looping, seeds a step, and loss chains that need time."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from link_strategies import refused, schedules

from netlab.traces.loss import FourState, GilbertElliott
from netlab.traces.pair import ProfilePair
from netlab.traces.profile import LinkProfile
from netlab.traces.schedule import Schedule, Step
from netlab.traces.seed import link_seed

CLEAN, SLOW, OUT = LinkProfile(), LinkProfile(delay_s=0.1), LinkProfile(loss=1.0)
THREE = Schedule((Step(0.0, CLEAN), Step(2.0, SLOW), Step(7.0, OUT)), 8.0, loop=True)


def test_means_are_weighted_by_time():
    assert THREE.delay_mean_s == pytest.approx(0.1 * 5 / 8)
    assert THREE.loss_ratio_mean == pytest.approx(1 / 8)
    # A delay that is 0.1 s for 5/8 of the time and else 0.
    assert THREE.delay_sd_s == pytest.approx(0.1 * (5 / 8 * 3 / 8) ** 0.5)


def test_the_deviation_has_the_steps_own():
    profile = LinkProfile(delay_s=0.1, jitter_s=0.01)
    assert Schedule((Step(0.0, profile),), 1.0).delay_sd_s == pytest.approx(0.01, rel=1e-6)


def test_each_step_has_its_own_seed():
    states = THREE.to_qdisc_states(lambda step: link_seed(1, "a", "forward", step))
    assert [state.seed for state in states] == [link_seed(1, "a", "forward", step) for step in range(3)]
    assert THREE.to_qdisc_states(lambda step: None)[0].seed is None


def test_a_uniform_law_is_sent_as_a_table():
    uniform = LinkProfile(delay_s=0.02, jitter_s=0.01, law="uniform")
    normal = LinkProfile(delay_s=0.1, jitter_s=0.01)
    states = Schedule((Step(0.0, normal), Step(1.0, uniform)), 2.0).to_qdisc_states(lambda step: step)
    assert all(state.delay_table for state in states)
    assert states[0].delay_table != states[1].delay_table


@settings(deadline=None)
@given(schedules())
def test_segments_cover_one_pass(schedule):
    segments = schedule.segments()
    assert sum(segment.length_s for segment in segments) == pytest.approx(schedule.duration_s)
    assert [segment.profile for segment in segments] == [step.profile for step in schedule.steps]
    assert len(schedule.to_qdisc_states(lambda step: step)) == len(schedule.steps)


@pytest.mark.parametrize(
    ("steps", "duration_s", "words"),
    [
        ((), 1.0, "a schedule of 0 steps"),
        (((0.0, CLEAN), (0.0, SLOW)), 1.0, "step 2: starts at 0.0 s: must be later than the step before, 0.0 s"),
        (((0.0, CLEAN), (2.0, SLOW), (1.0, OUT)), 9.0, "step 3: starts at 1.0 s"),
        (((0.5, CLEAN),), 1.0, "the first step must start at 0 s"),
        (((-1.0, CLEAN),), 1.0, "step 1: start_s = -1.0"),
        (((0.0, CLEAN), (float("nan"), SLOW)), 1.0, "step 2: start_s = nan"),
        (((0.0, CLEAN), (2.0, SLOW)), 2.0, "duration_s = 2.0: must be longer than the last start"),
        (((0.0, CLEAN),), 0.0, "duration_s = 0.0"),
        (((0.0, CLEAN),), float("inf"), "duration_s = inf"),
        (((0.0, "wifi"),), 1.0, "profile = 'wifi'"),
        (((0.0, CLEAN),), 1e-300, "last start, 0.0 s, by at least 1e-06 s"),
        (((0.0, CLEAN), (1e-7, SLOW)), 1.0, "step before, 0.0 s, by at least 1e-06 s"),
        (((0.0, CLEAN), (2.0, SLOW)), 2.0 + 5e-7, "last start, 2.0 s, by at least 1e-06 s"),
    ],
)
def test_steps_that_do_not_follow_one_another_are_refused(steps, duration_s, words):
    assert words in str(refused(Schedule, tuple(Step(*step) for step in steps), duration_s))


def test_the_shortest_step_is_allowed_at_any_time_of_a_month():
    for at_s in (1e-6, 0.1, 12345.678, 2_591_999.0):
        Schedule((Step(0.0, CLEAN), Step(at_s, SLOW), Step(at_s + 1e-6, OUT)), at_s + 2e-6)


def test_other_fields_are_checked():
    assert "loop = 1" in str(refused(Schedule, THREE.steps, 8.0, 1))
    assert "packet_rate_hz = 0.0" in str(refused(Schedule, THREE.steps, 8.0, True, 0.0))


BURSTY = LinkProfile(loss=GilbertElliott.from_mean(0.1, 5.0))  # 20 mean bursts are 100 packets


def test_a_chain_needs_a_packet_rate():
    error = refused(Schedule, (Step(0.0, CLEAN), Step(1.0, BURSTY)), 100.0)
    assert "step 2: a loss chain in a schedule without packet_rate_hz" in str(error)
    assert "packet_rate_hz = 50" in error.hint


def test_a_chain_in_a_step_shorter_than_twenty_bursts_is_refused():
    # At 50 packets a second, 100 packets take 2 s.
    error = refused(Schedule, (Step(0.0, CLEAN), Step(1.0, BURSTY)), 2.99, False, 50.0)
    assert "step 2: a loss chain in a step of 1.99 s, 99.5 packets at 50 Hz: must last 20 mean bursts of 5" in str(
        error
    )
    assert "timed outages" in error.hint
    Schedule((Step(0.0, CLEAN), Step(1.0, BURSTY)), 3.01, False, 50.0)


def test_the_rule_holds_for_four_states_and_for_a_loop_of_one_step():
    four = LinkProfile(loss=FourState(p13=0.01, p31=0.25, p32=0.25, p23=0.25))  # bursts of (1 + 1) / 0.25 = 8
    assert "mean bursts of 8 packets" in str(refused(Schedule, (Step(0.0, four),), 1.0, True, 50.0))
    Schedule((Step(0.0, four),), 1.0)  # never restarted: no rule
    Schedule((Step(0.0, four),), 3.21, True, 50.0)


@settings(deadline=None)
@given(st.floats(1.0, 100.0), st.floats(1.0, 1000.0))
def test_the_border_is_twenty_mean_bursts(burst, rate_hz):
    profile = LinkProfile(loss=GilbertElliott.from_mean(0.01, burst))
    needed_s = 20 * burst / rate_hz
    Schedule((Step(0.0, profile),), needed_s * 1.001, True, rate_hz)
    refused(Schedule, (Step(0.0, profile),), needed_s * 0.999, True, rate_hz)


def test_too_many_tables_are_refused_before_they_are_made():
    steps = tuple(
        Step(float(index), LinkProfile(delay_s=0.01, jitter_s=0.005 + index * 1e-6, ordered=False))
        for index in range(2001)
    )
    assert "2001 steps have a law that is clipped" in str(refused(Schedule, steps, 3000.0))


def test_a_long_schedule_of_one_law_holds_one_table():
    steps = tuple(
        Step(float(index), LinkProfile(delay_s=0.1 + index * 1e-5, jitter_s=0.01)) for index in range(300)
    )
    states = Schedule(steps, 300.0).to_qdisc_states(lambda step: step)
    assert len({id(state.delay_table) for state in states}) == 1


def test_warnings_name_the_first_step_that_has_them():
    bursty = BURSTY.warnings()[0]
    schedule = Schedule(
        (Step(0.0, CLEAN), Step(10.0, BURSTY), Step(20.0, CLEAN), Step(30.0, BURSTY)), 40.0, False, 50.0
    )
    assert schedule.warnings() == [f"step 2: {bursty}"]


def test_warnings_of_one_kind_are_one_line_with_the_worst_of_them():
    jitters_s = (0.02, 0.04, 0.03)
    wide = [LinkProfile(delay_s=0.2, jitter_s=jitter_s) for jitter_s in jitters_s]
    marked = LinkProfile(ecn=True)
    schedule = Schedule(tuple(Step(float(at), one) for at, one in enumerate([CLEAN, *wide, *wide, marked])), 9.0)
    (worst,) = wide[1].warnings()
    assert schedule.warnings() == [
        f"in 3 of 5 different steps, worst step 3: {worst}",
        f"step 8: {marked.warnings()[0]}",
    ]


def test_a_direction_with_the_same_warning_in_many_steps_is_one_line_of_a_pair():
    there, back = (
        Schedule(
            tuple(Step(float(at), LinkProfile(delay_s=0.2, jitter_s=widest_s - 1e-4 * at)) for at in range(60)),
            60.0,
        )
        for widest_s in (0.04, 0.041)
    )
    warnings = ProfilePair("many", there, back).warnings()
    assert [text.split(":")[0] for text in warnings] == ["forward", "back"]
    # Of 60 only the 50 that vary most are looked at, and this is said.
    assert all("in at least 50 of 60 different steps, worst step 1: packets keep" in text for text in warnings)
