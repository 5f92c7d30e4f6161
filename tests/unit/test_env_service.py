"""EnvService and Uplink in a time of their own: no socket, no sleep."""

from __future__ import annotations

import heapq
import json
import platform

import msgspec
import numpy as np
import pytest

from netlab.agents.policy import make_policy
from netlab.control import Edge, Local, Neutral, Newest, Remote, Responder, Scheduled, StopAndWait
from netlab.envs.agent_watch import AgentWatch
from netlab.envs.cartpole import CartPole
from netlab.envs.episode import episode_seed
from netlab.envs.loop import RealTimeLoop
from netlab.envs.result import RunResult, encode_result
from netlab.envs.service import EnvService
from netlab.envs.task import Step
from netlab.envs.tick_log import TickLog
from netlab.envs.uplink import Uplink
from netlab.errors import AuthError, ConnectionLost, SpecError
from netlab.messages import ADAPTIVE_HORIZON, PROTOCOL_VERSION, Goodbye, Observation, Welcome
from netlab.wire.channel import Received

RUN = 9


class World:
    """Virtual time, an agent that is up in some windows of it, and the channels to that agent."""

    def __init__(self, task, horizon=1, delay_s=0.003, up=((0.0, 1e9),)):
        self.now = 1000.0
        self.delay_s = delay_s
        self.up = [(1000.0 + start, 1000.0 + end) for start, end in up]
        self.task, self.horizon = task, horizon
        self.channels: list[FakeChannel] = []
        self.refusal = None
        self.polls = 0
        self.welcome = None
        self.actuator = "newest"

    def is_up(self):
        return any(start <= self.now < end for start, end in self.up)

    # the loop's clock
    def now_ns(self):
        return round(self.now * 1e9)

    def sleep_ns(self, duration_ns):
        self.now += duration_ns * 1e-9

    def wait_readable(self, fileno, duration_ns):
        next_s = self.channels[fileno].next_arrival_s()
        until = self.now + duration_ns * 1e-9
        self.now = min(until, max(next_s, self.now))
        return next_s <= self.now

    # the dialer
    def poll(self):
        self.polls += 1
        if self.refusal is not None:
            raise self.refusal
        if not self.is_up():
            return None
        self.channels.append(FakeChannel(self, len(self.channels)))
        self.welcome = Welcome(protocol=PROTOCOL_VERSION, version="test", policy="linear-predict")
        return self.channels[-1]

    def wait(self, timeout_s):
        self.now += timeout_s

    def describe_failure(self, waited_s):
        return ConnectionLost(f"nobody is there; waited {waited_s:g} s")

    def close(self):
        pass


class FakeChannel:
    """To an agent of its own; lost 0.2 s after the agent went down."""

    def __init__(self, world, fileno):
        self.world, self.fd = world, fileno
        policy, predictor = make_policy("linear-predict", world.task)
        self.responder = Responder(Remote(world.task, predictor, world.horizon, RUN, world.actuator), policy)
        self.coming: list[tuple[float, int, object]] = []
        self.sent: list[object] = []
        self.heard_s = world.now
        self.closed = ""

    def fileno(self):
        return self.fd

    def next_arrival_s(self):
        return self.coming[0][0] if self.coming else float("inf")

    def send(self, message):
        self.sent.append(message)
        if isinstance(message, Observation) and self.world.is_up():
            answer = self.responder.receive(message)
            heapq.heappush(self.coming, (self.world.now + self.world.delay_s, len(self.sent), answer))
        return True

    def receive(self, timeout_s=0.0):
        received = []
        while self.coming and self.coming[0][0] <= self.world.now + 1e-9:
            self.heard_s = self.world.now
            received.append(Received(heapq.heappop(self.coming)[2], self.world.now))
        if not received and self.world.now - self.heard_s > 0.2:
            raise ConnectionLost("silent")
        return received

    def close(self, reason="closed"):
        self.send(Goodbye(reason=reason))
        self.closed = reason


def build(world=None, *, task=None, actuator=None, episodes=1, rate_hz=50.0, **options):
    task = task or CartPole()
    actuator = actuator or Newest()
    world = world or World(task.description, actuator.horizon_ticks)
    edge = Edge(task.description, actuator, Neutral(), RUN)
    loop = RealTimeLoop(rate_hz, world)
    uplink = Uplink(world, lambda: world.now)
    return world, EnvService(task, uplink, edge, loop, episodes=episodes, seed=4, **options)


