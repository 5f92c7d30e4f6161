"""StreamReceiver: one end's incoming bytes: in order to the application, and what is to be acknowledged, when.

::

    packet -> in order: take -> later spans that join -> received_bytes
           -> ahead:    keep -----> an acknowledgement at once, with the spans that are there
           -> again:    say so ---> at once
"""

from __future__ import annotations

from netlab.traces.model.stream.kernel_timer import JIFFY_NS
from netlab.traces.model.stream.segment import STAMP_NS, Packet, Span

__all__ = ["StreamReceiver"]

MAX_BLOCKS = 3
"""As many as fit beside a time stamp."""
_FIRST_LARGEST_BYTES = 536
_COMPLAINT_JIFFIES = 500_000_000 // JIFFY_NS
"""Packets without data that make no sense are answered so often at most."""


class StreamReceiver:
    """What one end has received.

    Attributes:
        arrived_ns: When bytes arrived in order last.
        received: All bytes before this one have arrived.
        is_due: Something has arrived that is not acknowledged yet.
        is_urgent: It has to be acknowledged at once.
        is_conversing: The application answers, so an acknowledgement may wait for the answer.
        echoed_ns: Stamp to be sent back.
    """

    __slots__ = (
        "_acknowledged",
        "_blocks",
        "_complained_jiffy",
        "_duplicate",
        "_largest_bytes",
        "_unread",
        "arrived_ns",
        "echoed_ns",
        "is_conversing",
        "is_due",
        "is_urgent",
        "received",
    )

    def __init__(self) -> None:
        self.received = 0
        self.is_due = self.is_urgent = False
        self.is_conversing = True
        self.echoed_ns = 0
        self.arrived_ns = 0
        self._unread = 0
        self._acknowledged = 0
        self._blocks: list[Span] = []  # the newest first
        self._duplicate: Span | None = None
        self._complained_jiffy = -_COMPLAINT_JIFFIES
        self._largest_bytes = _FIRST_LARGEST_BYTES

    def accepts(self, now_ns: int, packet: Packet, acknowledged: int) -> bool:
        """Tell whether a packet counts at all; one that does not may have to be answered.

        Linux drops what is older than what moved the stream last (PAWS, RFC 7323): on a link whose packets
        overtake one another this costs acknowledgements, and data behind a retransmission.

        Args:
            now_ns: The clock.
            packet: The packet.
            acknowledged: What this end knows of its own bytes.
        """
        has_data = packet.start < packet.end
        if self.echoed_ns - packet.sent_ns > STAMP_NS:
            if not has_data and packet.start < self.received:
                return False  # an old acknowledgement is common: nothing is said
            if not has_data and packet.start == self.received and packet.acknowledged == acknowledged:
                return True
        elif packet.end >= self._acknowledged:
            if packet.start <= self._acknowledged:
                self.echoed_ns = max(self.echoed_ns, packet.sent_ns)
            return True
        if has_data:
            if packet.start < self.received:
                self._duplicate = (packet.start, min(packet.end, self.received))
                self.is_conversing = False
            self.is_urgent = True
        elif now_ns // JIFFY_NS - self._complained_jiffy >= _COMPLAINT_JIFFIES:
            self._complained_jiffy = now_ns // JIFFY_NS
            self.is_urgent = True
        return False

    @property
    def option_bytes(self) -> int:
        """Return how long the spans are in the header of the next packet."""
        count = min(len(self._blocks) + (self._duplicate is not None), MAX_BLOCKS)
        return 4 + 8 * count if count else 0

    @property
    def is_owed(self) -> bool:
        """Whether what the application has read is to be acknowledged before it answers."""
        return self.is_due and (self._unread > 1 or not self.is_conversing)

    def take(self, now_ns: int, packet: Packet) -> bool:
        """Take a packet that counts; return whether it brings bytes that are next in order."""
        if packet.start == packet.end:
            return False
        self.is_due = True
        had_blocks = bool(self._blocks)
        if packet.end <= self.received:
            self._duplicate = (packet.start, packet.end)
            self.is_urgent = True
            self.is_conversing = False
            return False
        if packet.start > self.received:
            self._keep(packet.start, packet.end)
            self.is_urgent = True
            return False
        self._unread += 1
        self.arrived_ns = now_ns
        self._largest_bytes = max(self._largest_bytes, packet.end - packet.start)
        if packet.start < self.received:
            self._duplicate = (packet.start, self.received)
        self.received = packet.end
        self._join()
        if had_blocks or self._duplicate or self.received - self._acknowledged > self._largest_bytes:
            self.is_urgent = True
        return True

    def acknowledge(self) -> tuple[int, tuple[Span, ...], Span | None]:
        """Return what the next packet says of what has arrived: it is said then."""
        duplicate, self._duplicate = self._duplicate, None
        self.is_due = self.is_urgent = False
        self._unread = 0
        self._acknowledged = self.received
        return self.received, tuple(self._blocks[: MAX_BLOCKS - (duplicate is not None)]), duplicate

    def _keep(self, start: int, end: int) -> None:
        """Keep bytes that are ahead, joined with those they touch."""
        rest = []
        for block in self._blocks:
            if block[1] < start or block[0] > end:
                rest.append(block)
                continue
            if block[0] <= start and end <= block[1]:
                self._duplicate = (start, end)
            start, end = min(start, block[0]), max(end, block[1])
        self._blocks = [(start, end), *rest]

    def _join(self) -> None:
        """Take what follows without a hole."""
        moved = True
        while moved:
            moved = False
            for block in self._blocks:
                if block[0] <= self.received:
                    self.received = max(self.received, block[1])
                    self._blocks.remove(block)
                    moved = True
                    break
