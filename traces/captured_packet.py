"""CapturedPacket: a packet as a capture file or an interface gave it: bytes with a time."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["CapturedPacket"]


class CapturedPacket(NamedTuple):
    """A packet as it was captured.

    Attributes:
        time_ns: When, since 1970; None where the file does not say.
        link_type: What its first bytes are, a LINKTYPE number.
        data: Its bytes, or the first of them.
        wire_bytes: How long it was.
    """

    time_ns: int | None
    link_type: int
    data: bytes
    wire_bytes: int