def test_a_quiet_link_gives_full_episodes_and_the_latency_that_it_has():
    world, service = build(episodes=3)
    result = service.run()
    assert result.complete
    assert result.returns == [500.0, 500.0, 500.0]
    assert (result.return_mean, result.return_sem) == (500.0, 0.0)
    assert result.counters.ticks == 1500
    assert result.counters.missed == 3, "nothing can have arrived at an episode's first tick"
    assert result.ages.p99 == 1
    assert result.latency.p50_ms == pytest.approx(3.0, rel=0.016)
    assert result.latency.count == 1499, "all but the last were answered within the run"
    assert result.skipped_ticks == result.deadline_misses == result.disconnected_ticks == 0
    assert world.channels[0].closed == "all episodes are played"


def test_episodes_have_seeds_of_their_own_that_the_result_names():
    _, service = build(episodes=3)
    seeds = [episode.seed for episode in service.run().episodes]
    assert seeds == [episode_seed(4, number) for number in range(3)]
    assert len(set(seeds)) == 3
    assert not {episode_seed(5, number) for number in range(100)} & {episode_seed(4, n) for n in range(100)}


class Endless:
    """A task that never ends and needs as long for a tick as it is told."""

    def __init__(self, ticks=1000):
        self.inner = CartPole()
        self.description = self.inner.description
        self.left = ticks
        self.on_step = lambda tick: None
        self.ticks = 0
        self.neutral_ticks: list[int] = []

    def reset(self, seed):
        return np.zeros(4, np.float32)

    def step(self, action):
        self.on_step(self.ticks)
        if action is None:
            self.neutral_ticks.append(self.ticks)
        self.ticks += 1
        return Step(np.zeros(4, np.float32), 1.0, False, self.ticks >= self.left)

    def close(self):
        pass


def test_ticks_go_on_without_the_agent_and_it_takes_up_again_when_it_returns():
    task = Endless(ticks=1000)
    world = World(task.description, 1, up=((0.0, 4.0), (10.0, 1e9)))
    _, service = build(world, task=task)
    result = service.run()
    assert result.complete
    assert result.skipped_ticks == 0
    assert world.now == pytest.approx(1000.0 + 999 * 0.02), "no tick waited for the agent"
    # Down from tick 200, lost 0.2 s later, back from tick 500 on.
    assert task.neutral_ticks[0] == 0
    assert task.neutral_ticks[1:] == list(range(201, 501)), "the answer of tick 200 never came"
    assert result.connections == 2
    assert 285 <= result.disconnected_ticks <= 291
    assert result.send_dropped == result.disconnected_ticks
    assert result.last_loss == "silent"
    assert result.counters.missed == 301


def test_an_agent_that_is_late_is_waited_for_before_the_first_tick():
    task = Endless(ticks=10)
    world = World(task.description, 1, up=((2.0, 1e9),))
    _, service = build(world, task=task, wait_s=5.0)
    assert service.run().counters.missed == 1


def test_without_an_agent_the_run_gives_up_or_goes_on_as_asked():
    for require in (True, False):
        task = Endless(ticks=10)
        world = World(task.description, 1, up=())
        _, service = build(world, task=task, wait_s=5.0, require_connection=require)
        if require:
            with pytest.raises(ConnectionLost, match="waited 5 s") as caught:
                service.run()
            assert "agent serve" in caught.value.hint
            assert "--transport" in caught.value.hint
            assert "--without-agent" in caught.value.hint
            assert task.ticks == 0
        else:
            result = service.run()
            assert (result.counters.missed, result.disconnected_ticks, result.connections) == (10, 10, 0)
            assert world.polls > 15, "it went on dialling"
        assert world.now == pytest.approx(1005.0 + (0.0 if require else 0.18))


def say_what_happens(up, ticks=400, **options):
    """Return the lines of a run with an agent that is up then, and the service's result."""
    task = Endless(ticks=ticks)
    world = World(task.description, 1, up=up)
    said = []
    _, service = build(world, task=task, watch=AgentWatch(said.append, "robot:7447", "neutral"), **options)
    return said, service.run()


def test_nothing_is_said_of_an_agent_that_is_there_at_once():
    said, _ = say_what_happens(((0.0, 1e9),))
    assert said == []


