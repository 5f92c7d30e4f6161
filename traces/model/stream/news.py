"""News: what one acknowledgement has told a sender. Plain data."""

from __future__ import annotations

from msgspec import Struct

__all__ = ["News"]


class News(Struct):
    """What one packet has told.

    Attributes:
        echoed_ns: The stamp it sends back.
        advanced: More bytes have arrived in order.
        is_bare: It brings no bytes and moves nothing.
        acked: A segment is done with.
        acked_resent: One that had been sent again.
        sacked: A segment has arrived out of order.
        original: One arrived that had been sent before the last loss, and only once.
        has_duplicate: The far end has had something twice.
        delivered: Segments that have arrived.
        delivered_then: Segments delivered when the newest of these was sent.
        newest_sent_ns: When that was.
        first_acked_ns: When the first segment was sent that is done with and was sent once; None without one.
        last_acked_ns: The last one.
        first_sacked_ns: The same of those out of order.
        last_sacked_ns: The last one.
    """

    echoed_ns: int
    advanced: bool
    is_bare: bool
    acked: bool = False
    acked_resent: bool = False
    sacked: bool = False
    original: bool = False
    has_duplicate: bool = False
    delivered: int = 0
    delivered_then: int = 0
    newest_sent_ns: int = -1
    first_acked_ns: int | None = None
    last_acked_ns: int = 0
    first_sacked_ns: int | None = None
    last_sacked_ns: int = 0
