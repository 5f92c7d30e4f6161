from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netlab.control import Persistence, Remote, Responder
from netlab.errors import LocalProtocolError, SpecError
from netlab.messages import Observation, Space, TaskDescription

TASK = TaskDescription(
    name="count",
    rate_hz=50.0,
    observation=Space(kind="box", dtype="float32", shape=(1,)),
    action=Space(kind="discrete", dtype="int32", n=100_000),
)
RUN = 3


class Echo:
    """Decides the number it sees and remembers what it was asked."""

    def __init__(self):
        self.resets = 0

    def decide(self, question):
        return int(question.state[0])

    def reset(self):
        self.resets += 1


class Always:
    """Decides the same whatever it sees."""

    def decide(self, question):
        return 1

    def reset(self):
        pass


class Adder:
    """The state grows by the action, by 100 under neutral; keeps what it was asked."""

    def __init__(self):
        self.actions = []

    def predict(self, observation, action):
        self.actions.append(action)
        return observation + (100 if action is None else action)


def make(policy, predictor=None, horizon=1, run=None):
    return Responder(Remote(TASK, predictor, horizon, run), policy)


def see(tick, value=0.0, episode=0, run=RUN, history=None, age=-1):
    history = min(tick, 64) if history is None else history
    return Observation(run, episode, tick, np.array([value], "<f4").tobytes(), b"", 0, history, age, 0.0)


def decisions(answer):
    values = np.frombuffer(answer.actions, "<i4").tolist()
    assert len(values) == answer.n
    return {answer.first_target_tick + i: value for i, value in enumerate(values)}


def test_an_episode_begins_with_d_neutral_ticks_in_the_prediction():
    predictor = Adder()
    responder = make(Echo(), predictor, 3, RUN)
    answer = responder.receive(see(0, 1.0))
    assert predictor.actions == [None, None, None]
    assert decisions(answer) == {3: 301}
    assert (answer.run, answer.episode, answer.obs_tick) == (RUN, 0, 0)


def test_prediction_rolls_over_the_decisions_that_are_pending_from_the_state_that_was_seen():
    predictor = Adder()
    responder = make(Echo(), predictor, 3, RUN)
    answers = [responder.receive(see(tick, 1.0)) for tick in range(4)]
    assert decisions(answers[1]) == {3: 301, 4: 1 + 100 + 100 + 301}
    predictor.actions.clear()
    last = decisions(responder.receive(see(4, 7.0)))
    pending = decisions(answers[3])
    assert predictor.actions == [pending[4], pending[5], pending[6]]
    assert last[7] == 7 + sum(predictor.actions)
    assert {tick: last[tick] for tick in (5, 6)} == {tick: pending[tick] for tick in (5, 6)}


def test_each_target_is_decided_once_and_repeated_as_it_was():
    responder = make(Echo(), None, 4, RUN)
    first: dict[int, int] = {}
    for tick in range(40):
        answer = decisions(responder.receive(see(tick, float(tick))))
        assert list(answer) == list(range(max(tick + 1, 4), tick + 5))
        for target, value in answer.items():
            assert first.setdefault(target, value) == value
    assert responder.remote.counters.decisions == 40
    assert responder.remote.counters.decided_by_prediction == 0


def test_after_a_silence_as_long_as_the_horizon_the_pause_is_filled_with_neutral():
    predictor = Adder()
    responder = make(Echo(), predictor, 3, RUN)
    responder.receive(see(0, 1.0))
    predictor.actions.clear()
    answer = responder.receive(see(20, 1.0))
    assert predictor.actions == [None, None, None]
    assert list(decisions(answer)) == [23]
    assert responder.remote.counters.decided_by_prediction == 0


def test_the_last_pending_decision_is_for_the_tick_that_is_being_seen():
    """Seen at tick 3, decided at 0 for tick 3: it is due now, and the edge plays it."""
    predictor = Adder()
    responder = make(Echo(), predictor, 3, RUN)
    pending = decisions(responder.receive(see(0, 1.0)))
    predictor.actions.clear()
    responder.receive(see(3, 1.0))
    assert predictor.actions == [pending[3], None, None]


def test_with_a_horizon_of_one_each_observation_is_decided_for_the_next_tick():
    responder = make(Echo(), None, 1, RUN)
    for tick in (0, 1, 5, 6, 100):
        assert decisions(responder.receive(see(tick, float(tick)))) == {tick + 1: tick}


def test_old_doubled_and_foreign_observations_are_dropped_and_counted():
    policy = Echo()
    responder = make(policy, None, 2, RUN)
    responder.receive(see(5, episode=1))
    assert responder.receive(see(5, episode=1)) is None
    assert responder.receive(see(4, episode=1)) is None
    assert responder.receive(see(9, episode=0)) is None
    assert responder.receive(see(9, episode=1, run=RUN + 1)) is None
    assert responder.receive(see(9, math.nan, episode=1)) is None
    assert responder.receive(see(9, math.inf, episode=1)) is None
    assert responder.receive(Observation(RUN, 1, 9, b"123", b"", 0, 0, -1, 0.0)) is None
    c = responder.remote.counters
    assert (c.dropped_duplicate, c.dropped_overtaken, c.dropped_old_episode) == (1, 1, 1)
    assert (c.dropped_other_run, c.dropped_invalid, c.observations, c.answered) == (1, 3, 8, 1)
    assert responder.receive(see(9, episode=1)) is not None, "an invalid observation must not count as seen"


