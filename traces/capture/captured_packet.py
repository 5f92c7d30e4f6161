"""CapturedPacket: a packet as a capture file or an interface gave it: bytes with a time."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["MAX_PACKETS", "MAX_PACKET_BYTES", "CapturedPacket"]

MAX_PACKETS = 10_000_000
"""The most of one capture that are read, and recorded unless more is asked for."""

MAX_PACKET_BYTES = 1 << 18
"""The longest packet that is believed, four times the longest there is: tcpdump's own bound."""


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
