"""ReflectedSession: one prober, as its reflector sees it: keys, log, the replies it may still have. Pure."""

from __future__ import annotations

from collections.abc import Callable

from netlab.errors import ConnectionLost
from netlab.probe.arrival_log import ArrivalLog
from netlab.probe.departure import Departure
from netlab.probe.probe_frame import SEEN_BITS, Probe, ProbeReply, build_log_page, build_reply
from netlab.wire.address import SocketAddress
from netlab.wire.copy_opener import CopyOpener
from netlab.wire.handshake import Accepted
from netlab.wire.seal import Sealer
from netlab.wire.statistics import Statistics

__all__ = ["ReflectedSession"]

_SEEN_MASK = (1 << SEEN_BITS) - 1


class ReflectedSession:
    """One prober.

    Args:
        accepted: What the handshake has led to.
        address: The address that has proven to be the prober's; the only one that is answered.
        statistics: Where frames that are not believed are counted.
        now_s: The time.
        max_rows: Rows of its log.
        reply_rate_hz: Answers a second it may have in the long run.
        burst: Answers it may have saved up.
        clock_steps: How often this host's clock has been set so far.

    Attributes:
        id: Identity of the session.
        address: The prober's.
        heard_s: When a frame of it came last.
        log: What has come.
        rate_hz: Probes a second that it has announced.
    """

    def __init__(
        self,
        accepted: Accepted,
        address: SocketAddress,
        statistics: Statistics,
        now_s: float,
        *,
        max_rows: int,
        reply_rate_hz: float,
        burst: int,
        clock_steps: int = 0,
    ) -> None:
        agreement = accepted.agreement
        self.id = agreement.session
        self.address = address
        self.heard_s = now_s
        self.log = ArrivalLog(max_rows)
        self.rate_hz = accepted.hello.task.rate_hz
        self.open = CopyOpener(agreement.receiving, agreement.session, statistics).open
        self._seal = Sealer(agreement.sending, agreement.session).seal
        self._reply_rate_hz = reply_rate_hz
        self._burst = burst
        self._credit = float(burst)
        self._credit_s = now_s
        self._clock_steps = clock_steps
        self._has_unstamped = False
        self._replies = 0
        self._highest = -1
        self._seen = 0  # bit i: probe highest - i has arrived

    def seal(self, message: bytes) -> bytes:
        """Return a sealed frame; empty where the session's key has sealed all it may."""
        try:
            return self._seal(message)
        except ConnectionLost:
            return b""

    def may_answer(self, now_s: float) -> bool:
        """Whether another answer is within the rate; if so, it is taken from the credit."""
        self._credit = min(self._burst, self._credit + (now_s - self._credit_s) * self._reply_rate_hz)
        self._credit_s = now_s
        if self._credit < 1.0:
            return False
        self._credit -= 1.0
        return True

    def note(self, number: int, receive_ns: int, *, is_stamped: bool = True) -> int | None:
        """Note that a probe has arrived; return its row in the log, None where it is late or has no room."""
        self._has_unstamped |= not is_stamped
        ahead = number - self._highest
        if ahead > 0:
            self._seen = (self._seen << min(ahead, SEEN_BITS + 1) | 1) & (_SEEN_MASK << 1 | 1)
            self._highest = number
        elif -ahead <= SEEN_BITS:
            self._seen |= 1 << -ahead
        return self.log.add(number, receive_ns)

    def reply(self, probe: Probe, receive_ns: int, size_bytes: int) -> Callable[[int], bytes]:
        """Return what builds the reply to the probe that was noted last, given a stamp for it."""
        behind = self._highest - probe.number
        seen = self._seen >> (behind + 1) & _SEEN_MASK if behind <= SEEN_BITS else 0
        reply_number = self._replies
        self._replies += 1

        def build(stamp_ns: int) -> bytes:
            reply = ProbeReply(probe.number, receive_ns, max(stamp_ns, receive_ns), seen, reply_number)
            return self.seal(build_reply(reply, size_bytes))

        return build

    def note_reply(self, row: int | None, sent_ns: int) -> None:
        """Note when the probe of a row was answered."""
        if row is not None:
            self.log.note_reply(row, sent_ns)

    def note_unsent(self, row: int | None, departure: Departure) -> None:
        """Note that the reply to the probe of a row did not leave; where there was no way, that way lost it."""
        if row is not None and departure is Departure.NO_ROOM:
            self.log.note_unsent(row)

    def log_page(self, page: int, clock_steps: int = 0) -> bytes:
        """Return a page of the log, sealed; the log is closed from now on.

        Args:
            page: Which.
            clock_steps: How often this host's clock has been set so far.
        """
        clock_set = clock_steps > self._clock_steps
        return self.seal(build_log_page(self.log.page(page, clock_set=clock_set, unstamped=self._has_unstamped)))
