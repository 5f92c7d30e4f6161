"""LossDetection: which segments a sender takes for lost, by when those that did arrive were sent.

Source: RACK, RFC 8985, sections 6.2 and 7.1, as Linux has it.
"""

from __future__ import annotations

from collections.abc import Iterable

from netlab.traces.model.stream.segment import Segment

__all__ = ["LossDetection"]

DUPLICATES = 3
"""Segments that must have arrived out of order before a hole is a loss at once; RFC 5681."""
MAX_STEPS = 255
PERSISTENCE = 16
"""Recoveries that a wider window for reordering lasts."""


class LossDetection:
    """RACK of one sender.

    Attributes:
        has_advanced: Something was delivered since the segments were looked at.
        reordering_seen: A hole was once filled by a segment that had not been sent again.
        duplicate_seen: The far end has told of a segment that came twice.
    """

    __slots__ = (
        "_end",
        "_persistence",
        "_round_trip_ns",
        "_sent_ns",
        "_steps",
        "_widened_at",
        "duplicate_seen",
        "has_advanced",
        "reordering_seen",
    )

    def __init__(self) -> None:
        self.has_advanced = self.reordering_seen = self.duplicate_seen = False
        self._sent_ns = self._end = -1
        self._round_trip_ns = 0
        self._steps, self._persistence, self._widened_at = 1, 0, 0

    def note_delivered(self, now_ns: int, segment: Segment, least_ns: int) -> None:
        """Note that a segment has arrived, unless it may have been an earlier copy."""
        round_trip_ns = now_ns - segment.sent_ns
        if round_trip_ns < least_ns and segment.was_resent:
            return
        self.has_advanced = True
        self._round_trip_ns = round_trip_ns
        self._sent_ns, self._end = max((self._sent_ns, self._end), (segment.sent_ns, segment.end))

    def adapt(self, delivered_then: int, delivered: int) -> None:
        """Widen the window for reordering after a needless retransmission, once in a round trip."""
        if delivered_then < self._widened_at:
            self.duplicate_seen = False
        if self.duplicate_seen:
            self.duplicate_seen = False
            self._steps = min(self._steps + 1, MAX_STEPS)
            self._widened_at, self._persistence = delivered, PERSISTENCE
        elif not self._persistence:
            self._steps = 1

    def note_recovery(self, *, needless: bool) -> None:
        """Note that a recovery has ended."""
        if needless:
            self._persistence = min(self._persistence + 1, PERSISTENCE)
        elif self._persistence:
            self._persistence -= 1

    def mark(
        self,
        now_ns: int,
        segments: Iterable[Segment],
        *,
        least_ns: int,
        smoothed_ns: int,
        sacked: int,
        recovering: bool,
    ) -> tuple[int, int]:
        """Mark what is lost.

        Returns:
            How many were marked, and how long to wait until more may be; 0 where nothing is waited for.
        """
        patience_ns = min((least_ns >> 2) * self._steps, smoothed_ns)
        if not self.reordering_seen and (recovering or sacked >= DUPLICATES):
            patience_ns = 0
        self.has_advanced = False
        marked = wait_ns = 0
        for segment in segments:
            if not segment.is_watched or segment.is_sacked or (segment.is_lost and not segment.is_resent):
                continue
            if not segment.was_sent_before(self._sent_ns, self._end):
                continue
            left_ns = self.left_ns(now_ns, segment) + patience_ns
            if left_ns <= 0:
                segment.lose()
                segment.is_watched = False
                marked += 1
            else:
                wait_ns = max(wait_ns, left_ns)
        return marked, wait_ns

    def left_ns(self, now_ns: int, segment: Segment) -> int:
        """Return how long until a segment is overdue, by the last round trip."""
        return self._round_trip_ns - (now_ns - segment.sent_ns)