def test_a_wait_is_said_once():
    said, _ = say_what_happens(((4.0, 1e9),), wait_s=10.0)
    assert said == ["waiting for the agent at robot:7447"]


def test_a_lost_agent_and_its_return_are_said_once_each_with_the_tick():
    said, result = say_what_happens(((0.0, 2.0), (5.0, 1e9)))
    assert len(said) == 2
    lost, back = (int(line.partition("(tick ")[2].partition(")")[0]) for line in said)
    assert said == [f"agent lost (tick {lost}): fallback neutral", f"agent back (tick {back})"]
    assert back - lost == result.disconnected_ticks > 100


def test_a_run_that_begins_without_an_agent_says_so_and_when_it_comes():
    said, _ = say_what_happens(((3.0, 1e9),), wait_s=1.0, require_connection=False)
    assert said[:2] == ["waiting for the agent at robot:7447", "no agent yet: fallback neutral"]
    assert said[2:] in (["agent there (tick 100)"], ["agent there (tick 101)"]), "2 s of 50 Hz, to a rounding"


def test_progress_counts_the_ticks_without_agent():
    seen = []
    _, result = say_what_happens(((0.0, 7.0),), progress=seen.append)
    assert seen[-1].disconnected_ticks == result.disconnected_ticks > 10


def test_a_stop_while_waiting_says_how_long_it_waited():
    world = World(Endless(ticks=1).description, 1, up=())
    _, service = build(world, task=Endless(ticks=1), wait_s=10.0)
    world.wait = lambda timeout_s: (
        setattr(world, "now", world.now + timeout_s),
        service.stop("SIGINT") if world.now > 1001.95 else None,
    )
    result = service.run()
    assert result.episodes == ()
    assert "waited 2 s" in result.last_loss


def test_a_refusal_ends_a_run_that_has_not_begun():
    world, service = build()
    world.refusal = AuthError("the agent refuses our key")
    with pytest.raises(AuthError):
        service.run()


def test_a_refusal_within_a_run_is_told_and_asked_again_now_and_then():
    task = Endless(ticks=1000)
    world = World(task.description, 1, up=((0.0, 1.0), (12.0, 1e9)))
    polls = []

    def step(tick):
        world.refusal = AuthError("the agent refuses our key") if 100 < tick < 500 else None
        polls.append(world.polls)

    task.on_step = step
    _, service = build(world, task=task)
    result = service.run()
    assert result.complete
    assert result.connections == 2
    assert polls[500] - polls[101] in (2, 3, 4), "every 3 s of 8"
    assert "refuses our key" in result.last_loss


def test_a_stop_ends_the_episode_says_goodbye_and_returns_what_there_is():
    task = Endless(ticks=1000)
    world, service = build(task=task)
    task.on_step = lambda tick: service.stop("SIGTERM") if tick == 122 else None
    result = service.run()
    assert not result.complete
    assert result.stopped_by == "SIGTERM"
    assert [(episode.complete, episode.ticks) for episode in result.episodes] == [(False, 123)]
    assert result.returns == []
    goodbye = world.channels[0].sent[-1]
    assert isinstance(goodbye, Goodbye)
    assert goodbye.reason == "SIGTERM"


def test_a_run_begins_when_it_may_and_not_before():
    task = Endless(ticks=3)
    world = World(task.description, 1)
    _, service = build(world, task=task, may_start=lambda episode: world.now >= 1002.0)
    task.on_step = lambda tick: None if world.now >= 1002.0 else pytest.fail("too early")
    assert service.run().complete
    assert world.now == pytest.approx(1002.04, abs=0.02)


def test_a_long_start_delay_keeps_the_connection_alive_and_ends_with_a_stop():
    task = Endless(ticks=3)
    world = World(task.description, 1)
    looks = []
    channel_receive = FakeChannel.receive
    world_sleep = world.sleep_ns
    _, service = build(world, task=task, start_delay_s=3600.0)

    def sleep_ns(duration_ns):
        looks.append(duration_ns)
        world_sleep(duration_ns)
        world.channels[0].heard_s = world.now  # the agent's heartbeats
        if world.now > 1005.0:
            service.stop("SIGTERM")

    world.sleep_ns = sleep_ns
    received = []
    FakeChannel.receive = lambda self, timeout_s=0.0: received.append(world.now) or channel_receive(self)
    try:
        result = service.run()
    finally:
        FakeChannel.receive = channel_receive
    assert (result.complete, result.stopped_by, task.ticks) == (False, "SIGTERM", 0)
    assert world.now < 1005.1
    assert max(looks) <= 100_000_000
    assert len(received) > 40, "several looks a second"


