"""PacketSink: where a lane tells what became of each frame: nowhere, or a packet log file.

::

    Lane --note_lost, note_delivered--> PacketFile --lines of traces/packets/packet_log--> file
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import IO, Protocol

from netlab.traces.seed import Direction

__all__ = ["NOWHERE", "Noted", "PacketFile", "PacketSink"]


class Noted(Protocol):
    """Whose packet it is.

    Attributes:
        number: Of the link.
        direction: Which way.
    """

    number: int
    direction: Direction


class PacketSink(Protocol):
    """Takes note of frames, times in ns of the monotonic clock."""

    def note_lost(self, lane: Noted, sent_ns: int, length_bytes: int) -> None:
        """Note a frame that no copy of arrives."""
        ...

    def note_delivered(self, lane: Noted, sent_ns: int, length_bytes: int, label: str, delivered_ns: int) -> None:
        """Note a copy that was handed over."""
        ...


class _Nowhere:
    """Nobody asked for a log."""

    def note_lost(self, lane: Noted, sent_ns: int, length_bytes: int) -> None:
        """Do nothing."""

    def note_delivered(self, lane: Noted, sent_ns: int, length_bytes: int, label: str, delivered_ns: int) -> None:
        """Do nothing."""


NOWHERE: PacketSink = _Nowhere()


class PacketFile:
    """A packet log being written, each packet as its fate is settled: sorted by whoever reads it.

    Args:
        file: Open for text; ours to close.
        names: What to call links, by their numbers; ``link-N`` unless given.
    """

    def __init__(self, file: IO[str], names: Mapping[int, str]) -> None:
        self._file = file
        self._names = names
        self._start_ns = time.monotonic_ns()
        file.write(
            f"# netlab packets 1\n# engine relay\n# clock monotonic\n# start {self._start_ns}\n"
            "# columns sent_ns link direction length_bytes fate delivered_ns\n"
        )

    def note_lost(self, lane: Noted, sent_ns: int, length_bytes: int) -> None:
        """Write the line of a frame that does not arrive."""
        self._line(lane, sent_ns, length_bytes, "lost", "-")

    def note_delivered(self, lane: Noted, sent_ns: int, length_bytes: int, label: str, delivered_ns: int) -> None:
        """Write the line of a copy that was handed over."""
        self._line(lane, sent_ns, length_bytes, label, str(delivered_ns - self._start_ns))

    def note_pending(self, lane: Noted, sent_ns: int, length_bytes: int) -> None:
        """Write the line of a copy that is on its way as the log ends."""
        self._line(lane, sent_ns, length_bytes, "pending", "-")

    def close(self) -> None:
        """Write what is still in memory and let go of the file."""
        self._file.close()

    def _line(self, lane: Noted, sent_ns: int, length_bytes: int, label: str, delivered: str) -> None:
        name = self._names.get(lane.number, f"link-{lane.number}")
        sent_ns -= self._start_ns
        self._file.write(f"{sent_ns} {name} {lane.direction} {length_bytes} {label} {delivered}\n")
