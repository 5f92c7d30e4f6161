"""The network of the model corner: events instead of time, LinkModels instead of links.

::

    ModelChannel --length--> ModelDirection --event at leave_ns--> ModelAgent
         ^                                                             |
         `---- event at leave_ns <-- ModelDirection <--length----------'
    EventClock: whoever waits on it makes the events happen

Messages are handed over as they are; only their length on the wire counts. Of a packet's copies the first whole
one is taken, as the services do: the checksum refuses a corrupted one, the seal a second showing.
"""

from __future__ import annotations

import functools
import heapq
from collections import deque
from collections.abc import Callable
from itertools import count

from netlab.control.responder import Responder
from netlab.errors import ConnectionLost, LocalProtocolError
from netlab.messages import Goodbye, Message, Observation, Welcome
from netlab.traces.model.link_model import LinkModel
from netlab.traces.packets.packet_log import Arrival, PacketRecord, record_packet
from netlab.traces.seed import Direction
from netlab.wire.channel import Channel, Received
from netlab.wire.frame_length import frame_bytes
from netlab.wire.statistics import Statistics

__all__ = ["EventClock", "ModelAgent", "ModelChannel", "ModelDialer", "ModelDirection"]

_ANY_FD = 0
"""Stands for a descriptor: who waits for it asks the clock, which knows better."""


class EventClock:
    """Time that passes only while somebody waits: a ``netlab.envs.clock.Clock`` with events.

    Attributes:
        is_readable: Asked whether what is being waited for has arrived.
    """

    def __init__(self) -> None:
        self.is_readable: Callable[[], bool] = lambda: False
        self._now_ns = 0
        self._order = count()
        self._events: list[tuple[int, int, Callable[[], None]]] = []

    def now_ns(self) -> int:
        """Return the time in nanoseconds from the start."""
        return self._now_ns

    def now_s(self) -> float:
        """Return the time in seconds from the start."""
        return self._now_ns * 1e-9

    def at(self, time_ns: int, event: Callable[[], None]) -> None:
        """Have something happen at a time; of two things at one time the first asked for comes first."""
        heapq.heappush(self._events, (max(time_ns, self._now_ns), next(self._order), event))

    def sleep_ns(self, duration_ns: int) -> None:
        """Let so much time pass, and what is to happen in it."""
        self._wait(duration_ns, lambda: False)

    def wait_readable(self, fileno: int, duration_ns: int) -> bool:
        """Let time pass until something has arrived, at most so much; return whether it has."""
        return self._wait(duration_ns, self.is_readable)

    def _wait(self, duration_ns: int, is_over: Callable[[], bool]) -> bool:
        deadline_ns = self._now_ns + max(duration_ns, 0)
        while not is_over():
            if not self._events or self._events[0][0] > deadline_ns:
                self._now_ns = deadline_ns
                return False
            self._now_ns, _, event = heapq.heappop(self._events)
            event()
        return True


class ModelDirection:
    """One direction of the link.

    Args:
        clock: Where arrivals are put.
        link: Name of the link.
        direction: ``forward`` or ``back``.
        model: What it does to packets.

    Attributes:
        records: What has become of each packet.
        direction: ``forward`` or ``back``.
        model: What it does to packets; another one once it has been put afresh.
    """

    def __init__(self, clock: EventClock, link: str, direction: Direction, model: LinkModel) -> None:
        self.records: list[PacketRecord] = []
        self.direction = direction
        self.model = model
        self._clock = clock
        self._link = link

    def send(self, length_bytes: int, deliver: Callable[[], None]) -> None:
        """Put a packet in; ``deliver`` is called when it arrives whole, if it does."""
        now_ns = self._clock.now_ns()
        copies = self.model.enqueue(now_ns, length_bytes).copies
        arrivals = [Arrival(copy.leave_ns, copy.corrupted, copy.marked) for copy in copies]
        self.records += record_packet(now_ns, self._link, self.direction, length_bytes, arrivals)
        whole_ns = [copy.leave_ns for copy in copies if not copy.corrupted]
        if whole_ns:
            self._clock.at(min(whole_ns), deliver)


