"""Stop-and-wait: whatever is lost, doubled or late, every decision is played once and in order."""

from __future__ import annotations

import numpy as np
from control_simulation import SimulatedNetwork
from hypothesis import given, settings
from hypothesis import strategies as st

from netlab.control import Edge, Neutral, Remote, Responder, Source, StopAndWait
from netlab.messages import Action, Observation, Space, TaskDescription

TASK = TaskDescription(
    name="score",
    rate_hz=10.0,
    observation=Space(kind="box", dtype="int64", shape=(2,)),
    action=Space(kind="discrete", dtype="int64", n=100_000),
    pace="turn-based",
)
"""Its observation is the episode and how many actions it has taken in it; it changes by nothing else."""
RUN = 3


class Recorder:
    """Decides differently each time it is asked, and remembers all."""

    def __init__(self) -> None:
        self.asked: list[tuple[int, int, int]] = []
        self.episodes = 0

    def decide(self, question) -> int:
        episode, score = question.state.tolist()
        self.asked.append((episode, score, len(self.asked)))
        return len(self.asked) - 1

    def reset(self) -> None:
        self.episodes += 1


def make(policy):
    edge = Edge(TASK, StopAndWait(), Neutral(), RUN)
    return edge, Responder(Remote(TASK, None, 1, RUN, "stop-and-wait"), policy)


def payload(episode, score):
    return np.array([episode, score], "<i8").tobytes()


def play_episode(edge, network, tick, ticks, taken):
    """Play by turns; return the next tick."""
    edge.begin_episode(tick)
    score = 0
    for now in range(tick, tick + ticks):
        observation = edge.observe(now, payload(edge.episode, score))
        assert observation.turn == score
        network.send(observation, now)
        for action in network.deliver_until(now + 1):
            edge.receive(action)
        play = edge.play(now)
        if play.source is Source.REMOTE:
            taken.append((edge.episode, score, play.action))
            score += 1
    return tick + ticks


copies = st.lists(st.floats(0.0, 5.0), max_size=3)
"""The delay of each copy of a frame, in ticks; none: lost."""


@settings(max_examples=200, deadline=None)
@given(
    st.lists(copies, min_size=1, max_size=40),
    st.lists(copies, min_size=1, max_size=40),
    st.lists(st.integers(1, 60), min_size=1, max_size=3),
)
def test_each_turn_is_asked_once_and_played_once_over_any_network(up, down, episodes):
    counts = {"up": 0, "down": 0}

    def fate(direction):
        delays = up if direction == "up" else down
        counts[direction] += 1
        return delays[counts[direction] % len(delays)]

    policy = Recorder()
    edge, responder = make(policy)
    network = SimulatedNetwork(responder, fate)
    tick = 0
    taken: list[tuple[int, int, int]] = []
    for ticks in episodes:
        tick = play_episode(edge, network, tick, ticks, taken)
        counters = edge.counters
        assert counters.ticks == counters.played_remote + counters.missed == ticks
        assert counters.frames_received == counters.frames_accepted + counters.dropped
    turns = [(episode, score) for episode, score, _ in policy.asked]
    assert len(set(turns)) == len(turns), "asked once a turn"
    assert set(taken) <= set(policy.asked), "what is played is what was decided for that very turn"


def test_a_network_that_fits_a_tick_is_lock_step():
    policy = Recorder()
    edge, responder = make(policy)
    taken: list[tuple[int, int, int]] = []
    play_episode(edge, SimulatedNetwork(responder, lambda direction: [0.4]), 0, 50, taken)
    assert taken == [(0, turn, turn) for turn in range(50)]
    assert policy.asked == taken
    assert (edge.counters.missed, edge.ages.maximum) == (0, 0)


def test_every_answer_lost_but_one_in_ten_costs_time_and_no_turn():
    """Of 200 ticks one answer in ten arrives: 20 turns, each asked about once."""
    policy, count = Recorder(), iter(range(10_000))
    edge, responder = make(policy)
    taken: list[tuple[int, int, int]] = []
    network = SimulatedNetwork(
        responder, lambda direction: [0.1] if direction == "up" or next(count) % 10 == 9 else []
    )
    play_episode(edge, network, 0, 200, taken)
    assert taken == [(0, turn, turn) for turn in range(20)]
    assert len(policy.asked) == 20
    assert len(network.answers) == 200


def observe(tick, turn, episode=0):
    return Observation(RUN, episode, tick, payload(episode, turn), b"", 0, 0, -1, 0.0, turn)


def test_the_answer_of_a_turn_is_repeated_for_each_newer_observation_of_it():
    policy = Recorder()
    _, responder = make(policy)
    first, again, third = (responder.receive(observe(tick, 0)) for tick in (0, 1, 5))
    assert [frame.obs_tick for frame in (first, again, third)] == [0, 1, 5]
    assert [frame.first_target_tick for frame in (first, again, third)] == [0, 1, 5]
    assert {frame.actions for frame in (first, again, third)} == {first.actions}
    assert {frame.turn for frame in (first, again, third)} == {0}
    assert len(policy.asked) == 1
    assert responder.receive(observe(4, 0)) is None, "overtaken"
    following = responder.receive(observe(6, 1))
    assert (following.turn, following.actions != first.actions, len(policy.asked)) == (1, True, 2)
    assert responder.receive(observe(7, 0, episode=1)) is not None
    assert (policy.episodes, len(policy.asked)) == (2, 3)


def answer(obs_tick, turn, value):
    return Action(RUN, 0, obs_tick, obs_tick, 1, np.array([value], "<i8").tobytes(), turn)


def test_an_answer_to_an_earlier_turn_is_stale_and_one_to_a_later_turn_is_a_lie():
    edge, _ = make(Recorder())
    edge.begin_episode(0)
    edge.observe(0, payload(0, 0))
    edge.receive(answer(0, 0, 7))
    assert edge.play(0).action == 7
    assert edge.observe(1, payload(0, 0)).turn == 1
    edge.receive(answer(1, 0, 8))
    edge.play(1)
    edge.observe(2, payload(0, 0))
    edge.receive(answer(2, 2, 9))
    assert edge.play(2).source is Source.NEUTRAL
    assert (edge.counters.dropped_stale, edge.counters.dropped_invalid) == (1, 1)
    assert edge.observe(3, payload(0, 0)).turn == 1


def test_of_two_answers_in_one_tick_the_newer_observation_s_counts_and_one_is_played():
    for order in ((0, 1), (1, 0)):
        edge, _ = make(Recorder())
        edge.begin_episode(0)
        edge.observe(0, payload(0, 0))
        edge.play(0)
        edge.observe(1, payload(0, 0))
        frames = [answer(0, 0, 7), answer(1, 0, 7)]
        for index in order:
            edge.receive(frames[index])
        play = edge.play(1)
        assert (play.action, play.age_ticks) == (7, 0)
        edge.observe(2, payload(0, 0))
        assert edge.play(2).source is Source.NEUTRAL


def test_in_real_time_the_question_is_about_the_first_tick_that_an_answer_can_reach():
    task = TaskDescription(
        name="score", rate_hz=10.0, observation=TASK.observation, action=TASK.action, pace="real-time"
    )
    remote = Remote(task, None, 1, RUN, "stop-and-wait")
    assert remote.receive(observe(4, 0))
    assert (remote.question.target_tick, remote.question.pending) == (5, (None,))
    by_turns = Remote(TASK, None, 1, RUN, "stop-and-wait")
    assert by_turns.receive(observe(4, 0))
    assert (by_turns.question.target_tick, by_turns.question.pending) == (4, ())