def test_an_invalid_observation_of_a_new_episode_does_not_begin_it():
    policy = Echo()
    responder = make(policy, None, 2, RUN)
    responder.receive(see(0))
    responder.receive(see(1, math.nan, episode=1))
    assert policy.resets == 1
    assert responder.receive(see(2, episode=0)) is not None


def test_a_new_episode_forgets_the_old_one():
    policy, predictor = Echo(), Adder()
    responder = make(policy, predictor, 2, RUN)
    for tick in range(5):
        responder.receive(see(tick, 1.0))
    predictor.actions.clear()
    answer = responder.receive(see(5, 1.0, episode=1, history=0))
    assert policy.resets == 2
    assert predictor.actions == [None, None]
    assert list(decisions(answer)) == [7]


def test_the_run_of_the_first_observation_is_the_session_s_where_none_was_given():
    responder = make(Echo(), None, 1)
    assert responder.receive(see(0, run=5)).run == 5
    assert responder.receive(see(1, run=6)) is None


def test_a_policy_that_decides_nonsense_is_our_own_error():
    responder = make(Echo(), None, 1, RUN)
    with pytest.raises(LocalProtocolError, match="must be 0"):
        responder.receive(see(0, 100_000.0))


def test_a_question_holds_all_that_its_decision_can_be_based_on():
    remote = Remote(TASK, Adder(), 3, RUN)
    seen = see(7, 1.0, history=0)
    assert remote.question is None
    assert remote.receive(seen)
    question = remote.question
    assert (question.target_tick, question.state.tolist(), question.seen.tolist()) == (10, [301.0], [1.0])
    assert question.observation is seen
    assert question.pending == (None, None, None)
    remote.decide(5)
    assert remote.question is None
    assert decisions(remote.answer()) == {10: 5}
    assert remote.receive(see(9, 2.0, history=2))
    assert remote.question.pending == (None, 5), "of ticks 9 and 10: tick 11 is asked about first"
    assert remote.question.state.tolist() == [2.0 + 100 + 5]
    remote.decide(6)
    assert (remote.question.target_tick, remote.question.pending) == (12, (None, 5, 6))
    assert remote.question.state.tolist() == [2.0 + 100 + 5 + 6]
    remote.decide(7)
    assert decisions(remote.answer()) == {10: 5, 11: 6, 12: 7}
    assert (remote.counters.decisions, remote.counters.decided_by_prediction) == (3, 1)


def test_there_is_no_answer_before_the_last_question_and_no_decision_on_none():
    remote = Remote(TASK, None, 2, RUN)
    with pytest.raises(LocalProtocolError, match="before all questions"):
        remote.answer()
    with pytest.raises(LocalProtocolError, match="none is open"):
        remote.decide(1)
    remote.receive(see(0))
    with pytest.raises(LocalProtocolError, match="before all questions"):
        remote.answer()
    with pytest.raises(LocalProtocolError, match="not a value"):
        remote.decide(-1)
    assert remote.question is not None, "a refused action answers nothing"
    remote.decide(1)
    with pytest.raises(LocalProtocolError, match="none is open"):
        remote.decide(1)


def test_a_question_that_was_left_open_is_asked_anew_on_the_next_observation():
    remote = Remote(TASK, None, 3, RUN)
    remote.receive(see(0, 1.0))
    remote.receive(see(1, 2.0))
    assert (remote.question.target_tick, remote.question.seen.tolist()) == (3, [2.0])
    remote.decide(8)
    assert remote.question.target_tick == 4
    assert not remote.receive(see(0, 1.0)), "an overtaken one"
    assert remote.question.target_tick == 4
    remote.decide(9)
    assert decisions(remote.answer()) == {3: 8, 4: 9}


@pytest.mark.parametrize("horizon", [-1, 257])
def test_a_horizon_out_of_range(horizon):
    with pytest.raises(SpecError, match=r"1 \.\. 256"):
        Remote(TASK, None, horizon)


@pytest.mark.parametrize("stride", [1, 2, 7])
def test_what_is_past_is_forgotten(stride):
    responder = make(Always(), None, 5, RUN)
    for tick in range(0, 2000, stride):
        responder.receive(see(tick))
        assert len(responder.remote._agenda._decided) <= 6


@settings(max_examples=200, deadline=None)
@given(
    st.lists(
        st.builds(
            Observation,
            st.sampled_from([RUN, RUN, RUN, 1]),
            st.one_of(st.integers(0, 2), st.integers(0, 2**64 - 1)),
            st.one_of(st.integers(0, 300), st.integers(0, 2**62)),
            st.one_of(st.binary(max_size=6), st.just(bytes(4))),
            st.binary(max_size=3),
            st.integers(0, 2**64 - 1),
            st.integers(0, 64),
            st.one_of(st.integers(-1, 10), st.integers(-1, 2**62)),
            st.floats(0.0, 1.0),
        ),
        max_size=60,
    ),
    st.integers(1, 256),
)
def test_a_lying_edge_costs_no_memory(observations, horizon):
    responder = make(Always(), Persistence(), horizon, RUN)
    for observation in observations:
        answer = responder.receive(observation)
        assert len(responder.remote._agenda._decided) <= horizon + 1
        if answer is not None:
            assert 1 <= answer.n <= horizon
            assert answer.first_target_tick + answer.n - 1 == observation.tick + horizon
