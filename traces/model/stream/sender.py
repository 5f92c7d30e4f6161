"""StreamSender: one end's outgoing bytes: what is sent when, and again when.

::

    write -> [unsent bytes] --room in the window--> Segment -> link
                                                      ^
    acknowledgement -> Flight, RoundTrip, Recovery ---'
    timer:  REORDER    RACK has waited long enough                                                (RFC 8985, 6)
            PROBE      the end of a flight was lost: send something, so that the far end speaks   (RFC 8985, 7)
            TIMEOUT    all is lost: begin anew, slowly                                            (RFC 6298)
"""

from __future__ import annotations

from enum import IntEnum

from netlab.traces.model.stream.flight import Flight
from netlab.traces.model.stream.kernel_timer import KernelTimer, jiffies_of
from netlab.traces.model.stream.loss_detection import LossDetection
from netlab.traces.model.stream.news import News
from netlab.traces.model.stream.outlet import Outlet
from netlab.traces.model.stream.recovery import Next, Recovery, State
from netlab.traces.model.stream.round_trip import LEAST_DEVIATION_NS, RoundTrip
from netlab.traces.model.stream.segment import STAMP_NS, Packet, Segment, stamp
from netlab.traces.model.stream.window import CongestionWindow

__all__ = ["StreamSender"]

LEAST_WAIT_NS = 2_000_000
"""Linux' TCP_TIMEOUT_MIN: what a probe and RACK wait longer than they have computed."""


class _Timer(IntEnum):
    """What the one timer is set for."""

    TIMEOUT = 0
    PROBE = 1
    REORDER = 2


