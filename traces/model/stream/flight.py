"""Flight: the segments that are sent and not acknowledged, oldest first; few, so they are counted as needed."""

from __future__ import annotations

from netlab.traces.model.stream.loss_detection import LossDetection
from netlab.traces.model.stream.news import News
from netlab.traces.model.stream.segment import Segment, Span, stamp

__all__ = ["Flight"]


class Flight:
    """What one sender has on its way.

    Attributes:
        segments: Oldest first.
        acknowledged: All bytes before this one have arrived.
        next_byte: The first that has never been sent.
        delivered: Segments that have arrived so far.
    """

    __slots__ = ("acknowledged", "delivered", "next_byte", "segments")

    def __init__(self) -> None:
        self.segments: list[Segment] = []
        self.acknowledged = self.next_byte = 0
        self.delivered = 0

    @property
    def sacked(self) -> int:
        """How many have arrived out of order."""
        return sum(segment.is_sacked for segment in self.segments)

    @property
    def has_lost(self) -> bool:
        """Whether any is taken for lost."""
        return any(segment.is_lost for segment in self.segments)

    @property
    def resent(self) -> int:
        """How many retransmissions are on their way."""
        return sum(segment.is_resent for segment in self.segments)

    @property
    def in_flight(self) -> int:
        """How many packets are believed to be in the network."""
        count = len(self.segments)
        for segment in self.segments:
            count += segment.is_resent - segment.is_sacked - segment.is_lost
        return count

    @property
    def was_resent(self) -> bool:
        """Whether a retransmission is on its way or the oldest segment is one."""
        return bool(self.segments) and (self.segments[0].was_resent or self.resent > 0)

    @property
    def highest_sacked(self) -> int:
        """The end of what has arrived, holes left aside."""
        for segment in reversed(self.segments):
            if segment.is_sacked:
                return segment.end
        return self.acknowledged

    def note_blocks(
        self,
        now_ns: int,
        blocks: tuple[Span, ...],
        news: News,
        rack: LossDetection,
        least_ns: int,
        recovery_end: int,
    ) -> bool:
        """Note what has arrived out of order; return whether a hole was filled by what had not been sent again."""
        has_reordered = False
        for start, end in sorted(blocks):
            for segment in self.segments:
                if (
                    segment.is_sacked
                    or segment.start < start
                    or segment.end > end
                    or segment.end <= self.acknowledged
                ):
                    continue
                rack.note_delivered(now_ns, segment, least_ns)
                if not segment.was_resent:
                    has_reordered |= segment.start < self.highest_sacked
                    news.original |= segment.end <= recovery_end
                    if news.first_sacked_ns is None:
                        news.first_sacked_ns = segment.sent_ns
                    news.last_sacked_ns = segment.sent_ns
                if segment.is_lost:
                    segment.is_lost = segment.is_resent = False
                segment.is_sacked = news.sacked = True
                self._note_delivered(segment, news)
        return has_reordered

    def remove_acknowledged(
        self, now_ns: int, news: News, rack: LossDetection, least_ns: int, recovery_end: int, highest: int
    ) -> bool:
        """Let go of what has arrived in order; return whether what was sent once has filled a hole."""
        segments, has_reordered = self.segments, False
        while segments and segments[0].end <= self.acknowledged:
            segment = segments.pop(0)
            news.acked = True
            if segment.was_resent:
                news.acked_resent = True
            elif not segment.is_sacked:
                if news.first_acked_ns is None:
                    news.first_acked_ns = segment.sent_ns
                news.last_acked_ns = segment.sent_ns
                has_reordered |= segment.start < highest
                news.original |= segment.end <= recovery_end
            if not segment.is_sacked:
                self._note_delivered(segment, news)
                if not segment.was_resent or news.echoed_ns >= stamp(segment.sent_ns):
                    rack.note_delivered(now_ns, segment, least_ns)
        return has_reordered

    def collapse(self, now_ns: int, segment: Segment, room_bytes: int, read_bytes: int) -> None:
        """Put segments that follow into this one, as far as they fit and nobody holds them any more.

        Args:
            now_ns: The clock.
            segment: What is to be sent again.
            room_bytes: The most bytes of a segment.
            read_bytes: What the far application has read; its kernel holds what it has beyond that.
        """
        place = self.segments.index(segment) + 1
        while place < len(self.segments):
            following = self.segments[place]
            arrives_ns = following.arrives_ns
            is_held = arrives_ns is not None and (arrives_ns > now_ns or following.end > read_bytes)
            if is_held or following.is_sacked or following.end - segment.start > room_bytes:
                return
            segment.end = following.end
            segment.was_resent |= following.was_resent
            del self.segments[place]

    def _note_delivered(self, segment: Segment, news: News) -> None:
        self.delivered += 1
        news.delivered += 1
        if segment.sent_ns >= news.newest_sent_ns:
            news.newest_sent_ns, news.delivered_then = segment.sent_ns, segment.delivered_then
