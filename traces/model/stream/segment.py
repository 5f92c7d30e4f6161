"""Segment and Packet: what a sender remembers of bytes that it has sent, and what travels. Plain data."""

from __future__ import annotations

from msgspec import Struct

__all__ = ["STAMP_NS", "Packet", "Segment", "Span", "stamp"]

Span = tuple[int, int]
"""Bytes of a stream: the first, and the one after the last."""

STAMP_NS = 1_000_000
"""Time stamps count milliseconds; RFC 7323."""


def stamp(now_ns: int) -> int:
    """Return a moment as a time stamp shows it."""
    return now_ns // STAMP_NS * STAMP_NS


class Segment(Struct):
    """Bytes on their way, until they are acknowledged.

    Attributes:
        start: The first byte.
        end: The byte after the last.
        sent_ns: When it was sent last.
        arrives_ns: When the packet leaves the link; None where it is lost. A sender may not know, but the kernel
            does not send again what still waits in its own netem.
        delivered_then: How many segments had been delivered when it was sent.
        is_sacked: The far end has it, out of order.
        is_lost: Taken for lost.
        is_resent: Its newest copy is a retransmission on its way.
        was_resent: It has been sent more than once.
        is_watched: RACK looks at it: not taken for lost since it was sent last, even if that was undone.
    """

    start: int
    end: int
    sent_ns: int
    arrives_ns: int | None = None
    delivered_then: int = 0
    is_sacked: bool = False
    is_lost: bool = False
    is_resent: bool = False
    was_resent: bool = False
    is_watched: bool = True

    def was_sent_before(self, sent_ns: int, end: int) -> bool:
        """Tell whether this was sent before another one."""
        return self.sent_ns < sent_ns or (self.sent_ns == sent_ns and self.end < end)

    def lose(self) -> None:
        """Take it for lost, or its retransmission where it is taken for lost already."""
        if self.is_sacked:
            return
        if self.is_lost:
            self.is_resent = False
        self.is_lost = True


class Packet(Struct, frozen=True):
    """A packet of TCP: bytes, or none, and an acknowledgement of the other direction.

    Attributes:
        start: Its first byte; the next one of the stream where it carries none.
        end: The byte after the last.
        sent_ns: Its time stamp.
        acknowledged: All bytes of the other direction before this one have arrived.
        blocks: Spans that have arrived beyond it.
        duplicate: A span that arrived again.
        echoed_ns: The stamp of the packet that moved ``acknowledged`` last.
    """

    start: int
    end: int
    sent_ns: int
    acknowledged: int
    blocks: tuple[Span, ...]
    duplicate: Span | None
    echoed_ns: int
