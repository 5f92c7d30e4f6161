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
from netlab.namespaces.relay.lane_counts import LaneCounts
from netlab.namespaces.relay.medium_queue import MediumQueue, make_model
from netlab.namespaces.relay.packet_sink import NOWHERE, PacketSink
from netlab.namespaces.relay.port import Port
from netlab.traces.model.fate import Copy
from netlab.traces.model.link_model import LinkModel
from netlab.traces.qdisc_state import QdiscState
from netlab.traces.seed import Direction

__all__ = ["Lane"]

# Frames read before the loop looks at what is due: bounds how late a departure gets by arrivals.
_READ_AT_ONCE = 8
_LATE_NS = 1_000_000


class Lane:
    """One direction of a link.

    Args:
        source: Where frames come from.
        sink: Where they go.
        departures: Holds those in flight.
        number: Of the link, by which the packet log knows it.
        direction: Which way.
        medium: What frames pass before its own model; None for a link by itself.
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
        self.source = source
        self.number = number
        self.direction: Direction = direction
        self.log: PacketSink = NOWHERE
        self._sink = sink
        self._departures = departures
        self._medium = medium
        self._way_in = _WayIn(self)
        self._model: LinkModel | None = None
        self._received = self._delivered = self._lost = self._over_limit = 0
        self._no_room = self._refused = self._oversized = self._corrupted = self._marked = 0
        self._held = self._late = self._late_sum_ns = self._late_max_ns = 0

    @property
    def state(self) -> QdiscState | None:
        """The state of its model; None as long as it lets everything pass."""
        return self._model.state if self._model is not None else None

    def put(self, state: QdiscState) -> None:
        """Change what happens to packets from now on; those in flight stay in flight.

        Raises:
            ProfileError: The model cannot do this.
        """
        if self._model is None:
            self._model = make_model(state)
        else:
            self._model.apply(state)

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
            while True:
                self.source.read()
        except BlockingIOError:
            return

    def deliver(self, frame: bytes, leave_ns: int, sent_ns: int, label: str) -> None:
        """Write a frame that was held until now."""
        self._held -= 1
        self._write(frame, leave_ns, sent_ns, label)

    @property
    def receivers(self) -> set[Receiver]:
        """Whom frames in flight are addressed to."""
        return {self, self._way_in}

    def counts(self) -> LaneCounts:
        """Return what it has done so far."""
        return LaneCounts(
            received=self._received,
            delivered=self._delivered,
            lost=self._lost,
            over_limit=self._over_limit,
            no_room=self._no_room,
            refused=self._refused,
            oversized=self._oversized,
            corrupted=self._corrupted,
            marked=self._marked,
            late=self._late,
            late_mean_s=self._late_sum_ns / self._delivered / 1e9 if self._delivered else 0.0,
            late_max_s=self._late_max_ns / 1e9,
            held=self._held,
        )

    def _take(self, frame: bytes, now_ns: int) -> None:
        """Bring one frame to the model, through the medium where there is one."""
        if not frame:
            self._oversized += 1
            return
        self._received += 1
        if self._medium is None:
            self.admit(frame, now_ns, now_ns)
        elif self._departures.is_full:
            self._no_room += 1
            self.log.note_lost(self, now_ns, len(frame))
        elif not self._medium.enter(frame, now_ns, self._way_in):
            self._over_limit += 1
            self.log.note_lost(self, now_ns, len(frame))

    def admit(self, frame: bytes, now_ns: int, sent_ns: int) -> None:
        """Let the model decide over one frame."""
        if self._model is None:
            self._write(frame, now_ns, sent_ns, "delivered")
            return
        fate = self._model.enqueue(now_ns, len(frame), ect=is_ecn_capable(frame))
        if fate.over_limit:
            self._over_limit += 1
        if not fate.copies:
            self._lost += fate.lost
            self.log.note_lost(self, sent_ns, len(frame))
            return
        if self._departures.is_full:
            self._no_room += 1
            self.log.note_lost(self, sent_ns, len(frame))
            return
        first = fate.copies[0] if len(fate.copies) == 1 else min(fate.copies, key=_leaves)
        for copy in fate.copies:
            self._hold(copy, frame, sent_ns, is_first=copy is first)

    def _hold(self, copy: Copy, frame: bytes, sent_ns: int, *, is_first: bool) -> None:
        """Keep one copy until it leaves; what goes to the head of the queue leaves at once."""
        label = "marked" if copy.marked else "delivered"
        if copy.marked:
            frame = mark_congestion(frame)
            self._marked += 1
        if copy.corrupted:
            frame, label = flip_bit(frame), "corrupted"
            self._corrupted += 1
        if not is_first:
            label = "duplicate-corrupted" if copy.corrupted else "duplicate"
        if copy.head:
            self._write(frame, copy.leave_ns, sent_ns, label)
            return
        self._held += 1
        self._departures.push(copy.leave_ns, self, frame, sent_ns, label)

    def _write(self, frame: bytes, leave_ns: int, sent_ns: int, label: str) -> None:
        try:
            self._sink.write(frame)
        except OSError:  # down, gone or full: as with a cable, the sender is not told
            self._refused += 1
            self.log.note_lost(self, sent_ns, len(frame))
            return
        now_ns = time.monotonic_ns()
        late_ns = now_ns - leave_ns
        self._delivered += 1
        self._late_sum_ns += late_ns
        self._late += late_ns > _LATE_NS
        self._late_max_ns = max(self._late_max_ns, late_ns)
        self.log.note_delivered(self, sent_ns, len(frame), label, now_ns)


class _WayIn:
    """Where frames that leave the medium enter the lane."""

    def __init__(self, lane: Lane) -> None:
        self.number = lane.number
        self.direction: Direction = lane.direction
        self._lane = lane

    def deliver(self, frame: bytes, leave_ns: int, sent_ns: int, label: str) -> None:
        """Let the lane's own model decide, from now on."""
        self._lane.admit(frame, time.monotonic_ns(), sent_ns)


def _leaves(copy: Copy) -> tuple[bool, bool, int]:
    """Return the order in which copies of one packet count: whole ones first, then as they arrive."""
    return copy.corrupted, not copy.head, copy.leave_ns
