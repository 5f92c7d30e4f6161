"""Edge and Remote together over any network: what must hold whatever is delayed, lost, doubled or reordered."""

from __future__ import annotations

import numpy as np
import pytest
from control_simulation import SimulatedNetwork
from hypothesis import given, settings
from hypothesis import strategies as st

from netlab.control import Edge, Hold, Neutral, Newest, Remote, Responder, Scheduled, Source
from netlab.messages import Action, Space, TaskDescription

TASK = TaskDescription(
    name="clock",
    rate_hz=50.0,
    observation=Space(kind="box", dtype="float64", shape=(2,)),
    action=Space(kind="box", dtype="float64", shape=(2,)),
)
"""Its observation is (episode, tick) and so is the right action: whatever is played says what it was for."""
RUN = 7


class ForTheTickSeen:
    def decide(self, question):
        return question.state

    def reset(self):
        pass


class NextTick:
    """Counts ticks, as a predictor that knows this task."""

    def predict(self, observation, action):
        return observation + np.array([0.0, 1.0])


def answering(horizon):
    return Responder(Remote(TASK, NextTick(), horizon, RUN), ForTheTickSeen())


class Reference:
    """What the edge should have played, from all frames that ever reached it, without any cleverness."""

    def __init__(self) -> None:
        self.frames: list[Action] = []
        self.observed: list[int] = []
        self.played: dict[int, bool] = {}
        self.last_played_obs = -1

    def newest_obs(self) -> int:
        return max((frame.obs_tick for frame in self.frames), default=-1)

    def scheduled(self, tick: int) -> int | None:
        """The obs_tick of the frame that tick should play, or None."""
        fit = [f.obs_tick for f in self.frames if f.first_target_tick <= tick < f.first_target_tick + f.n]
        return max(fit, default=None)

    def newest(self, tick: int) -> int | None:
        newest = self.newest_obs()
        if newest <= self.last_played_obs:
            return None
        self.last_played_obs = newest
        return newest

    def history(self, tick: int) -> int:
        return sum(1 << i for i in range(64) if self.played.get(tick - 1 - i, False))

    def loss(self) -> float:
        newest = self.newest_obs()
        if newest < 0:
            return 0.0
        sent = [tick for tick in self.observed if newest - 64 < tick <= newest]
        answered = {frame.obs_tick for frame in self.frames}
        return 1.0 - sum(tick in answered for tick in sent) / len(sent)


copy_delays = st.lists(st.integers(0, 12), max_size=2)
"""Empty: lost. Two: doubled. In ticks."""


@st.composite
def journeys(draw):
    """Delays of each frame in turn, episode lengths, ticks skipped before each."""
    return {
        "up": draw(st.lists(copy_delays, min_size=1, max_size=60)),
        "down": draw(st.lists(copy_delays, min_size=1, max_size=60)),
        "episodes": draw(st.lists(st.integers(1, 40), min_size=1, max_size=4)),
        "skips": draw(st.lists(st.sampled_from([0, 0, 0, 0, 1, 2, 30]), min_size=1, max_size=40)),
    }


def cycle_fate(journey):
    counts = {"up": 0, "down": 0}

    def fate(direction: str) -> list[float]:
        delays = journey[direction][counts[direction] % len(journey[direction])]
        counts[direction] += 1
        return [float(delay) for delay in delays]

    return fate


def play_journey(edge: Edge, network: SimulatedNetwork, journey, expect):
    """Yield (tick, first tick of the episode, episode, play) and check the observation on the way."""
    tick, step = 0, 0
    for episode, length in enumerate(journey["episodes"]):
        edge.begin_episode(tick)
        reference, first = Reference(), tick
        received_before = 0
        for _ in range(length):
            for action in network.deliver_until(tick):
                edge.receive(action)
                received_before += 1
                if action.episode == episode:
                    reference.frames.append(action)
            reference.observed.append(tick)
            observation = edge.observe(tick, np.array([episode, tick], "<f8").tobytes())
            newest = reference.newest_obs()
            assert observation.newest_age_ticks == (tick - newest if newest >= 0 else -1)
            assert observation.played == reference.history(tick)
            assert observation.history_ticks == min(64, tick - first)
            assert observation.loss_seen == pytest.approx(reference.loss())
            network.send(observation, tick)
            play = edge.play(tick)
            expected = getattr(reference, expect)(tick)
            assert (play.source is Source.REMOTE) == (expected is not None)
            if expected is not None:
                assert play.age_ticks == tick - expected
            reference.played[tick] = expected is not None
            yield tick, first, episode, play
            tick += 1 + journey["skips"][step % len(journey["skips"])]
            step += 1
        counters = edge.counters
        assert counters.ticks == length == counters.played_remote + counters.missed
        assert counters.frames_received == received_before == counters.frames_accepted + counters.dropped
        assert edge.ages.count == counters.played_remote


