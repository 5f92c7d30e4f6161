"""CongestionWindow: how many segments may be on their way.

It matters even where few bytes are sent: it begins with ten segments and loses 30 % of them with each loss, so at
a loss of 10 % messages wait for room, and travel several in a segment.

Source: CUBIC, RFC 9438, as Linux has it; proportional rate reduction, RFC 6937.
"""

from __future__ import annotations

__all__ = ["CongestionWindow"]

FIRST_SEGMENTS = 10
"""RFC 6928."""
UNLIMITED = 2**31 - 1
_CUBIC_C = 0.4
_BETA = 717 / 1024
_FRIENDLY_ACKS = 15 / 8
"""Acknowledged windows in which Reno would gain as much as CUBIC's beta allows, per segment."""


class CongestionWindow:
    """The window of one sender, in segments.

    Attributes:
        segments: How many may be on their way.
        threshold: Below it the window grows by what is acknowledged.
        is_limiting: Whether the last sending ended for want of room.
    """

    __slots__ = (
        "_acked",
        "_credit",
        "_epoch_ns",
        "_most_out",
        "_origin",
        "_peak",
        "_prior",
        "_prior_threshold",
        "_reduced_delivered",
        "_reduced_out",
        "_reno",
        "_root_s",
        "_used",
        "_used_since_ns",
        "_window_end",
        "is_limiting",
        "segments",
        "threshold",
    )

    def __init__(self) -> None:
        self.segments = FIRST_SEGMENTS
        self.threshold = UNLIMITED
        self.is_limiting = False
        self._most_out = self._window_end = 0
        self._used = self._used_since_ns = 0
        self._peak = self._prior = 0
        self._prior_threshold = 0
        self._reduced_delivered = self._reduced_out = 0
        self._epoch_ns = -1
        self._credit = self._acked = self._origin = self._reno = 0
        self._root_s = 0.0

    def note_sending(
        self,
        now_ns: int,
        out: int,
        limited: bool,
        acknowledged: int,
        next_byte: int,
        timeout_ns: int,
        is_open: bool,
    ) -> None:
        """Note how much of the window is in use: it grows only where it limits, and shrinks where it does not."""
        if acknowledged >= self._window_end or limited or (not self.is_limiting and out > self._most_out):
            self.is_limiting, self._most_out, self._window_end = limited, out, next_byte
        if self._may_grow():
            self._used, self._used_since_ns = 0, now_ns
            return
        self._used = max(self._used, out)
        if now_ns - self._used_since_ns >= timeout_ns:
            used = max(self._used, FIRST_SEGMENTS)
            if is_open:
                if used < self.segments:
                    self.threshold = self.kept_threshold()
                    self.segments = (self.segments + used) >> 1
                self._used = 0
            self._used_since_ns = now_ns

    def grow(self, now_ns: int, delivered: int, round_trip_ns: int) -> None:
        """Grow by what was delivered."""
        self._used_since_ns = now_ns
        if not self._may_grow():
            return
        if self.segments < self.threshold:
            grown = min(self.segments + delivered, self.threshold)
            delivered -= grown - self.segments
            self.segments = grown
        if delivered > 0:
            self._grow_cubic(now_ns, delivered, round_trip_ns)

    def reduce(self) -> None:
        """Begin to reduce to 70 %."""
        self._prior = self.segments
        self._reduced_delivered = self._reduced_out = self._credit = 0
        self.threshold = self._reduced_threshold()

    def reduce_to(self, in_flight: int, delivered: int, *, advanced: bool, lost: int) -> None:
        """While reducing: let out in proportion to what was delivered."""
        if delivered <= 0 or not self._prior:
            return
        self._reduced_delivered += delivered
        room = self.threshold - in_flight
        if room < 0:
            sent = -(-self.threshold * self._reduced_delivered // self._prior) - self._reduced_out
        else:
            sent = max(self._reduced_delivered - self._reduced_out, delivered)
            if advanced and not lost:
                sent += 1
            sent = min(room, sent)
        self.segments = in_flight + max(sent, 0 if self._reduced_out else 1)

    def note_reduced_sending(self, count: int) -> None:
        """While reducing: this many were sent."""
        self._reduced_out += count

    def end_reduction(self) -> None:
        """Take the reduced size."""
        self.segments = self.threshold

    def collapse(self, in_flight: int, *, anew: bool) -> None:
        """After a timeout: one more than is believed to be on its way."""
        if anew:
            self._prior_threshold = self.kept_threshold()
            self._prior = self.segments
            self.threshold = self._reduced_threshold()
        self.segments = in_flight + 1
        self._credit = 0

    def keep_for_undo(self, kept: int) -> None:
        """Remember the threshold to which an undo returns; 0 forbids it."""
        self._prior_threshold = kept

    def undo(self) -> None:
        """Take the last reduction back: nothing was lost."""
        if self._prior_threshold:
            self.segments = max(self.segments, self._prior)
            self.threshold = max(self.threshold, self._prior_threshold)

    def kept_threshold(self) -> int:
        """Return the threshold that would be restored, outside a reduction."""
        return max(self.threshold, (self.segments >> 1) + (self.segments >> 2))

    def _may_grow(self) -> bool:
        return self.is_limiting or (self.segments < self.threshold and self.segments < 2 * self._most_out)

    def _reduced_threshold(self) -> int:
        self._epoch_ns = -1
        size = self.segments
        self._peak = int(size * (1 + _BETA) / 2) if size < self._peak else size
        return max(int(size * _BETA), 2)

    def _grow_cubic(self, now_ns: int, delivered: int, round_trip_ns: int) -> None:
        size = self.segments
        self._acked += delivered
        if self._epoch_ns < 0:
            self._epoch_ns, self._acked, self._reno = now_ns, delivered, size
            self._origin = max(self._peak, size)
            self._root_s = ((self._origin - size) / _CUBIC_C) ** (1 / 3)
        since_s = (now_ns - self._epoch_ns + round_trip_ns) / 1e9 - self._root_s
        target = self._origin + int(_CUBIC_C * since_s**3)  # towards the origin, as the kernel rounds
        every = size // (target - size) if target > size else 100 * size
        if not self._peak:
            every = min(every, 20)
        step = int(size * _FRIENDLY_ACKS)
        gained = max(self._acked - 1, 0) // step
        self._acked -= gained * step
        self._reno += gained
        if self._reno > size:
            every = min(every, size // (self._reno - size))
        every = max(every, 2)
        if self._credit >= every:
            self._credit = 0
            self.segments += 1
        self._credit += delivered
        if self._credit >= every:
            gained = self._credit // every
            self._credit -= gained * every
            self.segments += gained
