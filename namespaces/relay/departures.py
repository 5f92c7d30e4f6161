"""Departures: frames in flight of all lanes, in the order in which they leave.

::

    Lane, MediumQueue --push--> heap by (leave_ns, arrival) --send_due--> Receiver.deliver

Bounded: beyond ``MAX_HELD_BYTES`` nothing is taken in.
"""

from __future__ import annotations

import heapq
import time
from typing import Protocol

from netlab.namespaces.relay.packet import Packet
from netlab.traces.model.fate import Copy

__all__ = ["MAX_HELD_BYTES", "Departures", "Receiver"]

MAX_HELD_BYTES = 1 << 28
"""What all frames in flight may take together, whatever the limits of the links say."""

# A frame's place in the heap, beside its own bytes.
_PLACE_BYTES = 256
# How many frames leave before the loop looks at what has come.
_SENT_AT_ONCE = 32


class Receiver(Protocol):
    """Where frames go when their time has come."""

    def deliver(self, frame: bytes, packet: Packet, copy: Copy) -> None:
        """Hand one frame over, now."""
        ...

    def forget(self) -> None:
        """Take note that a frame on its way there was dropped."""
        ...


class Departures:
    """Frames and when each leaves, on the monotonic clock."""

    def __init__(self) -> None:
        self._heap: list[tuple[int, int, Receiver, bytes, Packet, Copy]] = []
        self._arrivals = 0
        self.held_bytes = 0

    def push(self, receiver: Receiver, frame: bytes, packet: Packet, copy: Copy) -> None:
        """Hold a frame until it is to leave; of two that leave at one moment the first pushed goes first.

        Args:
            receiver: Who delivers it then.
            frame: The frame.
            packet: What it is a copy of.
            copy: Which copy; says when it leaves.
        """
        self._arrivals += 1
        self.held_bytes += len(frame) + _PLACE_BYTES
        heapq.heappush(self._heap, (copy.leave_ns, self._arrivals, receiver, frame, packet, copy))

    @property
    def is_full(self) -> bool:
        """Whether nothing more may be held."""
        return self.held_bytes >= MAX_HELD_BYTES

    def next_ns(self) -> int:
        """Return when the next frame leaves; 0 where none is held."""
        return self._heap[0][0] if self._heap else 0

    def send_due(self) -> None:
        """Deliver what is due by now, a few at a time."""
        heap = self._heap
        now_ns = time.monotonic_ns()
        for _ in range(_SENT_AT_ONCE):
            if not heap or heap[0][0] > now_ns:
                return
            _, _, receiver, frame, packet, copy = heapq.heappop(heap)
            self.held_bytes -= len(frame) + _PLACE_BYTES
            receiver.deliver(frame, packet, copy)
            now_ns = time.monotonic_ns()

    def packets(self) -> list[Packet]:
        """Return the packets of which a copy is held, each once."""
        return list({id(packet): packet for _, _, _, _, packet, _ in self._heap}.values())

    def forget(self, receivers: set[Receiver]) -> None:
        """Drop every frame on its way to one of these."""
        for entry in self._heap:
            if entry[2] in receivers:
                entry[2].forget()
        self._heap = [entry for entry in self._heap if entry[2] not in receivers]
        heapq.heapify(self._heap)
        self.held_bytes = sum(len(entry[3]) + _PLACE_BYTES for entry in self._heap)
