"""VirtualEpisode: one episode of a task behind a link, with the services' two state machines and no time.

::

    Task <-- Edge --observation--> VirtualLink --> Remote --question--> whoever learns
                  <------frame---- VirtualLink <--                <---- decide

Time stands still while a question is open, and passes in ``go_on`` alone: arrivals in order of time, at a tick's
very moment before the tick. Knows neither features nor Gymnasium.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from netlab.control.edge import Edge, Play
from netlab.control.fallback import Source
from netlab.control.question import Question
from netlab.control.remote import Remote
from netlab.control.values import Value
from netlab.envs.task import Task
from netlab.envs.virtual.network import MessageLink
from netlab.envs.virtual.tick_order import TickOrder
from netlab.messages import Observation

__all__ = ["VirtualEpisode"]

_NOTHING_PLAYED = Play(None, Source.NEUTRAL, -1)


class VirtualEpisode:
    """Play one episode; ``begin`` it first.

    Args:
        task: What is controlled; reset here, closed elsewhere.
        link: Fresh: nothing has been sent.
        edge: Fresh: it has had no episode.
        remote: Fresh.
        order: When ticks observe and play.

    Attributes:
        tick: The newest tick observed; -1 before ``begin``.
        played_tick: The newest tick played; -1 before the first.
        last_play: What it applied.
        now_ns: When the newest observation was made, from the episode's beginning.
        state: The task's newest observation ``[*shape]``, which nobody may have seen yet.
        reward: What the ticks gave since ``take_reward``.
        terminated: The task's own end.
        truncated: The task's time limit.
    """

    def __init__(self, task: Task, link: MessageLink, edge: Edge, remote: Remote, order: TickOrder) -> None:
        self.link = link
        self.edge = edge
        self.remote = remote
        self.tick = self.played_tick = -1
        self.last_play = _NOTHING_PLAYED
        self.now_ns = 0
        self.state: NDArray[np.generic] = np.empty(0)
        self.reward = 0.0
        self.terminated = self.truncated = False
        self._task = task
        self._order = order
        self._period_ns = 1e9 / edge.task.rate_hz
        self._dtype = np.dtype(edge.task.observation.dtype).newbyteorder("<")
        self._arrived_ns = 0

    @property
    def is_over(self) -> bool:
        """Whether the episode has ended."""
        return self.terminated or self.truncated

    @property
    def question(self) -> Question | None:
        """What is asked now; None where nothing is."""
        return self.remote.question

    def begin(self, seed: int) -> None:
        """Begin at the time 0 and go as far as the first question, or the second tick's beginning."""
        self.state = self._task.reset(seed)
        self.edge.begin_episode(0)
        self._order.begin(self)
        if not self.is_over:
            self._take_arrivals()

    def decide(self, action: Value) -> None:
        """Answer the open question; after an observation's last one the frame leaves.

        Raises:
            LocalProtocolError: None is open, or the action is not of the task's space.
        """
        self.remote.decide(action)
        if self.remote.question is None:
            self.link.send(self._arrived_ns, self.remote.answer())

    def go_on(self) -> None:
        """Let time pass until a question is open, with one tick at most, which is made where none opens before."""
        if self.remote.question is not None or self._take_arrivals():
            return
        self._order.go_on(self)
        if not self.is_over:
            self._take_arrivals()

    def observe(self, tick: int) -> None:
        """Send the observation of a tick at its beginning; for the order."""
        self.tick = tick
        self.now_ns = round(tick * self._period_ns)
        message = self.edge.observe(tick, np.asarray(self.state, self._dtype).tobytes())
        self.link.send(self.now_ns, message)

    def play(self) -> None:
        """Live through the tick observed last; for the order."""
        play = self.edge.play(self.tick)
        step = self._task.step(play.action)
        self.played_tick, self.last_play, self.state = self.tick, play, step.observation
        self.reward += step.reward
        self.terminated, self.truncated = step.terminated, step.truncated

    def take_reward(self) -> float:
        """Return what the ticks gave since this was called last."""
        reward, self.reward = self.reward, 0.0
        return reward

    def _take_arrivals(self) -> bool:
        """Take in what arrives until the next tick begins; stop at a question and return whether there is one."""
        link, edge, remote = self.link, self.edge, self.remote
        until_ns = round((self.tick + 1) * self._period_ns)
        while (arrival := link.take(until_ns)) is not None:
            arrival_ns, message = arrival
            if not isinstance(message, Observation):
                edge.receive(message)
            elif remote.receive(message):
                self._arrived_ns = arrival_ns
                if remote.question is not None:
                    return True
                link.send(arrival_ns, remote.answer())  # all is decided: the frame repeats it
        return False
