"""TcpSide: one end of a TCP connection: the round trips that begin with its segments, by their timestamps.

::

    here                 capture                        there
     |  data, TSval = 7    |                              |      one round trip: from the first data with a TSval
     |-------------------->o----------------------------->|      to the first segment that echoes it and
     |<--------------------o<-----------------------------|      acknowledges any of this data
     |                     |      ack, TSecr = 7          |

What is measured is the way from the capture to one end and back, so a capture on one of the two ends has whole
round trips of what the other end echoes, and nearly nothing of the other half. A *side* is one such half; which of
the two is the path is for ``tcp_round_trips.py`` to say.

**Held back.** A receiver may hold an acknowledgement back (40 ms on Linux, at most 500 ms by RFC 9293) and echoes
the earliest TSval it owes: such delays are the host's, and they are in the samples. They go away where much is
sent, as every second segment is acknowledged at once, and where the answer itself acknowledges. They are not
filtered: nothing in a segment says that it was held back, and what is slow by a queue looks the same. Of small
messages that nothing answers, all may be held back.

**Data or acknowledgements.** A sender's data are echoed by whatever the receiver sends next. An end that only
receives (a download) is timed by its acknowledgements instead: the other end echoes them in the data that follows.
That holds only while it has data to send, so such a sample counts if the last segment before the echo came after
more than half of it; after a pause it does not. Of a side, whichever gave more samples is used.

**Karn's rule.** Only a segment that begins where all before it have ended is timed. One that repeats a sequence
number is a retransmission (or was overtaken): neither it nor what it repeats is timed, as nobody can know which of
two an echo is of. Only the first echo of a TSval counts. A segment seen again with the same TSval is the capture's
own doing (every packet passes twice on ``any`` and on bridges) and changes nothing; a retransmission within one
tick passes for one, and its error is at most that tick. What cannot be told: an echo that was lost before the
capture and sent again before this end did so.

**Large packets.** A host captures what it sends before its card cuts it: up to 64 KiB and more as one packet. The
first echo of any of it ends the sample, which is that of its first pieces; the last one would add the time the
whole takes on the wire, half a second at 1 Mbit/s.

**Disorder.** A card with several queues may have an echo captured before what it echoes. That is then not timed:
the next echo of it, which may come at any time, would pass for the first.

**Granularity.** A TSval ticks every millisecond on Linux, every ten or so elsewhere. The times are the capture's
own, so this does not round the samples; but of the segments within one tick only the first is timed.

Numbers are compared modulo 2^32, as RFC 9293 and RFC 7323 do.

Source: RFC 7323, section 4 (which TSval an acknowledgement echoes); Karn and Partridge 1987; Nichols' and
Strowes' passive round trips from TCP timestamps.
"""

from __future__ import annotations

from array import array
from typing import NamedTuple

from netlab.traces.capture.packet_headers import ACK, FIN, SYN, TcpSegment, endpoint_text

__all__ = ["TcpSide"]

MAX_WAITING = 4096
MAX_RECENT = 256

_HALF_WORD = 1 << 31
_WORD = 1 << 32
_SURE = 0.5
_DISORDER_TICKS = 1 << 16
_INITIAL_HOPS = (64, 128, 255)
"""What systems set: Linux, macOS and the BSDs; Windows; network equipment."""


def _after(left: int, right: int) -> bool:
    """Tell whether a number of 32 bits comes after another, which may be before the wrap."""
    return 0 < (left - right) % _WORD < _HALF_WORD


class _Waiting(NamedTuple):
    """What is to be echoed.

    Attributes:
        time_ns: Since when.
        seq: Of the first byte that may be acknowledged with it; None for an acknowledgement.
        end_seq: Of the byte after the last.
        opens: Whether it opens the connection: that is answered at once.
    """

    time_ns: int
    seq: int | None
    end_seq: int
    opens: bool


