"""Matching frames: which of the frames that left a link is which of those that entered it. Pure.

::

    entered  s1 s2 s3 s4 ...                    left  d1 d2 d3 ...
       |   same content: the earliest that is still missing; none missing: a second copy
       |   same but for the congestion mark: marked, or corrupted if it takes one flipped bit to get there
       |   one flipped bit: netem's corruption, found by the linearity of CRC-32
       v   nothing left for a frame that entered: lost, or pending if the recording ended too soon to tell
    PacketRecord ...

A frame is known by digests of its bytes; the bytes themselves are not kept. CRC-32 is linear: the CRCs of two
frames of one length differ by a number that depends on the differing bits alone, so a table of the numbers of
all single bits says whether one flipped bit makes one frame the other. Who that may be is first looked for among
the last frames that are missing, then by their CRCs; neither takes longer the more frames there are.

A frame may enter with its UDP or TCP checksum left to be filled in by a device that is not there; netem fills
it in before it flips a bit. So the CRC is taken as it is, without the one and without the other checksum.
"""

from __future__ import annotations

import bisect
import functools
import itertools
import zlib
from collections import defaultdict
from collections.abc import Sequence
from hashlib import blake2b

from msgspec import Struct

from netlab.traces.packets.packet_log import Arrival, PacketRecord, record_packet
from netlab.traces.seed import Direction

__all__ = ["Frame", "Matched", "digest_frame", "match_frames"]

_ETHERNET_BYTES = 14
_IPV4 = b"\x08\x00"
_TRAFFIC_CLASS = _ETHERNET_BYTES + 1
_IP_CHECKSUM = _ETHERNET_BYTES + 10
_IP_HEADER_BYTES = 20
_UDP_CHECKSUM = _ETHERNET_BYTES + _IP_HEADER_BYTES + 6
_TCP_CHECKSUM = _ETHERNET_BYTES + _IP_HEADER_BYTES + 16
_ECN_BITS = 0b11
_POLYNOMIAL = 0xEDB88320
"""CRC-32's, as zlib has it: bits in reverse."""


class Frame(Struct, frozen=True, gc=False):
    """A frame as a tap has seen it.

    Attributes:
        seen_ns: When.
        length_bytes: Its length, Ethernet header included.
        digest: Of all its bytes.
        crcs: CRC-32 of all its bytes; with a UDP checksum's place as zeros; with a TCP checksum's.
        unmarked: Digest of an IPv4 packet without its congestion mark; empty where it can bear none.
    """

    seen_ns: int
    length_bytes: int
    digest: bytes
    crcs: tuple[int, int, int]
    unmarked: bytes = b""


class Matched(Struct, frozen=True):
    """What matching has found.

    Attributes:
        records: A record a packet and further copy.
        strangers: Frames that left and of which nobody saw them enter.
    """

    records: list[PacketRecord]
    strangers: int


def digest_frame(seen_ns: int, data: bytes) -> Frame:
    """Return what is kept of a frame."""
    unmarked = b""
    if (
        data[12:14] == _IPV4
        and len(data) >= _ETHERNET_BYTES + _IP_HEADER_BYTES
        and data[_TRAFFIC_CLASS] & _ECN_BITS
    ):
        plain = bytearray(data)
        plain[_TRAFFIC_CLASS] &= ~_ECN_BITS & 0xFF
        plain[_IP_CHECKSUM : _IP_CHECKSUM + 2] = b"\0\0"
        unmarked = _digest(plain)
    crcs = (zlib.crc32(data), _crc_without(data, _UDP_CHECKSUM), _crc_without(data, _TCP_CHECKSUM))
    return Frame(seen_ns, len(data), _digest(data), crcs, unmarked)


def _crc_without(data: bytes, checksum: int) -> int:
    """Return the CRC of a frame with the two bytes of a checksum as zeros, where it reaches that far."""
    if len(data) < checksum + 2:
        return zlib.crc32(data)
    start = zlib.crc32(b"\0\0", zlib.crc32(data[:checksum]))
    return zlib.crc32(memoryview(data)[checksum + 2 :], start)


def match_frames(
    link: str, direction: Direction, entered: Sequence[Frame], left: Sequence[Frame], end_ns: int
) -> Matched:
    """Return what happened to each frame that entered one direction of a link.

    Args:
        link: Name of the link.
        direction: ``forward`` or ``back``.
        entered: Frames as they entered.
        left: Frames as they left.
        end_ns: When the recording ended: a frame that is missing and was sent less than the longest delay
            before that may still be on its way.
    """
    matching = _Matching(sorted(entered, key=lambda frame: frame.seen_ns))
    strangers = sum(not matching.take(frame) for frame in sorted(left, key=lambda frame: frame.seen_ns))
    records: list[PacketRecord] = []
    for frame, arrivals in matching.pairs():
        records += record_packet(frame.seen_ns, link, direction, frame.length_bytes, arrivals)
    longest_ns = max((record.delay_ns or 0 for record in records), default=0)
    return Matched([_judge(record, end_ns - longest_ns) for record in records], strangers)


def _judge(record: PacketRecord, settled_ns: int) -> PacketRecord:
    """Call a missing packet pending where it was sent too late to be missed."""
    if record.fate != "lost" or record.sent_ns <= settled_ns:
        return record
    return PacketRecord(record.sent_ns, record.link, record.direction, record.length_bytes, "pending", None)


