"""MediumQueue: a rate and a queue that several links of a relay share, before each one's own model.

::

    Lane a --enter--.                        .--> Lane a .admit: its own delay and loss
    Lane b --enter--+--> one LinkModel ------+--> Lane b .admit
                         `- no room: dropped
"""

from __future__ import annotations

import time
from typing import Protocol

from netlab.namespaces.relay.departures import Departures
from netlab.namespaces.relay.model_place import ModelPlace
from netlab.namespaces.relay.packet import Packet
from netlab.traces.model.fate import Copy

__all__ = ["Admitting", "MediumQueue", "WayOut"]


class Admitting(Protocol):
    """A lane behind the medium."""

    def admit(self, frame: bytes, now_ns: int, packet: Packet) -> None:
        """Let the lane's own model decide over one copy."""
        ...


class MediumQueue(ModelPlace):
    """What links of one medium have in common.

    Args:
        departures: Holds the frames in it.
    """

    def __init__(self, departures: Departures) -> None:
        super().__init__()
        self._departures = departures

    def way_to(self, lane: Admitting) -> WayOut:
        """Return who gets a lane's frames when their turn has come."""
        return WayOut(self, lane)

    def enter(self, frame: bytes, now_ns: int, packet: Packet, way_out: WayOut) -> bool:
        """Let a frame wait for its turn.

        Args:
            frame: The frame.
            now_ns: Now.
            packet: What it is a copy of.
            way_out: Where it goes when its turn has come.

        Returns:
            Whether it found room.
        """
        counts = self.counts
        counts.received += 1
        if self.model is None:
            way_out.pass_at_once(frame, now_ns, packet)
            return True
        fate = self.model.enqueue(now_ns, len(frame))
        counts.over_limit += fate.over_limit
        counts.lost += fate.lost
        counts.held += len(fate.copies)
        packet.split(len(fate.copies))
        for copy in fate.copies:
            self._departures.push(way_out, frame, packet, copy)
        return bool(fate.copies)


class WayOut:
    """Where the frames of one lane leave a medium."""

    def __init__(self, medium: MediumQueue, lane: Admitting) -> None:
        self._counts = medium.counts
        self._lane = lane

    def deliver(self, frame: bytes, packet: Packet, copy: Copy) -> None:
        """Let the lane's own model decide, from now on."""
        now_ns = time.monotonic_ns()
        self._counts.held -= 1
        self._counts.count_delivered((now_ns - copy.leave_ns) / 1e9)
        self._lane.admit(frame, now_ns, packet)

    def forget(self) -> None:
        """Count no longer a frame that was dropped on its way."""
        self._counts.held -= 1

    def pass_at_once(self, frame: bytes, now_ns: int, packet: Packet) -> None:
        """Let a frame pass that the medium does not hold."""
        self._counts.count_delivered(0.0)
        self._lane.admit(frame, now_ns, packet)
