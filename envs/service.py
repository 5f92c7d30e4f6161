"""EnvService: runs a task at a fixed rate and lets whoever is at the other end of the network control it.

::

    tick k:  drain arrivals -> observe -> send -> play -> step the task
             '-- until tick k+1: wait for the deadline, take in frames the moment they arrive

That is a task in real time; one that takes turns waits between send and play (``netlab.envs.pace``).

It never waits for the network: without an agent the ticks go on with the fallback, counted, and the uplink
dials step by step. Before the first tick it waits once, since both services are often started together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

import netlab
from netlab.control.counters import AgeSummary, EdgeCounters
from netlab.control.edge import Edge
from netlab.control.histogram import Histogram
from netlab.envs.agent_watch import AgentWatch
from netlab.envs.episode import EpisodeTally, episode_seed
from netlab.envs.loop import RealTimeLoop
from netlab.envs.pace import make_pace
from netlab.envs.realtime import collect_garbage, realtime_process
from netlab.envs.result import DurationSummary, EpisodeResult, RunResult
from netlab.envs.task import Step, Task
from netlab.envs.tick_log import TickLog, TickRecord
from netlab.envs.uplink import Uplink
from netlab.errors import ConnectionLost
from netlab.messages import Action, Observation
from netlab.wire.channel import Received

__all__ = ["ALL_PLAYED", "EnvService", "Progress"]

ALL_PLAYED = "all episodes are played"
"""What the environment says as it leaves in order."""

_SENT_RING = 1024
_START_SLICE_NS = 20_000_000


class Progress(Struct, frozen=True, kw_only=True):
    """How far a run is.

    Attributes:
        episode: Number of the current episode.
        episodes: How many were asked for.
        ticks: Ticks of the current episode so far.
        return_so_far: Its return so far.
        returns: Returns of the episodes that are done.
        connected: Whether the agent is there.
        disconnected_ticks: Ticks of the current episode without it.
    """

    episode: int
    episodes: int
    ticks: int
    return_so_far: float
    returns: tuple[float, ...]
    connected: bool
    disconnected_ticks: int = 0


class EnvService:
    """Play episodes of a task at its own pace.

    Args:
        task: What is controlled.
        uplink: The way to the agent; the service closes it.
        edge: Its half of the tick protocol.
        loop: The ticks.
        episodes: How many episodes to play.
        seed: Seed of the episodes' seeds.
        wait_s: How long to wait for the first connection before the first episode.
        require_connection: Whether to give up when there is none by then; else the run begins without.
        may_start: Asked about each episode, by its number, until it says so, the agent being there: services
            that are started together begin together, and links may be put afresh between episodes.
        start_delay_s: How long to wait then before the first, so that ticks of several services need not fall on
            the same instant.
        progress: Called when all is ready, then about once a second and after each episode; within a tick, so
            it must return at once.
        watch: Told when the agent is waited for, and at each tick whether it is there.
        tick_log: Where to write each tick, if anywhere; the service closes it.
    """

    def __init__(
        self,
        task: Task,
        uplink: Uplink,
        edge: Edge,
        loop: RealTimeLoop,
        *,
        episodes: int,
        seed: int,
        wait_s: float = 10.0,
        require_connection: bool = True,
        may_start: Callable[[int], bool] = lambda episode: True,
        start_delay_s: float = 0.0,
        progress: Callable[[Progress], None] | None = None,
        watch: AgentWatch | None = None,
        tick_log: TickLog | None = None,
    ) -> None:
        self._task = task
        self._uplink = uplink
        self._edge = edge
        self._loop = loop
        self._pace = make_pace(task.description)
        self._episodes = episodes
        self._seed = seed
        self._wait_s = wait_s
        self._require_connection = require_connection
        self._may_start = may_start
        self._start_delay_s = start_delay_s
        self._progress = progress
        self._watch = watch or AgentWatch(lambda line: None, "", edge.fallback.name)
        self._progress_ticks = max(1, round(loop.rate_hz))
        self._tick_log = tick_log
        self._dtype = np.dtype(task.description.observation.dtype).newbyteorder("<")
        self._stopped_by = ""
        self._results: list[EpisodeResult] = []
        self._tally = EpisodeTally(0, 0, loop)
        self._counters = EdgeCounters()
        self._ages = Histogram()
        self._latency_us = Histogram()
        self._sent: list[tuple[int, float]] = [(-1, 0.0)] * _SENT_RING
        uplink.on_message = self._take

    def stop(self, reason: str) -> None:
        """End the run at the next tick; may be called from a signal handler or another thread."""
        self._stopped_by = self._stopped_by or reason

    def run(self) -> RunResult:
        """Play the episodes and return what they gave; an early stop returns what there is, marked so.

        Raises:
            ConnectionLost: Nobody answered in time and a connection is required.
            AuthError: The agent does not have our key, or refuses ours.
            RemoteProtocolError: The agent speaks another version.
        """
        try:
            self._wait_for_agent()
            self._wait_for_start()
            self._task.reset(episode_seed(self._seed, 0))  # a first reset may be slow: here it delays no tick
            with realtime_process():
                self._loop.start()
                for episode in range(self._episodes):
                    if episode:
                        self._wait_between(episode)
                    if self._stopped_by or not self._play_episode(episode):
                        break
        finally:
            self._uplink.close(self._stopped_by or ALL_PLAYED)
            if self._tick_log is not None:
                self._tick_log.close()
        return self._summarise()

    def _wait_for_agent(self) -> None:
        connected = self._uplink.connect(self._wait_s, lambda: bool(self._stopped_by), self._watch.wait)
        if self._require_connection and not connected and not self._stopped_by:
            raise ConnectionLost(
                self._uplink.last_loss,
                hint="start `netlab agent serve` there; both sides need the same --transport and --key-file; "
                "or begin without it: --without-agent",
            )

    def _wait_for_start(self) -> None:
        self._report()
        clock = self._loop.clock
        self._wait_for_leave(0)
        begin_ns = clock.now_ns() + round(self._start_delay_s * 1e9)
        while not self._stopped_by and (left_ns := begin_ns - clock.now_ns()) > 0:
            self._uplink.keep_up()
            clock.sleep_ns(min(left_ns, _START_SLICE_NS))

    def _wait_for_leave(self, episode: int) -> None:
        """Wait until an episode may begin."""
        while not (self._stopped_by or self._may_start(episode)):
            self._uplink.keep_up()
            self._loop.clock.sleep_ns(_START_SLICE_NS)

    def _wait_between(self, episode: int) -> None:
        """Wait for the tick at which the next episode begins: the next one, or when it may."""
        if self._may_start(episode):
            self._pace.wait_to_observe(self._loop, self._uplink)
        else:
            self._wait_for_leave(episode)
            self._pace.begin_anew(self._loop)

    def _play_episode(self, episode: int) -> bool:
        """Play one episode; return whether it came to its end."""
        loop, uplink = self._loop, self._uplink
        seed = episode_seed(self._seed, episode)
        observation = self._task.reset(seed)
        self._edge.begin_episode(loop.tick)
        self._tally = EpisodeTally(episode, seed, loop)
        while not self._stopped_by:
            message = self._observe(observation)
            self._pace.wait_to_play(loop, uplink)
            step = self._play(message)
            if step.terminated or step.truncated:
                self._finish_episode(complete=True)
                return True
            if self._tally.ticks % self._progress_ticks == 0:
                self._report()
            observation = step.observation
            self._pace.wait_to_observe(loop, uplink)
        self._finish_episode(complete=False)
        return False

    def _observe(self, observation: NDArray[np.generic]) -> Observation:
        tick = self._loop.tick
        self._uplink.keep_up()
        message = self._edge.observe(tick, np.asarray(observation, self._dtype).tobytes())
        self._sent[tick % _SENT_RING] = (tick, self._loop.clock.now_ns() * 1e-9)
        self._uplink.send(message)
        return message

    def _play(self, message: Observation) -> Step:
        """Play the tick that was observed, and write down what it did."""
        tick, tally, uplink = message.tick, self._tally, self._uplink
        play = self._edge.play(tick)
        step = self._task.step(play.action)
        tally.ticks += 1
        tally.return_ += step.reward
        tally.disconnected_ticks += not uplink.is_connected
        self._watch.note(tick, uplink.is_connected)
        if self._tick_log is not None:
            action = play.action.tolist() if isinstance(play.action, np.ndarray) else play.action
            self._tick_log.add(
                TickRecord(
                    tick,
                    tally.episode,
                    play.source.value,
                    play.age_ticks,
                    action,
                    step.reward,
                    message.newest_age_ticks,
                    uplink.is_connected,
                    self._edge.horizon_ticks,
                )
            )
        return step

    def _take(self, received: Received) -> None:
        """Take in a message at the moment it arrives."""
        message = received.message
        if not isinstance(message, Action) or not self._edge.receive(message):
            return
        tick, sent_s = self._sent[message.obs_tick % _SENT_RING]
        if tick == message.obs_tick:
            latency_us = round((received.arrival_s - sent_s) * 1e6)
            self._tally.latency_us.add(latency_us)
            self._latency_us.add(latency_us)

    def _finish_episode(self, *, complete: bool) -> None:
        """Take stock, and use the time before the next tick for what would disturb a tick."""
        self._results.append(self._tally.finish(self._edge, complete=complete))
        self._counters.add(self._edge.counters)
        self._ages.merge(self._edge.ages)
        collect_garbage()
        if self._tick_log is not None:
            self._tick_log.flush()
        self._report()

    def _report(self) -> None:
        if self._progress is not None:
            self._progress(
                Progress(
                    episode=self._tally.episode,
                    episodes=self._episodes,
                    ticks=self._tally.ticks,
                    return_so_far=self._tally.return_,
                    returns=tuple(result.return_ for result in self._results if result.complete),
                    connected=self._uplink.is_connected,
                    disconnected_ticks=self._tally.disconnected_ticks,
                )
            )

    def _faults(self) -> Iterator[str]:
        if self._edge.fallback_fault:
            yield f"the {self._edge.fallback.name} fallback failed: {self._edge.fallback_fault}"
        if self._tick_log is not None and self._tick_log.fault:
            yield f"the tick log is incomplete: {self._tick_log.fault}"

    def _summarise(self) -> RunResult:
        description, edge, loop, uplink = self._task.description, self._edge, self._loop, self._uplink
        complete = sum(result.complete for result in self._results) == self._episodes
        return RunResult(
            netlab=netlab.__version__,
            policy=uplink.policy,
            policy_sha256=uplink.policy_sha256,
            task=description.name,
            rate_hz=description.rate_hz,
            actuator=edge.actuator.name,
            horizon_ticks=edge.actuator.horizon_ticks,
            fallback=edge.fallback.name,
            seed=self._seed,
            complete=complete,
            stopped_by="" if complete else self._stopped_by,
            episodes=tuple(self._results),
            counters=self._counters,
            ages=AgeSummary.of(self._ages),
            latency=DurationSummary.of(self._latency_us, pooled=True),
            lateness=DurationSummary.of(loop.lateness_us, pooled=True),
            deadline_misses=loop.late,
            skipped_ticks=loop.skipped,
            disconnected_ticks=sum(result.disconnected_ticks for result in self._results),
            connections=uplink.connections,
            send_dropped=uplink.send_dropped,
            last_loss=uplink.last_loss,
            faults=tuple(self._faults()),
        )
