"""StreamConnection: one TCP connection over a link: both ends, both directions, and what happens next.

::

    write(way 0) -> sender 0 --segments, acknowledgements of way 1--> carry 0 --> receiver 0 -> received_bytes(0)
                    receiver 1 <-- carry 1 <-- segments, acknowledgements of way 0 -- sender 1 <- write(way 1)

No clock and no seed: what a packet meets is decided by whoever carries it. Acknowledgements travel on segments of
the other direction where there are any, and by themselves where there are none or something is to be said at once.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable

from netlab.traces.model.stream.kernel_timer import JIFFY_NS, NEVER_NS, KernelTimer
from netlab.traces.model.stream.receiver import StreamReceiver
from netlab.traces.model.stream.segment import Packet, stamp
from netlab.traces.model.stream.sender import StreamSender

__all__ = ["Carry", "StreamConnection"]

Carry = Callable[[int, int], int | None]
"""Put a packet of so many bytes on one direction of the link; returns when it leaves it, None where never."""

DELAYED_ACK_JIFFIES = 40_000_000 // JIFFY_NS
"""Linux' TCP_DELACK_MIN: an acknowledgement waits so long for a segment to travel on."""
_TOGETHER_NS = 1_000
"""What arrives so soon after is read with it."""
_HEADER_BYTES = 14 + 20 + 20 + 12
_SEGMENT_BYTES = 1500 - (20 + 20 + 12)
"""Most bytes of a segment: an Ethernet packet less the headers of IP and TCP with a time stamp."""


class StreamEnd:
    """One end: what it sends on its way, what it receives from the other.

    Args:
        round_trip_ns: What the handshake took.
        carry: Its way.
        arrive: Told of each packet that will arrive at the other end.
        read: Tells what the other end's application has read.
    """

    def __init__(
        self, round_trip_ns: int, carry: Carry, arrive: Callable[[int, Packet], None], read: Callable[[], int]
    ) -> None:
        self.sender = StreamSender(round_trip_ns, self)
        self.receiver = StreamReceiver()
        self.delayed = KernelTimer()
        self._carry = carry
        self._arrive = arrive
        self._read = read

    @property
    def room_bytes(self) -> int:
        """Return the most bytes of the next segment."""
        return _SEGMENT_BYTES - self.receiver.option_bytes

    @property
    def read_bytes(self) -> int:
        """Return how many of its bytes the far application has read."""
        return self._read()

    @property
    def next_ns(self) -> int:
        """Return when a timer goes off."""
        return min(self.sender.timer.expires_ns, self.delayed.expires_ns)

    def take(self, now_ns: int, packet: Packet) -> bool:
        """Take a packet; return whether it brought bytes in order."""
        has_brought = False
        if self.receiver.accepts(now_ns, packet, self.sender.acknowledged):
            self.sender.take(now_ns, packet)
            has_brought = self.receiver.take(now_ns, packet)
            self.sender.send_on(now_ns)
        if self.receiver.is_urgent:
            self._acknowledge(now_ns)
        elif self.receiver.is_due and not self.delayed.is_set:
            self.delayed.set(now_ns, DELAYED_ACK_JIFFIES)
        return has_brought

    def read(self, now_ns: int) -> None:
        """Let the application read all there is."""
        if self.receiver.is_owed:
            self._acknowledge(now_ns)

    def time_out(self, now_ns: int) -> None:
        """Do what the timers ask for that go off now."""
        if self.delayed.expires_ns <= now_ns:
            self.receiver.is_conversing = False
            self._acknowledge(now_ns)
        if self.sender.timer.expires_ns <= now_ns:
            self.sender.time_out(now_ns)

    def _acknowledge(self, now_ns: int) -> None:
        self.emit(now_ns, self.sender.next_byte, self.sender.next_byte)

    def emit(self, now_ns: int, start: int, end: int) -> int | None:
        """Send a packet with these bytes, or none, and what is to be acknowledged."""
        self.delayed.stop()
        if start < end and now_ns - self.receiver.arrived_ns < DELAYED_ACK_JIFFIES * JIFFY_NS:
            self.receiver.is_conversing = True
        length_bytes = _HEADER_BYTES + self.receiver.option_bytes + end - start
        acknowledged, blocks, duplicate = self.receiver.acknowledge()
        packet = Packet(start, end, stamp(now_ns), acknowledged, blocks, duplicate, self.receiver.echoed_ns)
        arrives_ns = self._carry(now_ns, length_bytes)
        if arrives_ns is not None:
            self._arrive(arrives_ns, packet)
        return arrives_ns


