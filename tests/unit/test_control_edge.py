from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netlab.control import Edge, Hold, Local, Neutral, Newest, Scheduled, Source
from netlab.errors import LocalProtocolError, SpecError
from netlab.messages import Action, Space, TaskDescription

RUN = 11
DISCRETE = TaskDescription(
    name="switch",
    rate_hz=50.0,
    observation=Space(kind="box", dtype="float32", shape=(1,)),
    action=Space(kind="discrete", dtype="int64", n=3),
)
BOUNDED = TaskDescription(
    name="arm",
    rate_hz=50.0,
    observation=Space(kind="box", dtype="float32", shape=(1,)),
    action=Space(kind="box", dtype="float32", shape=(2,), low=(-1.0, -2.0), high=(1.0, 2.0)),
)
PAYLOAD = np.zeros(1, "<f4").tobytes()


def ints(*values):
    return np.array(values, "<i8").tobytes()


def frame(obs_tick, first, *values, episode=0, run=RUN):
    return Action(run, episode, obs_tick, first, len(values), ints(*values))


def begin(actuator=None, fallback=None, task=DISCRETE, tick=0):
    edge = Edge(task, actuator or Scheduled(4), fallback or Neutral(), RUN)
    edge.begin_episode(tick)
    edge.observe(tick, PAYLOAD)
    return edge


def advance(edge, tick):
    """Play the tick that was observed and observe the next."""
    play = edge.play(tick - 1)
    edge.observe(tick, PAYLOAD)
    return play


def test_of_two_decisions_for_one_tick_the_one_on_the_newer_observation_is_played_whichever_comes_first():
    for order in ((0, 1), (1, 0)):
        edge = begin()
        advance(edge, 1)
        frames = [frame(0, 2, 0), frame(1, 2, 1)]
        for index in order:
            assert edge.receive(frames[index])
        advance(edge, 2)
        assert edge.play(2).action == 1
        assert edge.counters.dropped_stale == (1 if order == (1, 0) else 0)


def test_a_frame_of_the_past_is_late_and_one_that_reaches_into_the_future_is_not():
    edge = begin()
    for tick in range(1, 5):
        advance(edge, tick)
    assert edge.receive(frame(0, 1, 1, 1, 1))  # ticks 1 .. 3
    assert edge.receive(frame(1, 2, 1, 1, 2))  # ticks 2 .. 4
    assert edge.counters.dropped_late == 1
    assert edge.counters.frames_accepted == 1
    assert edge.play(4).action == 2


def test_an_answer_counts_once():
    edge = begin()
    assert edge.receive(frame(0, 1, 1))
    assert not edge.receive(frame(0, 1, 2))
    assert edge.counters.dropped_duplicate == 1
    advance(edge, 1)
    assert edge.play(1).action == 1


def test_other_runs_and_old_episodes_are_dropped_and_counted():
    edge = begin()
    edge.play(0)
    edge.begin_episode(1)
    edge.observe(1, PAYLOAD)
    assert not edge.receive(frame(0, 1, 1, episode=0))
    assert not edge.receive(frame(1, 2, 1, episode=1, run=RUN + 1))
    assert not edge.receive(frame(1, 2, 1, episode=2))
    counters = edge.counters
    assert (counters.dropped_old_episode, counters.dropped_old_run, counters.dropped_invalid) == (1, 1, 1)
    assert edge.play(1).source is Source.NEUTRAL


def test_what_was_pending_is_forgotten_when_an_episode_begins():
    for actuator in (Scheduled(4), Newest()):
        edge = begin(actuator)
        edge.receive(frame(0, 1, 1, 1, 1))
        edge.play(0)
        edge.begin_episode(1)
        edge.observe(1, PAYLOAD)
        assert edge.play(1).source is Source.NEUTRAL


@pytest.mark.parametrize(
    "values",
    [(np.nan, 0.0), (np.inf, 0.0), (1.01, 0.0), (0.0, -2.01), (0.0, np.nan)],
    ids=str,
)
def test_values_that_are_no_actions_are_refused_and_the_tick_is_missed(values):
    edge = begin(task=BOUNDED)
    assert not edge.receive(Action(RUN, 0, 0, 1, 1, np.array(values, "<f4").tobytes()))
    assert edge.counters.dropped_invalid == 1
    advance(edge, 1)
    assert edge.play(1).source is Source.NEUTRAL
    assert edge.receive(Action(RUN, 0, 1, 2, 1, np.array((1.0, -2.0), "<f4").tobytes()))
    edge.observe(2, PAYLOAD)
    assert edge.play(2).action.tolist() == [1.0, -2.0]