def test_a_start_delay_is_kept_to_the_nanosecond():
    task = Endless(ticks=1)
    world = World(task.description, 1)
    _, service = build(world, task=task, start_delay_s=0.0725)
    service.run()
    assert world.now == pytest.approx(1000.0725, abs=1e-6)


def test_a_stop_while_waiting_for_the_agent_ends_the_wait():
    task = Endless()
    world = World(task.description, 1, up=())
    _, service = build(world, task=task, wait_s=1e6)
    service.stop("SIGINT")
    result = service.run()
    assert (result.complete, result.episodes, result.stopped_by) == (False, (), "SIGINT")


def test_a_task_that_takes_too_long_skips_ticks_which_are_counted_and_nothing_is_played_for_them():
    task = Endless(ticks=100)
    world, service = build(task=task, actuator=Scheduled(5))

    def step(tick):
        if tick == 50:
            world.now += 0.071

    task.on_step = step
    result = service.run()
    assert result.skipped_ticks == 2
    assert result.deadline_misses == 1
    assert result.counters.ticks == 100
    assert result.episodes[0].skipped_ticks == 2
    assert world.channels[0].sent[51].tick == 53


def test_the_channel_is_closed_even_when_the_task_fails():
    task = Endless()
    world, service = build(task=task)

    def fail(tick):
        raise ZeroDivisionError

    task.on_step = fail
    with pytest.raises(ZeroDivisionError):
        service.run()
    assert world.channels[0].closed


def test_the_result_is_one_json_document():
    _, service = build(episodes=2)
    result = service.run()
    document = json.loads(encode_result(result))
    assert document["episodes"][0]["return"] == 500.0
    assert document["counters"]["played_remote"] == 998
    assert document["latency"]["histogram_us"]
    assert msgspec.json.decode(encode_result(result), type=RunResult) == result


def test_the_result_names_the_policy_as_the_agent_did_and_the_python():
    _, service = build()
    result = service.run()
    assert result.policy == "linear-predict"
    assert result.python == platform.python_version()
    assert result.faults == ()


class Broken:
    def decide(self, question):
        raise KeyError("weights")

    def reset(self):
        pass


def test_a_broken_local_policy_is_a_fault_in_the_result_and_the_run_ends_well():
    task = Endless(ticks=10)
    world = World(task.description, 1, up=())
    edge = Edge(task.description, Newest(), Local(Broken()), RUN)
    uplink = Uplink(world, lambda: world.now)
    service = EnvService(
        task, uplink, edge, RealTimeLoop(50.0, world), episodes=1, seed=4, wait_s=0.1, require_connection=False
    )
    result = service.run()
    assert result.complete
    assert result.counters.missed_failed == 10
    assert "KeyError: 'weights'" in result.faults[0]


def test_a_run_in_which_nothing_arrived_is_a_document_too():
    task = Endless(ticks=3)
    world = World(task.description, 1, up=())
    _, service = build(world, task=task, wait_s=0.1, require_connection=False)
    document = json.loads(encode_result(service.run()))
    assert document["latency"]["p50_ms"] is None
    assert document["ages"] == {"count": 0, "p50": -1, "p99": -1, "maximum": -1}


def test_progress_comes_when_all_is_ready_then_once_a_second_and_after_each_episode():
    told = []
    _, service = build(episodes=2, progress=told.append)
    service.run()
    assert [(p.episode, p.ticks) for p in told[:12]] == [*((0, 50 * n) for n in range(11)), (1, 50)]
    assert told[-1].returns == (500.0, 500.0)
    assert told[-1].connected


def test_the_tick_log_has_a_line_for_each_tick(tmp_path):
    path = tmp_path / "ticks.jsonl"
    _, service = build(tick_log=TickLog(str(path)))
    service.run()
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert [line["tick"] for line in lines] == list(range(500))
    assert lines[0]["source"] == "neutral"
    assert lines[0]["action"] is None
    assert {line["source"] for line in lines[1:]} == {"remote"}