@settings(max_examples=300, deadline=None)
@given(journeys(), st.integers(1, 12))
def test_scheduled_plays_each_decision_at_its_own_tick_and_nothing_else(journey, horizon):
    edge = Edge(TASK, Scheduled(horizon), Neutral(), RUN)
    responder = answering(horizon)
    network = SimulatedNetwork(responder, cycle_fate(journey))
    for tick, _, episode, play in play_journey(edge, network, journey, "scheduled"):
        if play.source is Source.REMOTE:
            # Being for this tick of this episode, it can be played by no other: nothing is played twice.
            assert play.action.tolist() == [episode, tick]
        else:
            assert play.action is None
            assert play.age_ticks == -1
    for answer in network.answers:
        targets = np.frombuffer(answer.actions).reshape(answer.n, 2)[:, 1]
        assert targets.tolist() == list(range(answer.first_target_tick, answer.obs_tick + horizon + 1))
        assert answer.first_target_tick > answer.obs_tick
    c = responder.remote.counters
    dropped = (
        c.dropped_duplicate + c.dropped_overtaken + c.dropped_old_episode
        + c.dropped_other_run + c.dropped_invalid
    )  # fmt: skip
    assert c.observations == c.answered + dropped
    assert c.answered == len(network.answers)


@settings(max_examples=200, deadline=None)
@given(journeys())
def test_newest_plays_each_decision_at_most_once_and_never_an_older_one(journey):
    edge = Edge(TASK, Newest(), Hold(limit_ticks=3), RUN)
    responder = answering(1)
    played: list[tuple[float, float]] = []
    held = 0
    last = None
    network = SimulatedNetwork(responder, cycle_fate(journey))
    for tick, first, episode, play in play_journey(edge, network, journey, "newest"):
        if tick == first:
            last, held = None, 0
        if play.source is Source.REMOTE:
            now = tuple(play.action.tolist())
            assert now[0] == episode
            assert now[1] <= tick
            assert not played or now > played[-1]
            played.append(now)
            last, held = now, 0
        else:
            held += 1
            holds = last is not None and held <= 3
            assert play.source is (Source.HOLD if holds else Source.NEUTRAL)
            assert play.action is None or tuple(play.action.tolist()) == last
            assert (play.action is not None) == holds


@settings(max_examples=200, deadline=None)
@given(st.integers(2, 14), st.data())
def test_no_tick_is_missed_after_the_first_d_when_nothing_is_lost_and_all_arrives_within_the_horizon(
    horizon, data
):
    up = data.draw(st.lists(st.integers(0, horizon - 1), min_size=1, max_size=50))
    # The round trip is at most D - 1 whatever pair comes together.
    down = data.draw(st.lists(st.integers(0, horizon - 1 - max(up)), min_size=1, max_size=50))
    journey = {
        "up": [[d] for d in up],
        "down": [[d] for d in down],
        "episodes": data.draw(st.lists(st.integers(1, 60), min_size=1, max_size=3)),
        "skips": [0],
    }
    edge = Edge(TASK, Scheduled(horizon), Neutral(), RUN)
    network = SimulatedNetwork(answering(horizon), cycle_fate(journey))
    for tick, first, _, play in play_journey(edge, network, journey, "scheduled"):
        assert (play.source is Source.REMOTE) == (tick >= first + horizon)


def test_a_delay_of_d_ticks_is_too_much_for_a_horizon_of_d():
    """The bound of the test above is sharp."""
    journey = {"up": [[5]], "down": [[5]], "episodes": [60], "skips": [0]}
    edge = Edge(TASK, Scheduled(10), Neutral(), RUN)
    network = SimulatedNetwork(answering(10), cycle_fate(journey))
    sources = {play.source for _, _, _, play in play_journey(edge, network, journey, "scheduled")}
    assert sources == {Source.NEUTRAL}
    assert edge.counters.dropped_late > 40


def test_redundancy_plays_through_the_loss_of_all_but_one_frame_in_ten():
    journey = {"up": [[0]], "down": [[0], *[[] for _ in range(9)]], "episodes": [200], "skips": [0]}
    edge = Edge(TASK, Scheduled(10), Neutral(), RUN)
    network = SimulatedNetwork(answering(10), cycle_fate(journey))
    plays = [play for _, _, _, play in play_journey(edge, network, journey, "scheduled")]
    assert sum(play.source is Source.REMOTE for play in plays) == 190


def test_a_lost_observation_is_decided_when_the_next_one_comes():
    """Two of three observations are lost, no answer is: no tick after the first D is missed."""
    journey = {"up": [[0], [], []], "down": [[0]], "episodes": [90], "skips": [0]}
    edge = Edge(TASK, Scheduled(10), Neutral(), RUN)
    responder = answering(10)
    network = SimulatedNetwork(responder, cycle_fate(journey))
    for tick, _, _, play in play_journey(edge, network, journey, "scheduled"):
        assert (play.source is Source.REMOTE) == (tick >= 10)
    assert responder.remote.counters.decided_by_prediction == 2 * (responder.remote.counters.answered - 1)


def test_the_first_observation_lost_delays_nothing():
    """The edge says how old the episode is, so its first D ticks end where they would have ended."""
    journey = {"up": [[], [], [], *[[0]] * 97], "down": [[0]], "episodes": [40], "skips": [0]}
    edge = Edge(TASK, Scheduled(10), Neutral(), RUN)
    network = SimulatedNetwork(answering(10), cycle_fate(journey))
    for tick, _, _, play in play_journey(edge, network, journey, "scheduled"):
        assert (play.source is Source.REMOTE) == (tick >= 10)
