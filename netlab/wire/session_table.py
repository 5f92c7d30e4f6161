"""SessionTable: all edges of one listener, whatever carries them: who may enter, who is heard, who must go.

Bounded: so many sessions, and of those that have proven nothing none at all. Knows no socket.

::

    packet -> greet -> Reply | Accepted -> admit -> Opened
    frame  -> the transport finds the session, opens, decodes -> take -> Received | Closed
    time   -> check -> heartbeats out, Closed for the silent
"""

from __future__ import annotations

import math

from netlab.errors import WireError
from netlab.messages import Goodbye, Heartbeat, Message
from netlab.wire.channel import Received
from netlab.wire.handshake import Accepted, Reply, Responder
from netlab.wire.key import Key
from netlab.wire.pulse import Timing
from netlab.wire.session import Closed, Event, Opened, Refused, Session
from netlab.wire.statistics import Rejection, Statistics

__all__ = ["SessionTable"]

REFUSED_EVENT_S = 1.0
"""A flood of strangers makes a counter grow, not a list."""


class SessionTable:
    """The sessions of one listener.

    Args:
        key: The shared key.
        timing: Heartbeats and deadlines.
        max_sessions: Most edges at once; further ones are told to try again.
        now_s: The time.

    Attributes:
        sessions: The open ones by identity.
        events: What there is to tell; whoever tells it puts a new list here.
        next_check_s: When ``check`` has something to do.
        statistics: What belongs to no session.
        timing: Heartbeats and deadlines.
    """

    def __init__(self, key: Key, timing: Timing, max_sessions: int, now_s: float) -> None:
        self.sessions: dict[int, Session] = {}
        self.events: list[Event] = []
        self.next_check_s = now_s
        self.statistics = Statistics()
        self.timing = timing
        self.responder = Responder(key, self.statistics, now_s)
        self._max_sessions = max_sessions
        self._next_refused_s = -math.inf

    def greet(self, packet: bytes, peer: str, now_s: float) -> Reply | Accepted | None:
        """Answer a packet of the handshake; see ``Responder.receive``."""
        outcome = self.responder.receive(packet, now_s)
        if isinstance(outcome, Reply) and outcome.refusal is not None:
            self.refuse(peer, outcome.refusal, now_s)
        return outcome

    def refuse(self, peer: str, error: WireError, now_s: float) -> None:
        """Tell that somebody was turned away, unless that was told a moment ago."""
        if now_s >= self._next_refused_s:
            self._next_refused_s = now_s + REFUSED_EVENT_S
            self.events.append(Refused(peer, error))

    def admit(self, session: Session, now_s: float) -> None:
        """Enter a session; the one it replaces (same run: the edge has dialled again) is closed first."""
        for other in list(self.sessions.values()):
            if other.is_closed:
                del self.sessions[other.id]
            elif other.hello.run == session.hello.run:
                self.end(other, "the edge has dialled again")
        if len(self.sessions) >= self._max_sessions:
            self.statistics.rejected[Rejection.CROWDED] += 1
            session.close(f"this listener serves {self._max_sessions} edges already, all it may")
            return
        self.sessions[session.id] = session
        self.events.append(Opened(session, session.hello, now_s))

    def take(self, session: Session, message: Message, now_s: float) -> None:
        """Take a message that has verified and decoded.

        Args:
            session: Who sent it.
            message: What.
            now_s: When it arrived.
        """
        if message.__class__ is Goodbye:
            self.end(session, f"the edge said goodbye: {message.reason}")
        elif message.__class__ is not Heartbeat:
            self.events.append(Received(message, now_s, session))

    def end(self, session: Session, reason: str) -> None:
        """End a session that the peer or the network has ended."""
        self.sessions.pop(session.id, None)
        if not session.is_closed:
            session.is_closed = True
            session.release()
            self.events.append(Closed(session, reason))

    def check(self, now_s: float) -> None:
        """Send the heartbeats that are due and end sessions that are silent."""
        self.next_check_s = now_s + self.check_interval_s
        self.responder.rotate(now_s)
        for session in list(self.sessions.values()):
            if session.is_closed:
                del self.sessions[session.id]
                continue
            heartbeat = session.pulse.beat(now_s)
            if heartbeat is not None:
                session.send(heartbeat)
            reason = session.lost or session.pulse.find_loss(now_s)
            if reason:
                self.end(session, reason)

    @property
    def check_interval_s(self) -> float:
        """How often ``check`` has something to do."""
        return self.timing.heartbeat_s / 2.0
