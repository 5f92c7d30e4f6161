"""An edge and a remote joined by a network that delays, loses, doubles and reorders: pure, for tests alone.

Time is in ticks, as a float: a frame that leaves at tick k with delay d is there at tick j if k + d < j, and
the remote answers at once.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable

import numpy as np

from netlab.control import Edge, EdgeCounters, Histogram, Play, Responder
from netlab.messages import Action, Observation

Fate = Callable[[str], list[float]]
"""Direction ("up" to the remote, "down" to the edge) -> the delay of each copy, in ticks; empty is lost."""


class SimulatedNetwork:
    """Carry frames between the two halves."""

    def __init__(self, responder: Responder, fate: Fate) -> None:
        self.responder = responder
        self.fate = fate
        self.answers: list[Action] = []
        self._order = itertools.count()
        self._queue: list[tuple[float, int, Observation | Action]] = []

    def send(self, message: Observation | Action, now: float) -> None:
        direction = "up" if isinstance(message, Observation) else "down"
        for delay in self.fate(direction):
            heapq.heappush(self._queue, (now + delay, next(self._order), message))

    def deliver_until(self, tick: int) -> list[Action]:
        """Return what reaches the edge before a tick, in order."""
        arrived: list[Action] = []
        while self._queue and self._queue[0][0] < tick:
            now, _, message = heapq.heappop(self._queue)
            if isinstance(message, Action):
                arrived.append(message)
                continue
            answer = self.responder.receive(message)
            if answer is not None:
                self.answers.append(answer)
                self.send(answer, now)
        return arrived


def normal_fate(rng: np.random.Generator, mean_s: float, sd_s: float, loss: float, rate_hz: float) -> Fate:
    """One direction's law as the presets have it: normal, clipped at zero, unordered, independent loss."""

    def fate(direction: str) -> list[float]:
        if rng.random() < loss:
            return []
        return [max(0.0, rng.normal(mean_s, sd_s)) * rate_hz]

    return fate


class Outcome:
    """What a simulated run gave."""

    def __init__(self) -> None:
        self.returns: list[float] = []
        self.counters = EdgeCounters()
        self.ages = Histogram()
        self.plays: list[Play] = []


def run_task(task, edge: Edge, network: SimulatedNetwork, episodes: int, seed: int) -> Outcome:
    """Play a task through a simulated network."""
    outcome, tick = Outcome(), 0
    for episode in range(episodes):
        observation = task.reset(seed * 1_000_003 + episode)
        edge.begin_episode(tick)
        total, done = 0.0, False
        while not done:
            for action in network.deliver_until(tick):
                edge.receive(action)
            network.send(edge.observe(tick, observation.tobytes()), tick)
            play = edge.play(tick)
            step = task.step(play.action)
            outcome.plays.append(play)
            total += step.reward
            observation, done, tick = step.observation, step.terminated or step.truncated, tick + 1
        outcome.returns.append(total)
        outcome.counters.add(edge.counters)
        outcome.ages.merge(edge.ages)
    return outcome
