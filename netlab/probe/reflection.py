"""Reflection: what a reflector does with each datagram; a state machine without socket and clock.

::

    datagram --+-- of the handshake --> Responder -------> its answer, or a session opens: Welcome
               +-- of a session, opened --> probe -------> logged; a reply where one is wanted
               |                            log ask -----> a page of the log
               |                            farewell ----> the session is forgotten
               `-- all else ---------------> nothing, counted

No answer is larger than what it answers, and none goes to one who has not shown the key. A session's answers go to
the address that has proven to be the prober's, and nowhere else; what comes from another is not even opened, so
that it uses up no copy of a probe. Copies of probes are answered, of anything else the first alone. Bounded:
sessions, rows a session, replies a second, copies of a probe; an idle session is forgotten, and one that has been
silent for some time makes room for a new one.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import NamedTuple

from msgspec import Struct

from netlab.errors import WireError
from netlab.messages import Goodbye
from netlab.probe import probe_frame as frames
from netlab.probe.arrival_log import MAX_ROWS
from netlab.probe.departure import Departure
from netlab.probe.greeting import build_welcome, find_objection
from netlab.probe.probe_frame import FrameKind, Probe
from netlab.probe.probe_plan import MAX_BYTES, MAX_WAIT_S
from netlab.probe.reflected_session import ReflectedSession
from netlab.probe.reflection_counters import ReflectionCounters
from netlab.wire.address import SocketAddress
from netlab.wire.codec import encode
from netlab.wire.copy_opener import OpenedCopy
from netlab.wire.handshake import Accepted, Reply, Responder
from netlab.wire.key import Key
from netlab.wire.key_agreement import MAX_PROOF_BYTES
from netlab.wire.seal import KIND_SEALED, SEAL_BYTES
from netlab.wire.statistics import Rejection, Statistics

__all__ = ["Answer", "Bounds", "Reflection"]

PeerAddress = SocketAddress


class Bounds(Struct, frozen=True, kw_only=True):
    """What a reflector keeps and does at most.

    Attributes:
        sessions: Sessions at once; the next prober is refused.
        rows: Rows of a session's log.
        idle_s: How long a session lives without a frame.
        quiet_s: After how long without a frame, or ``quiet_probes`` of its probes if that is longer, it makes room
            for a new one when there are too many. No prober waits so long before it asks for its log.
        quiet_probes: See ``quiet_s``.
        rate_slack: Replies a second, as a multiple of the rate that the prober has announced.
        burst: Replies that a session may have saved up: what a path lets out at once after an outage.
    """

    sessions: int = 8
    rows: int = MAX_ROWS
    idle_s: float = 300.0
    quiet_s: float = MAX_WAIT_S + 15.0
    quiet_probes: int = 20
    rate_slack: float = 2.0
    burst: int = 2048


class Answer(NamedTuple):
    """What to send back.

    Attributes:
        address: To whom.
        build: Returns the datagram, given a stamp for it; empty where there is none to send.
        note_sent: To be told the stamp of its sending, taken once it is built and about to leave.
        note_unsent: To be told that it did not leave.
    """

    address: PeerAddress
    build: Callable[[int], bytes]
    note_sent: Callable[[int], None] = lambda stamp_ns: None
    note_unsent: Callable[[Departure], None] = lambda departure: None


class _Arrival(NamedTuple):
    """A frame of a session and how it came."""

    opened: OpenedCopy
    size_bytes: int
    receive_ns: int
    is_stamped: bool
    now_s: float


class Reflection:
    """All probers of one reflector.

    Args:
        key: The shared key.
        now_s: The time; any clock that never goes back.
        bounds: What it keeps and does at most.

    Attributes:
        counters: What it has done.
    """

    def __init__(self, key: Key, now_s: float, bounds: Bounds | None = None) -> None:
        self._bounds = bounds or Bounds()
        self._statistics = Statistics()
        self._responder = Responder(key, self._statistics, now_s)
        self._sessions: dict[int, ReflectedSession] = {}
        self._ended: deque[int] = deque(maxlen=self._bounds.sessions)  # a farewell is said more than once
        self._counters = ReflectionCounters()

    @property
    def counters(self) -> ReflectionCounters:
        """Return what it has done."""
        self._counters.rejected = {str(why): count for why, count in sorted(self._statistics.rejected.items())}
        return self._counters

    @property
    def n_sessions(self) -> int:
        """Return how many probers there are."""
        return len(self._sessions)

    def note_clock(self, steps: int) -> None:
        """Note how often this host's clock has been set so far; sessions that stand say so to their probers."""
        self._counters.clock_steps = steps

    def note_unsent(self, answer: Answer, departure: Departure) -> None:
        """Note that an answer did not leave this host."""
        self._counters.unsent += 1
        answer.note_unsent(departure)

    def take(
        self, packet: bytes, address: PeerAddress, receive_ns: int, now_s: float, *, is_stamped: bool = True
    ) -> Answer | None:
        """Take a datagram from the network; whatever it holds, this does not raise.

        Args:
            packet: The datagram.
            address: Where it says it comes from.
            receive_ns: The stamp of its arrival.
            now_s: The time.
            is_stamped: Whether the kernel has set the stamp.

        Returns:
            What to send back, never more than ``packet`` has; None for nothing.
        """
        is_frame = len(packet) >= SEAL_BYTES and packet[0] == KIND_SEALED
        if len(packet) > (MAX_BYTES if is_frame else MAX_PROOF_BYTES):
            self._statistics.rejected[Rejection.OVERSIZE] += 1
            return None
        if not is_frame:
            return self._greet(packet, address, now_s)
        session = self._sessions.get(int.from_bytes(packet[1:9], "big"))
        if session is None:
            if int.from_bytes(packet[1:9], "big") not in self._ended:
                self._statistics.rejected[Rejection.UNKNOWN] += 1
            return None
        if address != session.address:
            self._counters.elsewhere += 1
            return None
        try:
            opened = session.open(packet)
        except WireError:
            return None
        session.heard_s = now_s
        return self._take_frame(session, _Arrival(opened, len(packet), receive_ns, is_stamped, now_s))

    def forget_idle(self, now_s: float) -> None:
        """Forget the sessions that nobody was heard of for long; call it now and then."""
        self._responder.rotate(now_s)
        for number, session in list(self._sessions.items()):
            if now_s - session.heard_s >= self._bounds.idle_s:
                del self._sessions[number]

    def _greet(self, packet: bytes, address: PeerAddress, now_s: float) -> Answer | None:
        outcome = self._responder.receive(packet, now_s)
        if isinstance(outcome, Reply) and outcome.refusal is None:
            return Answer(address, lambda _: outcome.packet)
        if not isinstance(outcome, Accepted):
            return None  # nor is a refusal sent: it would be an answer to one without the key
        self.forget_idle(now_s)
        session = self._open_session(outcome, address, now_s)
        objection = find_objection(outcome.hello)
        if not objection and not self._has_room(now_s):
            self._statistics.rejected[Rejection.CROWDED] += 1
            objection = f"this reflector serves {self._bounds.sessions} probers already, all it may; try later"
        if objection:
            self._counters.refused += 1
            frame = session.seal(encode(Goodbye(reason=objection, refused=True)))
        else:
            self._counters.sessions += 1
            self._sessions[outcome.agreement.session] = session
            frame = session.seal(encode(build_welcome()))
        self._responder.remember(outcome.agreement.session, frame)
        return Answer(address, lambda _: frame)

    def _has_room(self, now_s: float) -> bool:
        """Whether there is room for another session, once the one that is silent for longest has made some."""
        if len(self._sessions) < self._bounds.sessions:
            return True
        bounds = self._bounds
        quiet = [
            session
            for session in self._sessions.values()
            if now_s - session.heard_s >= max(bounds.quiet_s, bounds.quiet_probes / session.rate_hz)
        ]
        if not quiet:
            return False
        del self._sessions[min(quiet, key=lambda session: session.heard_s).id]
        self._counters.displaced += 1
        return True

    def _open_session(self, accepted: Accepted, address: PeerAddress, now_s: float) -> ReflectedSession:
        bounds = self._bounds
        return ReflectedSession(
            accepted,
            address,
            self._statistics,
            now_s,
            max_rows=bounds.rows,
            reply_rate_hz=bounds.rate_slack * accepted.hello.task.rate_hz,
            burst=bounds.burst,
            clock_steps=self._counters.clock_steps,
        )

    def _take_frame(self, session: ReflectedSession, arrival: _Arrival) -> Answer | None:
        message = arrival.opened.message
        kind = frames.kind_of(message)
        if kind == FrameKind.PROBE and (probe := frames.read_probe(message)) is not None:
            return self._take_probe(session, probe, arrival)
        if arrival.opened.copy:
            self._counters.repeated += 1
            return None
        if kind == FrameKind.LOG_ASK and (page := frames.read_log_ask(message)) is not None:
            return self._hand_over(session, page, arrival.now_s)
        if kind == FrameKind.FAREWELL:
            del self._sessions[session.id]
            self._ended.append(session.id)
            return None
        self._statistics.rejected[Rejection.MALFORMED] += 1
        return None

    def _take_probe(self, session: ReflectedSession, probe: Probe, arrival: _Arrival) -> Answer | None:
        counters, receive_ns = self._counters, arrival.receive_ns
        counters.probes += 1
        counters.copies += arrival.opened.copy > 0
        counters.unstamped += not arrival.is_stamped
        late = session.log.late
        row = session.note(probe.number, receive_ns, is_stamped=arrival.is_stamped)
        if not probe.echo or session.log.late > late or not self._may_answer(session, arrival.now_s):
            return None
        counters.replies += 1
        return Answer(
            session.address,
            session.reply(probe, receive_ns, arrival.size_bytes),
            lambda sent_ns: session.note_reply(row, sent_ns),
            lambda departure: session.note_unsent(row, departure),
        )

    def _hand_over(self, session: ReflectedSession, page: int, now_s: float) -> Answer | None:
        if not self._may_answer(session, now_s):
            return None
        self._counters.pages += 1
        return Answer(session.address, lambda _: session.log_page(page, self._counters.clock_steps))

    def _may_answer(self, session: ReflectedSession, now_s: float) -> bool:
        if session.may_answer(now_s):
            return True
        self._counters.held_back += 1
        return False
