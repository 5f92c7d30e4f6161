"""Departures: frames in flight of all lanes, in the order in which they leave.

::

    Lane.take --push--> heap by (leave_ns, arrival) --send_due--> Lane.deliver

Bounded: beyond ``MAX_HELD_BYTES`` nothing is taken in.
"""

from __future__ import annotations

import heapq
import time
from collections.abc import Iterator
from typing import Protocol

from netlab.namespaces.relay.packet_sink import Noted

__all__ = ["MAX_HELD_BYTES", "Departures", "Receiver"]

MAX_HELD_BYTES = 1 << 28
"""What all frames in flight may take together, whatever the limits of the links say."""

# A frame's place in the heap, beside its own bytes.
_PLACE_BYTES = 256
# How many frames leave before the loop looks at what has come.
_SENT_AT_ONCE = 32


class Receiver(Noted, Protocol):
    """The far side of a lane."""

    def deliver(self, frame: bytes, leave_ns: int, sent_ns: int, label: str) -> None:
        """Hand one frame over, now."""
        ...


class Departures:
    """Frames and when each leaves, on the monotonic clock."""

    def __init__(self) -> None:
        self._heap: list[tuple[int, int, Receiver, bytes, int, str]] = []
        self._arrivals = 0
        self.held_bytes = 0

    def push(self, leave_ns: int, receiver: Receiver, frame: bytes, sent_ns: int, label: str) -> None:
        """Hold a frame until it is to leave; of two that leave at one moment the first pushed goes first.

        Args:
            leave_ns: When it leaves.
            receiver: Who delivers it then.
            frame: The frame.
            sent_ns: When it was read.
            label: What the packet log calls its fate.
        """
        self._arrivals += 1
        self.held_bytes += len(frame) + _PLACE_BYTES
        heapq.heappush(self._heap, (leave_ns, self._arrivals, receiver, frame, sent_ns, label))

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
            leave_ns, _, receiver, frame, sent_ns, label = heapq.heappop(heap)
            self.held_bytes -= len(frame) + _PLACE_BYTES
            receiver.deliver(frame, leave_ns, sent_ns, label)
            now_ns = time.monotonic_ns()

    def held(self) -> Iterator[tuple[Receiver, int, int]]:
        """Yield each frame's receiver, when it was read and its length."""
        for _, _, receiver, frame, sent_ns, _ in self._heap:
            yield receiver, sent_ns, len(frame)

    def forget(self, receivers: set[Receiver]) -> None:
        """Drop every frame on its way to one of these."""
        self._heap = [entry for entry in self._heap if entry[2] not in receivers]
        heapq.heapify(self._heap)
        self.held_bytes = sum(len(entry[3]) + _PLACE_BYTES for entry in self._heap)
