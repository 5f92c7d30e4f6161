"""PacketFile: a packet log that the relay writes while packets pass.

::

    Packet --note, note_pending--> PacketFile --lines of traces/packets/packet_log--> file, bounded
"""

from __future__ import annotations

import time
from typing import IO

from netlab.namespaces.relay.packet import Packet
from netlab.traces.packets.packet_log import PacketRecord, header_lines, record_line, record_packet

__all__ = ["MAX_FILE_BYTES", "PacketFile", "link_label"]

MAX_FILE_BYTES = 1 << 28
"""About five million packets, in memory; what comes after is counted as missed."""


def link_label(number: int) -> str:
    """Return what the file calls a link."""
    return f"link-{number}"


class PacketFile:
    """A packet log being written, each packet as its fate is settled: sorted by whoever reads it.

    Args:
        file: Open for text; ours to close.

    Attributes:
        missed: Packets that there was no room to write down.
    """

    def __init__(self, file: IO[str]) -> None:
        self._file = file
        self._start_ns = time.monotonic_ns()
        self._room_bytes = MAX_FILE_BYTES
        self.missed = 0
        file.write(header_lines({"engine": "relay", "clock": "monotonic", "start": str(self._start_ns)}))

    def note(self, packet: Packet) -> None:
        """Write the lines of a packet of which no copy is on its way any more."""
        start_ns, owner = self._start_ns, packet.owner
        arrivals = [one._replace(delivered_ns=one.delivered_ns - start_ns) for one in packet.arrivals]
        sent_ns, name = packet.sent_ns - start_ns, link_label(owner.number)
        self._write(record_packet(sent_ns, name, owner.direction, packet.length_bytes, arrivals))

    def note_pending(self, packet: Packet) -> None:
        """Write the lines of a packet with a copy on its way as the log ends.

        As in a kernel's log: with a copy that has arrived it counts as a packet that did.
        """
        if packet.arrivals:
            self.note(packet)
            return
        owner, sent_ns = packet.owner, packet.sent_ns - self._start_ns
        name = link_label(owner.number)
        self._write([PacketRecord(sent_ns, name, owner.direction, packet.length_bytes, "pending", None)])

    def close(self) -> None:
        """Write what is still in memory and let go of the file."""
        self._file.close()

    def _write(self, records: list[PacketRecord]) -> None:
        text = "".join(map(record_line, records))
        self._room_bytes -= len(text)  # ASCII: the names are ours
        if self._room_bytes < 0:
            self._room_bytes = 0  # no later, shorter one may seem to follow at once
            self.missed += 1
            return
        self._file.write(text)