class StreamSender:
    """The sending half of one end.

    Args:
        round_trip_ns: What the handshake took.
        outlet: Takes the packets.

    Attributes:
        unsent_bytes: Written and not sent yet.
        timer: When ``time_out`` is to be called.
    """

    def __init__(self, round_trip_ns: int, outlet: Outlet) -> None:
        self.unsent_bytes = 0
        self.timer = KernelTimer()
        self._outlet = outlet
        self._flight = Flight()
        self._trip = RoundTrip(round_trip_ns)
        self._window = CongestionWindow()
        self._rack = LossDetection()
        self._recovery = Recovery(self._flight, self._window, self._rack, self._trip)
        self._set_for = _Timer.TIMEOUT

    @property
    def next_byte(self) -> int:
        """Return the first byte that has never been sent."""
        return self._flight.next_byte

    @property
    def acknowledged(self) -> int:
        """Return the first byte that is not known to have arrived."""
        return self._flight.acknowledged

    def write(self, now_ns: int, length_bytes: int) -> None:
        """Take bytes and send what there is room for."""
        self.unsent_bytes += length_bytes
        self.send_on(now_ns)

    def take(self, now_ns: int, packet: Packet) -> None:
        """Take an acknowledgement and send again what is lost; ``send_on`` is for the caller."""
        flight, recovery = self._flight, self._recovery
        prior, highest, had_segments = flight.acknowledged, flight.highest_sacked, bool(flight.segments)
        news = News(
            echoed_ns=packet.echoed_ns,
            advanced=packet.acknowledged > prior,
            is_bare=packet.start == packet.end and packet.acknowledged == prior,
        )
        is_old = packet.acknowledged < prior
        if is_old and not packet.blocks and packet.duplicate is None:
            return
        if news.advanced:
            recovery.timeouts = 0
            flight.acknowledged = packet.acknowledged
        self._note(now_ns, packet, news, prior, highest)
        if recovery.probe_end and not is_old:
            recovery.note_probe_answer(news)
        if had_segments or news.has_duplicate:
            self._react(now_ns, news)

    def time_out(self, now_ns: int) -> None:
        """Do what the timer was set for."""
        self.timer.stop()
        if not self._flight.segments:
            return
        if self._set_for is _Timer.REORDER:
            self._end_patience(now_ns)
        elif self._set_for is _Timer.PROBE:
            self._probe(now_ns)
        else:
            self._begin_anew(now_ns)

    def _note(self, now_ns: int, packet: Packet, news: News, prior: int, highest: int) -> None:
        """Learn what has arrived, and what that took."""
        flight, recovery, rack = self._flight, self._recovery, self._rack
        least_ns, end = self._trip.least_ns, recovery.end
        if packet.duplicate is not None:
            recovery.note_duplicate(*packet.duplicate, prior, news)
        reordered = flight.note_blocks(now_ns, packet.blocks, news, rack, least_ns, end)
        if reordered and (recovery.state is not State.LOSS or recovery.undo.is_possible):
            rack.reordering_seen = True
        if flight.remove_acknowledged(now_ns, news, rack, least_ns, end, highest):
            rack.reordering_seen = True
        self._take_round_trip(now_ns, news)
        if news.delivered:
            rack.adapt(news.delivered_then, flight.delivered)

    def _take_round_trip(self, now_ns: int, news: News) -> None:
        sent_ns = news.first_acked_ns
        last_ns = news.last_acked_ns
        if sent_ns is None or news.acked_resent:
            sent_ns = news.first_sacked_ns
        if news.first_sacked_ns is not None:
            last_ns = news.last_sacked_ns
        if sent_ns is None and news.acked:
            sent_ns = last_ns = now_ns - max(stamp(now_ns) - news.echoed_ns, STAMP_NS)
        if sent_ns is not None:
            self._trip.least_ns = min(self._trip.least_ns, max(now_ns - last_ns, 1))
            self._trip.take(now_ns - sent_ns, self._flight.acknowledged, self._flight.next_byte)

    def _react(self, now_ns: int, news: News) -> None:
        recovery = self._recovery
        then = recovery.react(now_ns, news, self.unsent_bytes > 0)
        if recovery.patience_ns:
            self._set_patience(now_ns)
        elif self._moves_timer(now_ns, news) and not (
            self._flight.segments and self._set_probe(now_ns, moved=True)
        ):
            self._set_timeout(now_ns)
        recovery.resize(now_ns, news)
        if then is Next.NEW:
            sent = self._flight.next_byte
            self.send_on(now_ns)
            if self._flight.next_byte > sent:
                return
            recovery.end_trial()
        if then is not Next.NOTHING:
            self._send_lost(now_ns)

    def _moves_timer(self, now_ns: int, news: News) -> bool:
        """Tell whether the news is of something sent after the oldest segment."""
        if news.acked or not self._flight.segments:
            return news.acked
        first_ns = news.first_sacked_ns
        return first_ns is not None and first_ns < self._flight.segments[0].sent_ns

    def send_on(self, now_ns: int) -> None:
        """Send what has never been sent, as far as there is room."""
        flight, window = self._flight, self._window
        sent = 0
        while self.unsent_bytes and flight.in_flight < window.segments:
            self._send_one(now_ns)
            sent += 1
        limited = flight.in_flight >= window.segments
        if sent or limited:
            self._note_sending(now_ns, limited)
        if sent:
            if self._recovery.is_reducing:
                window.note_reduced_sending(sent)
            self._set_probe(now_ns)

    def _send_one(self, now_ns: int) -> None:
        flight = self._flight
        size = min(self.unsent_bytes, self._outlet.room_bytes)
        segment = Segment(flight.next_byte, flight.next_byte + size, now_ns, None, flight.delivered)
        self.unsent_bytes -= size
        flight.next_byte = segment.end
        segment.arrives_ns = self._outlet.emit(now_ns, segment.start, segment.end)
        flight.segments.append(segment)
        if len(flight.segments) == 1 or self._is_set_for(_Timer.PROBE):
            self._set_timeout(now_ns)

    def _note_sending(self, now_ns: int, limited: bool) -> None:
        flight = self._flight
        self._window.note_sending(
            now_ns,
            len(flight.segments),
            limited,
            flight.acknowledged,
            flight.next_byte,
            self._trip.timeout_ns,
            self._recovery.state is State.OPEN,
        )

    def _send_again(self, now_ns: int, segment: Segment) -> bool:
        """Send a segment again that is taken for lost; False where it has not even left the link."""
        is_sent = self._copy(now_ns, segment)
        segment.is_resent |= is_sent
        self._recovery.undo.note_resent(segment.sent_ns)
        return is_sent

    def _copy(self, now_ns: int, segment: Segment) -> bool:
        """Put a segment on the link again, with those behind it that fit, unless it still waits there."""
        if segment.arrives_ns is not None and segment.arrives_ns > now_ns:
            return False
        flight = self._flight
        flight.collapse(now_ns, segment, self._outlet.room_bytes, self._outlet.read_bytes)
        segment.start = max(segment.start, flight.acknowledged)
        segment.was_resent = segment.is_watched = True
        segment.sent_ns, segment.delivered_then = now_ns, flight.delivered
        segment.arrives_ns = self._outlet.emit(now_ns, segment.start, segment.end)
        return True

    def _send_lost(self, now_ns: int) -> None:
        """Send again what is taken for lost, as far as there is room."""
        flight = self._flight
        place = 0
        while place < len(flight.segments) and flight.in_flight < self._window.segments:
            segment = flight.segments[place]
            place += 1
            if not segment.is_lost or segment.is_resent or segment.is_sacked:
                continue
            if not self._send_again(now_ns, segment):
                return
            if self._recovery.is_reducing:
                self._window.note_reduced_sending(1)
            if place == 1 and not self._is_set_for(_Timer.REORDER):
                self._set(now_ns, _Timer.TIMEOUT, self._trip.timeout_ns)

    # The timer

    def _is_set_for(self, what: _Timer) -> bool:
        return self.timer.is_set and self._set_for is what

    def _set(self, now_ns: int, what: _Timer, wait_ns: int) -> None:
        self._set_for = what
        self.timer.set(now_ns, jiffies_of(wait_ns))

    def _until_timeout_ns(self, now_ns: int) -> int:
        """Return how long until the oldest segment's timeout."""
        return self._flight.segments[0].sent_ns + self._trip.timeout_ns - now_ns

    def _set_timeout(self, now_ns: int) -> None:
        if not self._flight.segments:
            self.timer.stop()
            return
        wait_ns = self._trip.timeout_ns
        if self.timer.is_set and self._set_for is not _Timer.TIMEOUT:
            wait_ns = max(self._until_timeout_ns(now_ns), 1)  # it has been running meanwhile
        self._set(now_ns, _Timer.TIMEOUT, wait_ns)

    def _set_probe(self, now_ns: int, *, moved: bool = False) -> bool:
        """Set the timer for a probe, where one may be sent; return whether it is."""
        if self._recovery.state not in (State.OPEN, State.REDUCED):
            return False
        is_alone = len(self._flight.segments) == 1  # its acknowledgement may be held back
        wait_ns = 2 * self._trip.smoothed_ns + (LEAST_DEVIATION_NS if is_alone else LEAST_WAIT_NS)
        timeout_ns = self._trip.timeout_ns if moved else self._until_timeout_ns(now_ns)
        self._set(now_ns, _Timer.PROBE, min(wait_ns, timeout_ns) if timeout_ns > 0 else wait_ns)
        return True

    def _set_patience(self, now_ns: int) -> None:
        wait_ns = min(self._recovery.patience_ns + LEAST_WAIT_NS, self._trip.timeout_ns)
        self._set(now_ns, _Timer.REORDER, wait_ns)

    def _end_patience(self, now_ns: int) -> None:
        recovery = self._recovery
        before = self._flight.in_flight
        lost = recovery.find_lost(now_ns)
        if self._flight.in_flight != before:
            if recovery.state is not State.RECOVERY:
                recovery.enter_recovery()
                self._window.reduce_to(self._flight.in_flight, 1, advanced=False, lost=lost)
            self._send_lost(now_ns)
        if not self._is_set_for(_Timer.TIMEOUT):
            self._set_timeout(now_ns)

    def _probe(self, now_ns: int) -> None:
        flight, recovery = self._flight, self._recovery
        if not recovery.probe_end:
            if self.unsent_bytes:
                self._send_one(now_ns)
                self._note_sending(now_ns, flight.in_flight >= self._window.segments)
                if recovery.is_reducing:
                    self._window.note_reduced_sending(1)
                is_copy, is_sent = False, True
            else:
                is_copy, is_sent = True, self._copy(now_ns, flight.segments[-1])
            if is_sent:
                recovery.probe_is_copy, recovery.probe_end = is_copy, flight.next_byte
                self._set(now_ns, _Timer.TIMEOUT, self._trip.timeout_ns)
                return
        # The timeout has been running since the oldest segment was sent.
        self._set(now_ns, _Timer.TIMEOUT, max(self._until_timeout_ns(now_ns), 1))

    def _begin_anew(self, now_ns: int) -> None:
        self._recovery.enter_loss(now_ns)
        self._recovery.timeouts += 1
        self._send_again(now_ns, self._flight.segments[0])
        self._trip.back_off()
        self._set(now_ns, _Timer.TIMEOUT, self._trip.timeout_ns)
