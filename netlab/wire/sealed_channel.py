"""SealedChannel: what the edge's channels share whatever carries them: life, loss and farewell.

The hot paths, sending and receiving a frame, are each transport's own, so that no call stands between.
"""

from __future__ import annotations

import select
import socket
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import partial

from netlab.errors import ConnectionLost, LocalProtocolError
from netlab.messages import Goodbye, Message
from netlab.wire.brief_look import BriefLook
from netlab.wire.channel import Received
from netlab.wire.pulse import Pulse, Timing
from netlab.wire.statistics import Statistics

__all__ = ["SealedChannel"]

SELECT_LIMIT = 1024
"""Descriptors from here on are beyond ``select``."""


class SealedChannel(ABC):
    """One edge's channel to its remote.

    Args:
        sock: A connected socket that does not block; the channel's own from now on.
        peer: Who is at the other end, for a person to read.
        timing: Heartbeats and deadlines.
        clock: Seconds that never go back.

    Attributes:
        statistics: What went through and what did not.
        peer: Who is at the other end.
    """

    def __init__(self, sock: socket.socket, *, peer: str, timing: Timing, clock: Callable[[], float]) -> None:
        self._socket = sock
        self._clock = clock
        poll = select.poll()
        poll.register(sock, select.POLLIN)
        self._poll = poll.poll
        self._brief_look = BriefLook(partial(self._poll, 0), timing.look_s)
        self._lost = ""
        self.peer = peer
        self.statistics = Statistics()
        self._pulse = Pulse(timing, self.statistics, clock())

    @abstractmethod
    def send(self, message: Message) -> bool:
        """Send a message now or never; see ``Channel.send``."""

    @abstractmethod
    def receive(self, timeout_s: float = 0.0) -> list[Received]:
        """Take all messages that have arrived; see ``Channel.receive``."""

    def fileno(self) -> int:
        """Return the descriptor that becomes readable when something arrives; -1 once closed."""
        return self._socket.fileno()

    def close(self, reason: str = "closed") -> None:
        """Say goodbye where that is possible at once, and let go of the socket."""
        if self._socket.fileno() < 0:
            return
        try:
            if not self._lost:
                self.send(Goodbye(reason=reason[:1000]))
        finally:
            self._lost = "is closed"
            self._socket.close()

    def _wait(self, timeout_s: float) -> None:
        """Wait until something arrives or the time is up, to the microsecond.

        poll is quick but counts whole milliseconds, select is exact and costs twice as much: poll waits for
        all but the last of them. In a process with a thousand open files there is poll alone.
        """
        deadline_s = time.monotonic() + timeout_s
        if self._socket.fileno() >= SELECT_LIMIT:
            self._poll(timeout_s * 1e3)
            return
        whole_ms = int(timeout_s * 1e3) - 1
        if self._brief_look.succeeds(timeout_s) or (whole_ms > 0 and self._poll(whole_ms)):
            return
        select.select((self._socket,), (), (), max(0.0, deadline_s - time.monotonic()))

    def _take_farewell(self, goodbye: Goodbye) -> None:
        self._lost = f"said goodbye: {goodbye.reason}"

    def _finish(self, received: list[Received]) -> list[Received]:
        """Keep the heartbeat going, and report a loss once everything that came before it was returned."""
        # A clock read is dear in virtual time, and what has just arrived bears the time.
        now_s = received[-1].arrival_s if received else self._clock()
        loss = self._pulse.find_loss(now_s)
        if not self._lost:
            self._lost = loss
            heartbeat = self._pulse.beat(now_s)
            if heartbeat is not None:
                self.send(heartbeat)
        if self._lost and not received:
            raise ConnectionLost(
                f"{self.peer} {self._lost}",
                hint="dial again; is the other service running, and the network up?",
            )
        return received

    def _drop(self) -> bool:
        """Refuse to send on a channel that is lost (counted) or closed (a bug of the caller)."""
        if self._socket.fileno() < 0:
            raise self._closed_error()
        self.statistics.send_dropped += 1
        return False

    def _closed_error(self) -> LocalProtocolError:
        return LocalProtocolError(f"the channel to {self.peer} is closed")
