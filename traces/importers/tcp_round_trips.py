"""TCP round trips: of all connections of a capture, and of each the side that is the path.

::

    near host --- capture ----------- network ----------- far host
        `--- near side ---'`--------------- far side ---------------'      each a TcpSide

A capture is rarely in the middle: one side is a host a few microseconds away, and its round trips are that host's
own doing, up to 40 ms each where it holds its acknowledgements back. So it must not pass for the path. What tells
the two apart, the surest first:

1. Hops: segments with the whole of what a system sets (64, 128, 255) have passed no router. Where that is so of
   one end alone, the path is from it to the other, and without samples of that there is no path.
2. The handshake, which no host holds back: the path is where it took longer.
3. Numbers: a side with fewer than a tenth of the other's samples is left out, as one late answer is no path.
4. The shortest of each side: the path is where it is longer.

What was left out is told beside the trace. Not told apart is a capture of neither hops nor handshake in which the
near host has held back each of its answers.

Source: RFC 9293, section 3.8.6.3 (acknowledgements held back).
"""

from __future__ import annotations

from typing import NamedTuple

from netlab.traces.capture.packet_headers import ACK, RST, SYN, TcpSegment
from netlab.traces.importers.tcp_side import TcpSide

__all__ = ["TcpPath", "TcpRoundTrips"]

MAX_FLOWS = 10_000
_TOO_FEW = 10


class TcpPath(NamedTuple):
    """A connection's two sides.

    Attributes:
        far: The one that is the path.
        near: The other.
    """

    far: TcpSide
    near: TcpSide

    @property
    def n(self) -> int:
        """Return how many samples the path has."""
        return self.far.n


class TcpRoundTrips:
    """All connections of a capture.

    Attributes:
        segments: How many there were.
        without_timestamps: How many of them had no timestamps option.
        left_out: How many were of connections beyond the most that are followed.
    """

    def __init__(self) -> None:
        self.segments = self.without_timestamps = self.left_out = 0
        self._sides: dict[bytes, TcpSide] = {}

    def add(self, segment: TcpSegment) -> None:
        """Take in a segment."""
        self.segments += 1
        if segment.tsval is None:
            self.without_timestamps += not segment.flags & RST
            return
        own = self._side(segment.source, segment.destination)
        other = self._side(segment.destination, segment.source)
        if own is None or other is None:
            self.left_out += 1
            return
        if segment.flags & SYN and own.begins(segment.seq) and not segment.flags & ACK:
            own.forget()
            other.forget()
        before_ns = own.last_ns
        own.send(segment)
        other.echo(segment, before_ns)

    def best(self) -> TcpPath | None:
        """Return the connection whose path has most round trips; None where none has any."""
        best = None
        for key, side in self._sides.items():
            if key > side.there + side.here:
                continue
            path = _path(side, self._sides[side.there + side.here])
            if path.n and (best is None or path.n > best.n):
                best = path
        return best

    @property
    def connections(self) -> int:
        """Return how many connections have timestamps."""
        return len(self._sides) // 2

    def _side(self, here: bytes, there: bytes) -> TcpSide | None:
        side = self._sides.get(here + there)
        if side is None and len(self._sides) < 2 * MAX_FLOWS:
            side = self._sides[here + there] = TcpSide(here, there)
        return side


def _path(one: TcpSide, other: TcpSide) -> TcpPath:
    return TcpPath(one, other) if _is_farther(one, other) else TcpPath(other, one)


def _is_farther(one: TcpSide, other: TcpSide) -> bool:
    """Tell whether the round trips of one side are the path, and not those of the other."""
    if one.is_local != other.is_local:
        return one.is_local
    if not one.n or not other.n:
        return one.n > other.n
    if one.handshake_ns is not None and other.handshake_ns is not None:
        return one.handshake_ns > other.handshake_ns
    if _TOO_FEW * min(one.n, other.n) < max(one.n, other.n):
        return one.n > other.n
    return min(one.samples[1]) > min(other.samples[1])