class ModelAgent:
    """The policy's side: answers each observation, one after the other.

    Args:
        clock: Its time.
        responder: Decides.
        back: The way of its answers.
        inference_s: What a decision costs.
        take: Called with each answer as it arrives at the environment.
    """

    def __init__(
        self,
        clock: EventClock,
        responder: Responder,
        back: ModelDirection,
        inference_s: float,
        take: Callable[[Message], None],
    ) -> None:
        self._clock = clock
        self._responder = responder
        self._back = back
        self._inference_ns = round(inference_s * 1e9)
        self._take = take
        self._waiting: deque[Observation] = deque()
        self._is_busy = False

    def receive(self, message: Message) -> None:
        """Take in what has arrived: an observation is answered once those before it are."""
        if isinstance(message, Observation):
            self._waiting.append(message)
            if not self._is_busy:
                self._go_on()

    def _go_on(self) -> None:
        self._is_busy = False
        while self._waiting and not self._is_busy:
            action = self._responder.receive(self._waiting.popleft())
            if action is None:
                continue
            if not self._inference_ns:
                self._answer(action)
                continue
            self._is_busy = True
            self._clock.at(self._clock.now_ns() + self._inference_ns, functools.partial(self._done, action))

    def _done(self, action: Message) -> None:
        self._answer(action)
        self._go_on()

    def _answer(self, action: Message) -> None:
        self._back.send(frame_bytes(action), lambda: self._take(action))


class ModelChannel:
    """The environment's channel: a ``netlab.wire.channel.Channel`` without a socket.

    Args:
        clock: Its time.
        outward: The way of its observations.
        deliver: Called with each message as it arrives at the agent.
    """

    peer = "the model's agent"

    def __init__(self, clock: EventClock, outward: ModelDirection, deliver: Callable[[Message], None]) -> None:
        self.statistics = Statistics()
        self._clock = clock
        self._outward = outward
        self._deliver = deliver
        self._arrived: list[Received] = []
        self._is_closed = False
        clock.is_readable = lambda: bool(self._arrived)

    def take(self, message: Message) -> None:
        """Take in what has arrived from the agent."""
        self._arrived.append(Received(message, self._clock.now_s()))

    def send(self, message: Message) -> bool:
        """Send a message; see ``Channel.send``."""
        if self._is_closed:
            raise LocalProtocolError("the channel to the model's agent is closed")
        self._outward.send(frame_bytes(message), lambda: self._deliver(message))
        self.statistics.frames_sent += 1
        return True

    def receive(self, timeout_s: float = 0.0) -> list[Received]:
        """Take all messages that have arrived; see ``Channel.receive``."""
        arrived, self._arrived = self._arrived, []
        return arrived

    def fileno(self) -> int:
        """Return a stand-in: the clock knows what has arrived."""
        return -1 if self._is_closed else _ANY_FD

    def close(self, reason: str = "closed") -> None:
        """Say goodbye."""
        if not self._is_closed:
            self.send(Goodbye(reason=reason))
            self._is_closed = True


class ModelDialer:
    """Dials the model's agent, which is always there.

    Args:
        channel: What dialling gives.
        welcome: What the agent says.
    """

    def __init__(self, channel: Channel, welcome: Welcome) -> None:
        self.welcome: Welcome | None = welcome
        self._channel = channel

    def poll(self) -> Channel | None:
        """Return the channel."""
        return self._channel

    def wait(self, timeout_s: float) -> None:
        """Wait for nothing: the first ``poll`` has it."""

    def describe_failure(self, waited_s: float) -> ConnectionLost:
        """Return what cannot happen, in words."""
        return ConnectionLost("the model's agent was not reached")

    def close(self) -> None:
        """Give up nothing."""
