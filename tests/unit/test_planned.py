"""planned: D ticks ahead for good, and provisionally beyond; the edge goes on with what it has."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netlab.agents.cartpole_linear import LinearCartPole
from netlab.agents.cartpole_physics import CartPolePhysics
from netlab.control import Edge, Neutral, Remote, Responder, make_actuator
from netlab.control.each_plan import TAIL_TICKS
from netlab.control.feature_spec import FeatureSpec
from netlab.envs.registry import make_task, make_vector_task
from netlab.envs.vector.network import VectorNetwork
from netlab.envs.virtual.options import NetworkOptions
from netlab.errors import SpecError
from netlab.messages import MAX_ACTIONS, Space, TaskDescription
from netlab.scoring.scorer import Overrides, score

RUN = 3
NUMBER = Space(kind="box", dtype="float64", shape=(1,))
TASK = TaskDescription(name="thing", rate_hz=50.0, observation=NUMBER, action=NUMBER)


class Marks:
    """Decides on each question a number that says on which observation and for which tick it was."""

    def decide(self, question):
        return np.array([1000.0 * question.observation.tick + question.target_tick])

    def reset(self):
        pass


def pair(horizon=3):
    edge = Edge(TASK, make_actuator("planned", horizon), Neutral(), RUN)
    edge.begin_episode(0)
    return edge, Responder(Remote(TASK, None, horizon, RUN, "planned"), Marks())


def payload(value=0.0):
    return np.array([value], "<f8").tobytes()


def marks_of(frame):
    return [(int(mark // 1000), int(mark % 1000)) for mark in np.frombuffer(frame.actions, "<f8")]


def test_a_frame_has_what_was_decided_then_one_more_and_then_the_tail():
    edge, responder = pair(3)
    first = responder.receive(edge.observe(0, payload()))
    assert marks_of(first) == [(0, target) for target in range(3, 3 + 1 + TAIL_TICKS)]
    assert first.first_target_tick == 3
    edge.play(0)
    second = responder.receive(edge.observe(1, payload()))
    assert marks_of(second)[:3] == [(0, 3), (1, 4), (1, 5)]
    assert marks_of(second)[-1] == (1, 4 + TAIL_TICKS)


def test_a_lost_observation_is_decided_for_good_by_the_next():
    edge, responder = pair(3)
    for tick in range(2):
        responder.receive(edge.observe(tick, payload()))
        edge.play(tick)
    edge.observe(2, payload())
    edge.play(2)
    assert marks_of(responder.receive(edge.observe(3, payload())))[:3] == [(1, 4), (3, 5), (3, 6)]


def test_after_a_silence_the_tail_is_what_is_pending():
    edge, responder = pair(3)
    for tick in range(10):
        observation = edge.observe(tick, payload())
        if tick in (0, 1):
            edge.receive(responder.receive(observation))
        edge.play(tick)
    assert edge.counters.missed_neutral == 3
    frame = responder.receive(edge.observe(10, payload()))
    # Ticks 11 and 12 stay as the edge has them: nothing new can be sure to be there by then.
    assert marks_of(frame)[:3] == [(1, 11), (1, 12), (10, 13)]


def test_when_the_tail_is_over_the_edge_falls_back_and_the_remote_begins_anew():
    edge, responder = pair(2)
    edge.receive(responder.receive(edge.observe(0, payload())))
    plays = [edge.play(0)]
    for tick in range(1, 40):
        edge.observe(tick, payload())
        plays.append(edge.play(tick))
    assert [tick for tick, play in enumerate(plays) if play.action is not None] == list(range(2, 3 + TAIL_TICKS))
    frame = responder.receive(edge.observe(40, payload()))
    assert frame.first_target_tick == 42


def test_prediction_knows_what_the_edge_plays_as_it_is_seen():
    edge, responder = pair(1)
    remote = responder.remote
    # The frame on observation 0 arrives, that on 1 does not: at tick 2 the edge plays 0's provisional decision.
    edge.receive(responder.receive(edge.observe(0, payload())))
    edge.play(0)
    responder.receive(edge.observe(1, payload()))
    edge.play(1)
    remote.receive(edge.observe(2, payload()))
    assert remote.question is not None
    assert float(remote.question.pending[0][0]) == 2.0
    assert float(edge.play(2).action[0]) == 2.0


@settings(max_examples=60, deadline=None)
@given(
    st.integers(1, 12),
    st.lists(st.tuples(st.integers(0, 15), st.booleans(), st.integers(0, 15), st.booleans()), max_size=80),
)
def test_every_tick_plays_at_most_one_decision_for_it_and_that_of_the_newest_frame(horizon, fates):
    edge, responder = pair(horizon)
    up, down, seen = {}, {}, {}
    for tick, (there, lost, back, lost_back) in enumerate(fates):
        for frame in down.pop(tick, []):
            edge.receive(frame)
            for index, mark in enumerate(marks_of(frame)):
                target = frame.first_target_tick + index
                assert mark[1] == target and mark[0] <= frame.obs_tick < target
                if seen.get(target, (-1, None))[0] < frame.obs_tick:
                    seen[target] = (frame.obs_tick, mark)
        observation = edge.observe(tick, payload())
        if not lost:
            up.setdefault(tick + there, []).append(observation)
        play = edge.play(tick)
        held = seen.get(tick)
        assert (play.action is None) == (held is None)
        if held is not None:
            assert divmod(int(play.action[0]), 1000) == held[1] and play.age_ticks == tick - held[0]
        for arrived in up.pop(tick, []):
            frame = responder.receive(arrived)
            if frame is not None and not lost_back:
                assert frame.n <= MAX_ACTIONS
                down.setdefault(tick + 1 + back, []).append(frame)
    assert edge.counters.dropped_invalid == 0


@pytest.mark.parametrize("horizon", [1, 200, 256])
def test_no_frame_reaches_further_than_an_edge_takes(horizon):
    edge, responder = pair(horizon)
    for tick in range(3):
        assert edge.receive(responder.receive(edge.observe(tick, payload())))
        edge.play(tick)
    assert edge.counters.dropped_invalid == 0


def test_without_loss_the_decisions_for_good_are_those_of_scheduled():
    frames = {}
    for actuator in ("scheduled", "planned"):
        task = make_task("CartPole-v1")
        edge = Edge(task.description, make_actuator(actuator, 4), Neutral(), RUN)
        remote = Remote(task.description, CartPolePhysics(), 4, RUN, actuator)
        responder = Responder(remote, LinearCartPole())
        state = task.reset(1)
        edge.begin_episode(0)
        states = []
        for tick in range(100):
            edge.receive(responder.receive(edge.observe(tick, state.astype("<f4").tobytes())))
            state = task.step(edge.play(tick).action).observation
            states.append(state)
        frames[actuator] = np.array(states)
        task.close()
    assert np.array_equal(frames["scheduled"], frames["planned"])


def test_features_that_remember_decisions_are_refused():
    with pytest.raises(SpecError, match="planned asks"):
        NetworkOptions(actuator="planned", horizon=7, features=FeatureSpec(actions=3)).check()


@pytest.mark.parametrize("policy", ["doorkey-aware", "cartpole-scheduled"])
def test_a_policy_that_remembers_what_it_decided_is_refused(policy):
    with pytest.raises(SpecError, match="remembers"):
        score(policy, "wifi-normal", episodes=1, overrides=Overrides(actuator="planned", horizon=5))


def test_columns_refuse_it():
    options = NetworkOptions(actuator="planned", horizon=7)
    with pytest.raises(SpecError, match="not played in columns"):
        VectorNetwork(make_vector_task("CartPole-v1", 2), "wifi-normal", options)


def test_a_horizon_is_asked_for():
    with pytest.raises(SpecError, match="the planned actuator needs a horizon"):
        NetworkOptions(actuator="planned").check()