def test_a_disk_that_is_full_ends_the_tick_log_and_not_the_run():
    _, service = build(episodes=2, tick_log=TickLog("/dev/full"))
    result = service.run()
    assert result.complete
    assert result.faults == ("the tick log is incomplete: /dev/full: No space left on device",)


def test_a_tick_log_that_cannot_be_written_is_an_error_before_the_run(tmp_path):
    with pytest.raises(SpecError, match="No such file"):
        TickLog(str(tmp_path / "missing" / "ticks.jsonl"))


class Turns:
    """A task that takes turns: it ends after so many actions and writes down what each tick applied."""

    def __init__(self, turns, rate_hz=10.0):
        self.description = msgspec.structs.replace(CartPole(rate_hz).description, pace="turn-based")
        self.turns = turns
        self.applied: list[object] = []
        self.taken = 0

    def reset(self, seed):
        self.taken = 0
        return np.zeros(4, np.float32)

    def step(self, action):
        self.applied.append(action)
        self.taken += action is not None
        return Step(np.full(4, self.taken, np.float32), float(action is not None), self.taken >= self.turns, False)

    def close(self):
        pass


def play_turns(delay_s, actuator=None, episodes=2, turns=20, **options):
    task = Turns(turns)
    world = World(task.description, 1, delay_s=delay_s)
    world.actuator = (actuator or Newest()).name
    _, service = build(world, task=task, actuator=actuator, episodes=episodes, rate_hz=10.0, **options)
    return task, world, service.run()


@pytest.mark.parametrize("actuator", [Newest, StopAndWait, lambda: Scheduled(1)])
def test_by_turns_a_round_trip_below_one_tick_is_lock_step(actuator):
    task, world, result = play_turns(0.0999, actuator())
    assert result.complete
    assert (result.counters.ticks, result.counters.missed) == (40, 0), (
        "no tick is lost, not even an episode's first"
    )
    assert None not in task.applied
    assert (result.ages.p99, result.ages.maximum) == (0, 0)
    assert world.now == pytest.approx(1000.0 + 40 * 0.1), "the last action is played at the end of its tick"
    sent = [message.tick for message in world.channels[0].sent if isinstance(message, Observation)]
    assert sent == list(range(40)), "the next episode begins in the very tick that the last one ends with"


def test_by_turns_what_arrives_at_the_very_end_of_a_tick_is_played_and_what_is_later_is_not():
    assert play_turns(0.1)[2].counters.missed == 0
    assert play_turns(0.1001)[2].counters.missed > 0


def test_by_turns_a_slow_network_costs_ticks_and_with_stop_and_wait_no_turn():
    """A round trip of 1.5 ticks: each turn is played at the end of its second tick."""
    task, world, result = play_turns(0.15, StopAndWait(), episodes=1)
    assert result.counters.played_remote == 20
    assert result.counters.ticks == 40
    assert [action is None for action in task.applied] == [True, False] * 20
    assert world.channels[0].responder.remote.counters.decisions == 20


def test_a_stop_by_turns_ends_with_the_tick_that_is_under_way():
    task = Turns(1000)
    world = World(task.description, 1, delay_s=0.01)
    _, service = build(world, task=task, rate_hz=10.0)
    step = task.step

    def stop(action):
        if len(task.applied) == 7:
            service.stop("SIGTERM")
        return step(action)

    task.step = stop
    result = service.run()
    assert [(episode.complete, episode.ticks) for episode in result.episodes] == [(False, 8)]


def test_a_turn_that_takes_too_long_skips_ticks_which_play_nothing():
    task = Turns(20)
    world = World(task.description, 1, delay_s=0.01)
    step = task.step

    def slow(action):
        if len(task.applied) == 5:
            world.now += 0.35
        return step(action)

    task.step = slow
    _, service = build(world, task=task, rate_hz=10.0)
    result = service.run()
    assert (result.skipped_ticks, result.counters.ticks, result.counters.missed) == (2, 21, 1)


def test_the_tick_log_tells_how_far_the_newest_answer_reached(tmp_path):
    path = tmp_path / "ticks.jsonl"
    task = Endless(ticks=12)
    world = World(task.description, 5)
    _, service = build(world, task=task, actuator=Scheduled(ADAPTIVE_HORIZON), tick_log=TickLog(str(path)))
    service.run()
    horizons = [json.loads(line)["horizon_ticks"] for line in path.read_text().splitlines()]
    assert horizons == [0] + [5] * 11, "an edge learns the horizon from the first answer"