@pytest.mark.parametrize(
    "bad",
    [
        frame(0, 1, 3),
        frame(0, 1, -1),
        frame(1, 2, 1),  # based on an observation that has not been made
        frame(0, 2**60, 1),
        frame(2**60, 2**60 + 1, 1),
        Action(RUN, 0, 0, 1, 2, ints(1)),
        Action(RUN, 0, 0, 1, 1, ints(1, 1)),
        Action(RUN, 0, 0, 1, 1, b""),
        Action(RUN, 0, 0, 250, 9, ints(*[1] * 9)),  # reaches beyond what can be planned
    ],
    ids=str,
)
@pytest.mark.parametrize("make", [Newest, lambda: Scheduled(4)], ids=["newest", "scheduled"])
def test_impossible_frames_are_invalid(bad, make):
    edge = begin(make())
    assert not edge.receive(bad)
    assert edge.counters.dropped_invalid == 1
    assert edge.receive(frame(0, 1, 1)), "an invalid frame must not stand for the answer"


def test_an_observation_of_a_skipped_tick_was_never_made():
    edge = begin()
    edge.play(0)
    edge.observe(5, PAYLOAD)
    assert not edge.receive(frame(3, 6, 1))
    assert edge.counters.dropped_invalid == 1


hostile = st.builds(
    Action,
    st.sampled_from([RUN, RUN, RUN, 0]),
    st.sampled_from([0, 0, 0, 1, 2**63]),
    st.one_of(st.integers(0, 80), st.integers(0, 2**62)),
    st.one_of(st.integers(0, 400), st.integers(0, 2**62)),
    st.integers(1, 256),
    st.one_of(st.binary(max_size=40), st.integers(1, 256).map(lambda n: ints(*[1] * n))),
)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.lists(hostile, max_size=20), min_size=1, max_size=30), st.booleans())
def test_a_lying_peer_costs_neither_memory_nor_a_tick(arrivals, scheduled):
    actuator = Scheduled(256) if scheduled else Newest()
    edge = Edge(DISCRETE, actuator, Hold(2), RUN)
    edge.begin_episode(0)
    for tick, frames in enumerate(arrivals):
        for hostile_frame in frames:
            edge.receive(hostile_frame)
        edge.observe(tick, PAYLOAD)
        play = edge.play(tick)
        assert play.action in (None, 0, 1, 2)
        if scheduled:
            assert len(actuator._slots) <= 256
    assert edge.counters.frames_received == edge.counters.frames_accepted + edge.counters.dropped


def test_the_schedule_never_holds_more_than_256_ticks():
    actuator = Scheduled(256)
    edge = begin(actuator)
    for tick in range(1, 600):
        edge.receive(Action(RUN, 0, tick - 1, tick, 256, ints(*[1] * 256)))
        assert len(actuator._slots) <= 256
        advance(edge, tick)
    assert edge.counters.dropped_invalid == 0


def test_hold_repeats_up_to_its_limit_then_is_neutral_and_starts_anew_after_the_next_action():
    edge = begin(Newest(), Hold(limit_ticks=2))
    assert edge.play(0).source is Source.NEUTRAL  # nothing to hold yet
    sources = []
    for tick in range(1, 8):
        edge.observe(tick, PAYLOAD)
        if tick in (1, 5):
            edge.receive(frame(tick - 1, tick, 2))
        sources.append(edge.play(tick).source)
    remote, hold, neutral = Source.REMOTE, Source.HOLD, Source.NEUTRAL
    assert sources == [remote, hold, hold, neutral, remote, hold, hold]
    assert edge.counters.missed_hold == 4
    assert edge.counters.missed_neutral == 2


def test_what_is_held_ends_with_the_episode():
    edge = begin(Newest(), Hold(5))
    edge.play(0)
    edge.observe(1, PAYLOAD)
    edge.receive(frame(0, 1, 2))
    edge.play(1)
    edge.begin_episode(2)
    edge.observe(2, PAYLOAD)
    assert edge.play(2).source is Source.NEUTRAL


class Doubler:
    def __init__(self):
        self.resets = 0

    def decide(self, question):
        return int(question.state[0]) * 2

    def reset(self):
        self.resets += 1


def test_local_fallback_sees_the_observation_of_its_tick_and_is_reset_with_the_episode():
    policy = Doubler()
    edge = Edge(DISCRETE, Newest(), Local(policy), RUN)
    edge.begin_episode(0)
    edge.observe(0, np.array([1.0], "<f4").tobytes())
    play = edge.play(0)
    assert (play.action, play.source) == (2, Source.LOCAL)
    assert edge.counters.missed_local == 1
    assert edge.observe(1, PAYLOAD).last_action == ints(2)
    edge.play(1)
    edge.begin_episode(2)
    assert policy.resets == 2
    assert edge.fallback_fault == ""


class Fails:
    """A local policy with one of the faults that code of somebody else's may have."""

    def __init__(self, answer=0, reset_fails=False):
        self.answer, self.reset_fails = answer, reset_fails

    def decide(self, question):
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer

    def reset(self):
        if self.reset_fails:
            raise IndexError("no such episode")