def _wait_for_nothing(now_ns: int, way: int) -> None:
    """Refill nothing."""


class StreamConnection:
    """A connection that has just been made.

    Args:
        forward: The link from end 0 to end 1.
        back: The link from end 1 to end 0.
        round_trip_ns: What the handshake took: both ends' first sample.

    Attributes:
        refill: Called with the clock and a way whenever there may be room for what waits there.
    """

    def __init__(self, forward: Carry, back: Carry, round_trip_ns: int) -> None:
        self._under_way: list[tuple[int, int, int, Packet]] = []  # a heap
        self._sent = 0
        self._brought: list[tuple[int, int]] = []
        self.refill: Callable[[int, int], None] = _wait_for_nothing
        self._ends = (
            StreamEnd(
                round_trip_ns,
                forward,
                lambda at_ns, packet: self._push(at_ns, 1, packet),
                lambda: self.received_bytes(0),
            ),
            StreamEnd(
                round_trip_ns,
                back,
                lambda at_ns, packet: self._push(at_ns, 0, packet),
                lambda: self.received_bytes(1),
            ),
        )

    def unsent_bytes(self, way: int) -> int:
        """Return how many bytes wait at the beginning of a way for room in the window."""
        return self._ends[way].sender.unsent_bytes

    def received_bytes(self, way: int) -> int:
        """Return how many bytes have arrived in order at the end of a way."""
        return self._ends[1 - way].receiver.received

    def write(self, now_ns: int, way: int, length_bytes: int) -> None:
        """Write bytes at the beginning of a way: 0 is forward, 1 back.

        Args:
            now_ns: The clock; never earlier than what ``advance`` returned or was asked for.
            way: Which.
            length_bytes: How many.
        """
        self._ends[way].sender.write(now_ns, length_bytes)

    def advance(self, until_ns: int) -> tuple[int, int] | None:
        """Let time pass until bytes arrive in order; return when and on which way, None where none do by then."""
        if self._brought:
            return self._brought.pop(0)
        under_way, ends = self._under_way, self._ends
        while True:
            timers_ns = min(ends[0].next_ns, ends[1].next_ns)
            arrival_ns = under_way[0][0] if under_way else NEVER_NS
            now_ns = min(timers_ns, arrival_ns)
            if now_ns > until_ns or now_ns == NEVER_NS:
                return None
            if arrival_ns > now_ns:
                ends[0].time_out(now_ns)
                ends[1].time_out(now_ns)
                continue  # a timer makes no room
            self._take_arrivals(min(now_ns + _TOGETHER_NS, until_ns))
            if self._brought:
                return self._brought.pop(0)

    def _take_arrivals(self, until_ns: int) -> None:
        """Take all that arrives by then, which is now or nearly; then the applications read."""
        now_ns = 0
        under_way, brought = self._under_way, [False, False]
        while under_way and under_way[0][0] <= until_ns:
            now_ns, _, place, packet = heapq.heappop(under_way)
            brought[place] |= self._ends[place].take(now_ns, packet)
        for place in (0, 1):
            if brought[place]:
                self._ends[place].read(now_ns)
                self._brought.append((now_ns, 1 - place))
            self.refill(now_ns, place)

    def _push(self, at_ns: int, place: int, packet: Packet) -> None:
        self._sent += 1
        heapq.heappush(self._under_way, (at_ns, self._sent, place, packet))
