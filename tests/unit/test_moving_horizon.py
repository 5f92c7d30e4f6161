"""A horizon that changes between observations: no target is skipped, asked twice or decided anew."""

from __future__ import annotations

import itertools

import numpy as np
from control_simulation import SimulatedNetwork
from hypothesis import given, settings
from hypothesis import strategies as st

from netlab.control import AdaptiveHorizon, Edge, Neutral, Remote, Responder, Scheduled, Source
from netlab.messages import ADAPTIVE_HORIZON, Observation, Space, TaskDescription

BOX = Space(kind="box", dtype="float64", shape=(2,))
TASK = TaskDescription(name="clock", rate_hz=50.0, observation=BOX, action=BOX)
"""Its observation is (episode, tick) and so is the right action: whatever is played says what it was for."""
BY_TURNS = TaskDescription(name="clock", rate_hz=50.0, observation=BOX, action=BOX, pace="turn-based")
RUN = 7


class Dictated:
    """D as a list says it, observation by observation."""

    def __init__(self, ticks):
        self._coming = list(ticks)
        self._next = 0
        self.ticks = self._coming[0]

    def begin_episode(self):
        pass

    def note(self, observation):
        self.ticks = self._coming[self._next % len(self._coming)]
        self._next += 1


class NextTick:
    def predict(self, observation, action):
        return observation + np.array([0.0, 1.0])


class ForTheTickSeen:
    """Decides what it sees, and remembers the targets."""

    def __init__(self):
        self.targets = []

    def decide(self, question):
        frame = question.observation
        assert question.state.tolist() == [frame.episode, question.target_tick]
        assert len(question.pending) == question.target_tick - frame.tick
        self.targets.append((frame.episode, question.target_tick))
        return question.state

    def reset(self):
        pass


def see(task, tick, first=0, episode=0):
    payload = np.array([episode, tick], "<f8").tobytes()
    return Observation(RUN, episode, tick, payload, b"", 0, min(tick - first, 64), -1, 0.0)


def targets_of(answer):
    return np.frombuffer(answer.actions).reshape(answer.n, 2)[:, 1].tolist()


horizons = st.lists(st.one_of(st.integers(1, 8), st.integers(1, 256)), min_size=1, max_size=30)


@settings(max_examples=300, deadline=None)
@given(horizons, st.lists(st.integers(1, 12), min_size=1, max_size=60), st.sampled_from([TASK, BY_TURNS]))
def test_targets_are_contiguous_whatever_d_does_and_whichever_observations_come(ds, steps, task):
    """Steps of the observations that arrive; a step that all pending decisions do not outlast is a new start."""
    policy, horizon = ForTheTickSeen(), Dictated(ds)
    responder = Responder(Remote(task, NextTick(), horizon, RUN), policy)
    tick, until, lead = 0, -1, task.lead_ticks
    for step in steps:
        asked_before = len(policy.targets)
        answer = responder.receive(see(task, tick))
        reach = tick + lead + horizon.ticks - 1
        asked = [target for _, target in policy.targets[asked_before:]]
        if until >= tick + lead:
            assert asked == list(range(until + 1, reach + 1)), "on from the last, up to D, none where D has shrunk"
        elif asked_before:
            assert asked == [reach], "after a silence D begins anew"
        until = max([until, *asked])
        assert targets_of(answer) == list(range(answer.first_target_tick, until + 1))
        assert 1 <= answer.n <= 256
        assert tick + lead <= answer.first_target_tick
        tick += step
    assert len(set(policy.targets)) == len(policy.targets), "nothing is decided twice"


def deliver(network, edge, until):
    for action in network.deliver_until(until):
        edge.receive(action)


copies = st.lists(st.integers(0, 12), max_size=2)


@settings(max_examples=200, deadline=None)
@given(
    horizons,
    st.lists(copies, min_size=1, max_size=40),
    st.lists(copies, min_size=1, max_size=40),
    st.lists(st.integers(1, 50), min_size=1, max_size=3),
    st.sampled_from([TASK, BY_TURNS]),
)
def test_the_edge_plays_each_decision_on_its_own_tick_whatever_the_network_and_d_do(ds, up, down, lengths, task):
    counts = {"up": 0, "down": 0}

    def fate(direction):
        delays = up if direction == "up" else down
        counts[direction] += 1
        return [float(delay) for delay in delays[counts[direction] % len(delays)]]

    edge = Edge(task, Scheduled(ADAPTIVE_HORIZON), Neutral(), RUN)
    policy = ForTheTickSeen()
    network = SimulatedNetwork(Responder(Remote(task, NextTick(), Dictated(ds), RUN), policy), fate)
    tick = 0
    for episode, length in enumerate(lengths):
        edge.begin_episode(tick)
        for now in range(tick, tick + length):
            if task is TASK:
                deliver(network, edge, now)
            network.send(edge.observe(now, np.array([episode, now], "<f8").tobytes()), now)
            if task is BY_TURNS:
                deliver(network, edge, now + 1)
            play = edge.play(now)
            assert play.action is None or play.action.tolist() == [episode, now]
            heard = [a for a in network.answers if a.episode == episode]
            reaches = {a.first_target_tick + a.n - a.obs_tick - task.lead_ticks for a in heard}
            assert edge.horizon_ticks in reaches | {ADAPTIVE_HORIZON}
        tick += length
    assert edge.counters.dropped_invalid == 0
    assert len(set(policy.targets)) == len(policy.targets)


def test_where_the_network_is_good_the_agents_own_horizon_falls_without_a_missed_tick():
    """Round trips of 1.8 ticks need D = 2: D falls from 10 nearly to that; only the first ten ticks are missed."""
    edge = Edge(TASK, Scheduled(ADAPTIVE_HORIZON), Neutral(), RUN)
    remote = Remote(TASK, NextTick(), ADAPTIVE_HORIZON, RUN)
    network = SimulatedNetwork(Responder(remote, ForTheTickSeen()), lambda direction: [0.9])
    edge.begin_episode(0)
    seen, sources = [], []
    for now in range(400):
        deliver(network, edge, now)
        network.send(edge.observe(now, np.array([0, now], "<f8").tobytes()), now)
        sources.append(edge.play(now).source)
        seen.append(edge.horizon_ticks)
    assert [source is Source.REMOTE for source in sources] == [False] * 10 + [True] * 390
    assert seen[:3] == [0, 0, 10]
    assert seen[-1] == remote.horizon_ticks
    assert 2 <= seen[-1] <= 3
    fall = seen[seen.index(10) :]
    assert all(earlier - later in (0, 1) for earlier, later in itertools.pairwise(fall)), "no step skips a target"


def test_a_longer_horizon_asks_about_several_targets_and_a_shorter_one_about_none():
    horizon = Dictated([2, 5, 1, 1, 1, 1, 1])
    responder = Responder(Remote(TASK, NextTick(), horizon, RUN), policy := ForTheTickSeen())
    lengths = []
    for tick in range(7):
        responder.receive(see(TASK, tick))
        lengths.append(len(policy.targets))
    assert lengths == [1, 5, 5, 5, 5, 5, 6]
    assert [target for _, target in policy.targets] == [2, 3, 4, 5, 6, 7]


def test_an_adaptive_horizon_is_one_that_a_remote_takes():
    remote = Remote(TASK, None, AdaptiveHorizon(6), RUN)
    assert remote.receive(see(TASK, 0))
    assert (remote.horizon_ticks, remote.question.target_tick) == (6, 6)