@pytest.mark.parametrize(
    ("task", "policy", "words"),
    [
        (DISCRETE, Fails(3), "not a value of the discrete space"),
        (DISCRETE, Fails("left"), "not a value of the discrete space"),
        (DISCRETE, Fails(IndexError("out of range")), "IndexError: out of range"),
        (DISCRETE, Fails(reset_fails=True), "no such episode"),
        (BOUNDED, Fails([0.0, np.nan]), "not a value of the box space"),
        (BOUNDED, Fails([0.0, 9.0]), "not a value of the box space"),
    ],
)
def test_a_fallback_that_fails_costs_its_tick_and_not_the_loop(task, policy, words):
    edge = begin(Newest(), Local(policy), task)
    play = edge.play(0)
    assert (play.action, play.source) == (None, Source.FAILED)
    assert words in edge.fallback_fault
    assert edge.observe(1, PAYLOAD).last_action == b"", "neutral"
    edge.play(1)
    counters = edge.counters
    assert (counters.missed_failed, counters.missed_local, counters.missed) == (2, 0, 2)
    assert counters.ticks == counters.played_remote + counters.missed


def test_an_observation_that_a_local_policy_cannot_be_shown_costs_its_tick():
    edge = Edge(DISCRETE, Newest(), Local(Fails(1)), RUN)
    edge.begin_episode(0)
    edge.observe(0, np.array([np.nan], "<f4").tobytes())
    assert edge.play(0).source is Source.FAILED


def test_a_fallback_recovers_with_the_next_episode_or_tick():
    policy = Fails(reset_fails=True)
    edge = begin(Newest(), Local(policy))
    assert edge.play(0).source is Source.FAILED
    policy.reset_fails = False
    edge.begin_episode(1)
    edge.observe(1, PAYLOAD)
    assert edge.play(1).source is Source.LOCAL


def test_a_local_policys_numpy_integer_reaches_the_task_as_an_int():
    edge = begin(Newest(), Local(Fails(np.int64(2))))
    assert type(edge.play(0).action) is int


def test_last_action_is_what_was_applied_one_tick_ago():
    edge = begin(Newest(), Hold(1))
    edge.play(0)
    assert edge.observe(1, PAYLOAD).last_action == b""  # neutral
    edge.receive(frame(1, 2, 2))
    edge.play(1)
    assert edge.observe(2, PAYLOAD).last_action == ints(2)  # remote
    edge.play(2)
    assert edge.observe(3, PAYLOAD).last_action == ints(2)  # held
    edge.play(3)
    edge.receive(frame(3, 4, 1))
    edge.observe(4, PAYLOAD)
    edge.play(4)
    assert edge.observe(6, PAYLOAD).last_action == b""  # tick 5 was skipped: nothing was applied at it
    edge.play(6)
    edge.begin_episode(7)
    assert edge.observe(7, PAYLOAD).last_action == b""


def test_newest_takes_from_a_plan_the_action_for_the_current_tick():
    for arrival, expected in ((1, 0), (2, 1), (3, 2), (7, 2)):
        edge = begin(Newest())
        for tick in range(1, arrival + 1):
            advance(edge, tick)
        edge.receive(frame(0, 1, 0, 1, 2))
        assert edge.play(arrival).action == expected


def test_ticks_out_of_order_are_our_own_error():
    edge = Edge(DISCRETE, Newest(), Neutral(), RUN)
    with pytest.raises(LocalProtocolError):
        edge.observe(0, PAYLOAD)
    edge.begin_episode(5)
    with pytest.raises(LocalProtocolError):
        edge.observe(4, PAYLOAD)
    with pytest.raises(LocalProtocolError, match="must be 4"):
        edge.observe(5, b"")
    edge.observe(5, PAYLOAD)
    with pytest.raises(LocalProtocolError):
        edge.play(6)
    edge.play(5)
    with pytest.raises(LocalProtocolError):
        edge.play(5)
    with pytest.raises(LocalProtocolError):
        edge.observe(5, PAYLOAD)
    with pytest.raises(LocalProtocolError):
        edge.begin_episode(5)


def test_nothing_is_accepted_before_an_episode():
    edge = Edge(DISCRETE, Newest(), Neutral(), RUN)
    assert not edge.receive(frame(0, 1, 1))
    assert not edge.receive(frame(0, 1, 1, episode=2**64 - 1))
    assert edge.counters.dropped_invalid == 2


@pytest.mark.parametrize("make", [lambda: Scheduled(-1), lambda: Scheduled(257), lambda: Hold(0)])
def test_limits_out_of_range(make):
    with pytest.raises(SpecError, match="must be") as caught:
        make()
    assert caught.value.hint


def test_a_jump_of_a_lifetime_costs_no_memory():
    edge = begin()
    edge.play(0)
    observation = edge.observe(2**61, PAYLOAD)
    assert (observation.played, observation.history_ticks) == (0, 64)
    assert edge.play(2**61).source is Source.NEUTRAL
