"""Packet: one packet from its sender's TAP until each of its copies is delivered or dropped.

::

    Lane --Packet--> split(copies) --> arrive | vanish, a copy each --the last one--> PacketSink.note
                                                                                `--> nowhere, or a PacketFile

What a packet was to its log (delivered, lost, a duplicate) is known only then: the first copy may be refused
and the second one arrive.
"""

from __future__ import annotations

from typing import Protocol

from netlab.traces.packets.packet_log import Arrival
from netlab.traces.seed import Direction

__all__ = ["NOWHERE", "Packet", "PacketOwner", "PacketSink"]


class Packet:
    """One packet, one copy of it at first.

    Args:
        owner: Whose packet it is.
        sent_ns: When it was read, on the monotonic clock.
        length_bytes: Of its frame.

    Attributes:
        arrivals: Its copies that were delivered, on the monotonic clock.
    """

    __slots__ = ("_copies", "arrivals", "length_bytes", "owner", "sent_ns")

    def __init__(self, owner: PacketOwner, sent_ns: int, length_bytes: int) -> None:
        self.owner = owner
        self.sent_ns = sent_ns
        self.length_bytes = length_bytes
        self.arrivals: list[Arrival] = []
        self._copies = 1

    def split(self, copies: int) -> None:
        """Turn one of its copies into so many, or into none."""
        self._copies += copies - 1
        if not self._copies:
            self.owner.log.note(self)

    def arrive(self, arrival: Arrival) -> None:
        """Note that one of its copies was delivered."""
        self.arrivals.append(arrival)
        self.split(0)

    def vanish(self) -> None:
        """Note that one of its copies was dropped."""
        self.split(0)


class PacketSink(Protocol):
    """Takes note of packets."""

    def note(self, packet: Packet) -> None:
        """Note a packet of which no copy is on its way any more."""
        ...


class PacketOwner(Protocol):
    """One direction of a link.

    Attributes:
        number: Of the link.
        direction: Which way.
        log: Who is told what became of its packets.
    """

    number: int
    direction: Direction
    log: PacketSink


class _Nowhere:
    """Nobody asked for a log."""

    def note(self, packet: Packet) -> None:
        """Do nothing."""


NOWHERE: PacketSink = _Nowhere()