class TcpSide:
    """One end's segments, and the round trips that begin with them.

    Attributes:
        here: Its address and port, packed.
        there: Of the end that echoes.
        retransmissions: How many segments repeated what was sent.
        is_local: Whether no router had passed its segments on when they were captured, as far as one can tell.
        handshake_ns: The shortest round trip of opening the connection, which no host holds back; None if unknown.
    """

    def __init__(self, here: bytes, there: bytes) -> None:
        self.here, self.there = here, there
        self.retransmissions = 0
        self.is_local = True
        self.handshake_ns: int | None = None
        self._data = array("q"), array("q")
        self._acks = array("q"), array("q")
        self._waiting: dict[int, _Waiting] = {}
        self._timed_tsval: int | None = None
        self._early_echo: int | None = None
        self._end_seq: int | None = None
        self._recent: dict[tuple[int, int, int], None] = {}
        self._first_seq: int | None = None
        self._last_ns = 0

    @property
    def by_data(self) -> bool:
        """Tell whether its data are what was timed, and not its acknowledgements."""
        return len(self._data[0]) >= len(self._acks[0])

    @property
    def samples(self) -> tuple[array[int], array[int]]:
        """Return the times at which round trips began and how long they took, both in ns, as they ended."""
        return self._data if self.by_data else self._acks

    @property
    def n(self) -> int:
        """Return how many samples there are."""
        return len(self.samples[0])

    @property
    def label(self) -> str:
        """Return whose round trips they are, for a person."""
        return f"{endpoint_text(self.here)} to {endpoint_text(self.there)} and back"

    def send(self, segment: TcpSegment) -> None:
        """Take in a segment of this end."""
        self._last_ns = segment.time_ns
        if segment.hops_left not in _INITIAL_HOPS:
            self.is_local = False
        assert segment.tsval is not None
        length = segment.payload_bytes + bool(segment.flags & SYN) + bool(segment.flags & FIN)
        if length:
            if self._seen(segment.seq, length, segment.tsval):
                return
            if self._repeats(segment.seq, length):
                self.retransmissions += 1
                self._stop_waiting(segment.seq, length)
                self._waiting.pop(segment.tsval, None)
                if self._timed_tsval is None or _after(segment.tsval, self._timed_tsval):
                    self._timed_tsval = segment.tsval
                return
        if self._timed_tsval is None or _after(segment.tsval, self._timed_tsval):
            self._timed_tsval = segment.tsval
            if self._echoed_early(segment.tsval):
                return
            seq, end_seq = segment.seq if length else None, (segment.seq + length) % _WORD
            self._waiting[segment.tsval] = _Waiting(segment.time_ns, seq, end_seq, bool(segment.flags & SYN))
            if len(self._waiting) > MAX_WAITING:
                del self._waiting[next(iter(self._waiting))]

    def begins(self, seq: int) -> bool:
        """Take note of the first sequence number of a connection; return whether it is another than before."""
        other = self._first_seq is not None and self._first_seq != seq
        self._first_seq = seq
        return other

    def forget(self) -> None:
        """Wait for nothing more: a new connection has the addresses and ports of this one. Samples stay."""
        self._waiting.clear()
        self._recent.clear()
        self._timed_tsval = self._early_echo = self._end_seq = None

    def _echoed_early(self, tsval: int) -> bool:
        """Tell whether the echo of a TSval, or of a later one, was captured already."""
        return self._early_echo is not None and (self._early_echo - tsval) % _WORD < _DISORDER_TICKS

    def _seen(self, seq: int, length: int, tsval: int) -> bool:
        copy = seq, length, tsval
        if copy in self._recent:
            return True
        self._recent[copy] = None
        if len(self._recent) > MAX_RECENT:
            del self._recent[next(iter(self._recent))]
        return False

    def _repeats(self, seq: int, length: int) -> bool:
        """Tell whether a segment begins before all that was sent; take note of where it ends."""
        end_seq = (seq + length) % _WORD
        repeats = self._end_seq is not None and _after(self._end_seq, seq)
        if self._end_seq is None or _after(end_seq, self._end_seq):
            self._end_seq = end_seq
        return repeats

    def echo(self, segment: TcpSegment, before_ns: int) -> None:
        """Take in a segment of the other end.

        Args:
            segment: What it echoes may be a TSval of this end.
            before_ns: When the other end's segment before it came.
        """
        assert segment.tsecr is not None
        waiting = self._waiting.get(segment.tsecr)
        if not segment.flags & ACK:
            return
        if waiting is None:
            self._early_echo = segment.tsecr
            return
        if waiting.seq is not None and not _after(segment.ack, waiting.seq):
            return  # echoed for the sake of an older segment: of the same tick, or beyond a hole
        for tsval in list(self._waiting):  # in the order of sending: what came before will not be echoed
            del self._waiting[tsval]
            if tsval == segment.tsecr:
                break
        delay_ns = segment.time_ns - waiting.time_ns
        if delay_ns < 0:
            return
        if waiting.opens:
            self.handshake_ns = delay_ns if self.handshake_ns is None else min(self.handshake_ns, delay_ns)
        if waiting.seq is not None:
            self._keep(self._data, waiting.time_ns, delay_ns)
        elif segment.payload_bytes and before_ns - waiting.time_ns > _SURE * delay_ns:
            self._keep(self._acks, waiting.time_ns, delay_ns)

    def _stop_waiting(self, seq: int, length: int) -> None:
        """No longer time what is being sent again: its echo may be of either."""
        end_seq = (seq + length) % _WORD
        for tsval, waiting in list(self._waiting.items()):
            if waiting.seq is not None and _after(waiting.end_seq, seq) and _after(end_seq, waiting.seq):
                del self._waiting[tsval]

    @property
    def last_ns(self) -> int:
        """Return when its last segment passed; 0 before the first."""
        return self._last_ns

    @staticmethod
    def _keep(samples: tuple[array[int], array[int]], time_ns: int, delay_ns: int) -> None:
        samples[0].append(time_ns)
        samples[1].append(delay_ns)