class _Matching:
    """Frames that have entered, in order of time, and what has been found of each."""

    def __init__(self, entered: Sequence[Frame]) -> None:
        self._entered = entered
        self._arrivals: list[list[Arrival]] = [[] for _ in entered]
        self._same: dict[bytes, _Alike] = defaultdict(_Alike)
        self._unmarked: dict[bytes, _Alike] = defaultdict(_Alike)
        # By length: the positions of those that have entered and are missing. A dict keeps order and forgets fast.
        self._missing: dict[int, dict[int, None]] = {frame.length_bytes: {} for frame in entered}
        self._entering = 0
        for position, frame in enumerate(entered):
            self._same[frame.digest].positions.append(position)
            if frame.unmarked:
                self._unmarked[frame.unmarked].positions.append(position)

    def pairs(self) -> list[tuple[Frame, list[Arrival]]]:
        """Return each frame that entered with what left of it."""
        return list(zip(self._entered, self._arrivals, strict=True))

    def take(self, frame: Frame) -> bool:
        """Find which frame this one was, which left no earlier than those before; return whether it was any."""
        self._let_enter(frame.seen_ns)
        corrupted = marked = False
        position = self._choose(self._same.get(frame.digest), frame.seen_ns)
        if position is None and frame.unmarked:
            position = self._choose(self._unmarked.get(frame.unmarked), frame.seen_ns)
            if position is not None:
                corrupted = _is_one_bit_away(self._entered[position], frame)
                marked = not corrupted
        if position is None:
            position, corrupted = self._one_bit_away(frame), True
        if position is None:
            return False
        self._arrivals[position].append(Arrival(frame.seen_ns, corrupted, marked))
        self._missing[self._entered[position].length_bytes].pop(position, None)
        return True

    def _let_enter(self, now_ns: int) -> None:
        """Call what entered by now missing."""
        while self._entering < len(self._entered) and self._entered[self._entering].seen_ns <= now_ns:
            self._missing[self._entered[self._entering].length_bytes][self._entering] = None
            self._entering += 1

    def _choose(self, alike: _Alike | None, seen_ns: int) -> int | None:
        """Return the first of these that entered by then and is missing, else the last that entered by then."""
        if alike is None:
            return None
        positions = alike.positions
        while alike.head < len(positions) and self._arrivals[positions[alike.head]]:
            alike.head += 1
        if alike.head < len(positions) and self._entered[positions[alike.head]].seen_ns <= seen_ns:
            return positions[alike.head]
        entered = bisect.bisect_right(positions, seen_ns, key=lambda position: self._entered[position].seen_ns)
        return positions[entered - 1] if entered else None

    def _one_bit_away(self, frame: Frame) -> int | None:
        """Return which frame this was before a bit of it was flipped; one that is missing if there is any."""
        missing = self._missing.get(frame.length_bytes)
        if missing is None or frame.digest in self._same:
            return None
        # What is on its way is among the last, before what is lost.
        for position in itertools.islice(reversed(missing), frame.length_bytes):
            if _is_one_bit_away(self._entered[position], frame):
                return self._choose(self._same[self._entered[position].digest], frame.seen_ns)
        chosen = [self._choose(alike, frame.seen_ns) for alike in self._one_bit_around(frame)]
        entered = [position for position in chosen if position is not None]
        return max(entered, key=lambda position: (position in missing, position), default=None)

    def _one_bit_around(self, frame: Frame) -> list[_Alike]:
        """Return the frames, alike together, of which one flipped bit makes this one."""
        deltas = _single_bits(frame.length_bytes)
        digests: dict[bytes, None] = {}
        for digests_of, crc in zip(self._by_crc[frame.length_bytes], frame.crcs, strict=True):
            for delta in [delta for delta in deltas if crc ^ delta in digests_of]:
                digests.update(dict.fromkeys(digests_of[crc ^ delta]))
        return [self._same[digest] for digest in digests]

    @functools.cached_property
    def _by_crc(self) -> dict[int, tuple[_ByCrc, _ByCrc, _ByCrc]]:
        """The contents that entered, by length and each of their CRCs."""
        by_crc: dict[int, tuple[_ByCrc, _ByCrc, _ByCrc]] = {length: ({}, {}, {}) for length in self._missing}
        for digest, alike in self._same.items():
            frame = self._entered[alike.positions[0]]
            for digests_of, crc in zip(by_crc[frame.length_bytes], frame.crcs, strict=True):
                digests_of.setdefault(crc, []).append(digest)
        return by_crc


_ByCrc = dict[int, list[bytes]]


def _is_one_bit_away(entered: Frame, left: Frame) -> bool:
    """Tell whether one flipped bit, and a checksum filled in before, makes one frame the other."""
    if entered.length_bytes != left.length_bytes:
        return False
    deltas = _single_bits(left.length_bytes)
    return any(a ^ b in deltas for a, b in zip(entered.crcs, left.crcs, strict=True))


class _Alike:
    """Frames that entered and cannot be told apart: positions, which rise, and where the missing ones begin."""

    __slots__ = ("head", "positions")

    def __init__(self) -> None:
        self.positions: list[int] = []
        self.head = 0


@functools.lru_cache(maxsize=64)
def _single_bits(length_bytes: int) -> frozenset[int]:
    """Return what a single flipped bit makes of the CRC of a frame of this length, for each bit and for none.

    None: the flipped bit is in the checksum that the CRC leaves out.
    """
    # A register of CRC-32 after one flipped bit and n further zero bits, which is all that linearity leaves.
    deltas = [0]
    register = 0
    for _ in range(8 * length_bytes):
        register = (register >> 1) ^ (_POLYNOMIAL if register & 1 else 0) if register else _POLYNOMIAL
        deltas.append(register)
    return frozenset(deltas)


def _digest(data: bytes | bytearray) -> bytes:
    return blake2b(data, digest_size=8).digest()
