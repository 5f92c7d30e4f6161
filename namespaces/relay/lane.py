"""Lane: one direction through a relay: frames read from one port, put through the model, written to another.

::

    Port --read--> Lane.pump --LinkModel.enqueue--> Departures ... deliver --write--> Port
                                   `- lost, no room: counted        head of the queue: at once

The model decides; a lane keeps the time and the counts. Knows no socket and no lab.
"""

from __future__ import annotations

import time

from netlab.namespaces.relay.departures import Departures, Receiver
from netlab.namespaces.relay.frame_edit import flip_bit, is_ecn_capable, mark_congestion
from netlab.namespaces.relay.medium_queue import MediumQueue
from netlab.namespaces.relay.model_place import ModelPlace
from netlab.namespaces.relay.packet import NOWHERE, Packet, PacketSink
from netlab.namespaces.relay.port import Port
from netlab.traces.model.fate import Copy
from netlab.traces.packets.packet_log import Arrival
from netlab.traces.seed import Direction

__all__ = ["Lane"]

# Frames read before the loop looks at what is due: bounds how late a departure gets by arrivals.
_READ_AT_ONCE = 8
# More than any interface holds at the moment of joining: what comes after it has come since.
_DISCARDED_AT_MOST = 1 << 15


class Lane(ModelPlace):
    """One direction of a link.

    Args:
        source: Where frames come from.
        sink: Where they go.
        departures: Holds those in flight.
        number: Of the link, by which the packet log knows it.
        direction: Which way.
        medium: What frames pass before its own model; None for a link by itself.

    Attributes:
        source: Where frames come from.
        number: Of the link.
        direction: Which way.
        log: Who is told what became of its packets.
    """

    def __init__(
        self,
        source: Port,
        sink: Port,
        departures: Departures,
        number: int,
        direction: Direction,
        medium: MediumQueue | None = None,
    ) -> None:
        super().__init__()
        self.source = source
        self.number = number
        self.direction: Direction = direction
        self.log: PacketSink = NOWHERE
        self._sink = sink
        self._departures = departures
        self._medium = medium
        self._way_in = medium.way_to(self) if medium is not None else None

    def pump(self) -> None:
        """Read what has come, a few frames at a time.

        Raises:
            OSError: The interface is gone.
        """
        read = self.source.read
        for _ in range(_READ_AT_ONCE):
            try:
                frame = read()
            except BlockingIOError:
                return
            self._take(frame, time.monotonic_ns())

    def discard(self) -> None:
        """Drop what had come before anything was to pass.

        Raises:
            OSError: The interface is gone.
        """
        try:
            for _ in range(_DISCARDED_AT_MOST):
                self.source.read()
        except BlockingIOError:
            return

    def deliver(self, frame: bytes, packet: Packet, copy: Copy) -> None:
        """Write a frame that was held until now."""
        self.counts.held -= 1
        self._write(frame, packet, copy)

    def forget(self) -> None:
        """Count no longer a frame that was dropped on its way."""
        self.counts.held -= 1

    @property
    def receivers(self) -> set[Receiver]:
        """Whom frames in flight are addressed to."""
        return {self} if self._way_in is None else {self, self._way_in}

    def admit(self, frame: bytes, now_ns: int, packet: Packet) -> None:
        """Let the model decide over one copy of a packet."""
        if self.model is None:
            self._write(frame, packet, Copy(0, now_ns))
            return
        fate = self.model.enqueue(now_ns, len(frame), ect=is_ecn_capable(frame))
        self.counts.over_limit += fate.over_limit
        self.counts.lost += fate.lost
        if fate.copies and self._departures.is_full:
            self._drop_for_room(packet)
            return
        packet.split(len(fate.copies))
        for copy in fate.copies:
            self._send(copy, frame, packet)

    def _take(self, frame: bytes, now_ns: int) -> None:
        """Bring one frame to the model, through the medium where there is one."""
        if not frame:
            self.counts.oversized += 1
            return
        self.counts.received += 1
        packet = Packet(self, now_ns, len(frame))
        if self._medium is None or self._way_in is None:
            self.admit(frame, now_ns, packet)
        elif self._departures.is_full:
            self._drop_for_room(packet)
        elif not self._medium.enter(frame, now_ns, packet, self._way_in):
            self.counts.over_limit += 1

    def _drop_for_room(self, packet: Packet) -> None:
        self.counts.no_room += 1
        packet.vanish()

    def _send(self, copy: Copy, frame: bytes, packet: Packet) -> None:
        """Keep one copy until it leaves; what goes to the head of the queue leaves at once."""
        if copy.marked:
            frame = mark_congestion(frame)
            self.counts.marked += 1
        if copy.corrupted:
            frame = flip_bit(frame)
            self.counts.corrupted += 1
        if copy.head:
            self._write(frame, packet, copy)
            return
        self.counts.held += 1
        self._departures.push(self, frame, packet, copy)

    def _write(self, frame: bytes, packet: Packet, copy: Copy) -> None:
        try:
            self._sink.write(frame)
        except OSError:  # down, gone or full: as with a cable, the sender is not told
            self.counts.refused += 1
            packet.vanish()
            return
        now_ns = time.monotonic_ns()
        self.counts.count_delivered((now_ns - copy.leave_ns) / 1e9)
        packet.arrive(Arrival(now_ns, copy.corrupted, copy.marked))
