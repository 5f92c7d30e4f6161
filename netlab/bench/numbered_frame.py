"""NumberedFrame: an Ethernet frame told from all others, and what a link did to it, even with a bit flipped.

::

    MACs, IPv4 | header, its checksum chosen | number, three times | zeros
                 a mark changes many bits      one flip leaves two

Whole frames are compared: a flipped bit may lie where no receiver would look (type of service, checksum).
"""

from __future__ import annotations

import struct
from functools import lru_cache
from typing import NamedTuple

from netlab.errors import LabError

__all__ = ["LEAST_BYTES", "NumberedFrame", "number_of"]

_ETHERNET = bytes.fromhex("0200000009020200000009010800")
_IP = struct.Struct(">BBHHHBBH4s4s")
_NUMBER = struct.Struct(">3I")
_NUMBER_AT = len(_ETHERNET) + _IP.size
LEAST_BYTES = _NUMBER_AT + _NUMBER.size

_ECT, _CE = 2, 3
_EXPERIMENT = 253
"""A protocol that no host answers (RFC 3692)."""
_NEAR, _FAR = bytes((10, 9, 0, 1)), bytes((10, 9, 0, 2))


class NumberedFrame(NamedTuple):
    """A frame as it is sent, and as it would be with a mark.

    Attributes:
        plain: As sent.
        marked: With the mark of congestion; None where its sender cannot do with one.
    """

    plain: bytes
    marked: bytes | None

    @classmethod
    def make(cls, number: int, length_bytes: int, *, ect: bool) -> NumberedFrame:
        """Return the frame of a number.

        Args:
            number: 0 .. 2^32 - 1.
            length_bytes: With the MAC header; at least ``LEAST_BYTES``.
            ect: Whether it may be marked instead of lost.
        """
        body = _NUMBER.pack(number, number, number) + bytes(length_bytes - LEAST_BYTES)
        plain, marked = _heads(length_bytes - len(_ETHERNET), ect)
        return cls(plain + body, marked + body if ect else None)

    def look(self, seen: bytes) -> tuple[int | None, bool]:
        """Return which bit of this frame, as it has come, is flipped (None: none), and whether it was marked.

        Raises:
            LabError: It is neither the frame nor the frame with one bit flipped.
        """
        for sent, is_marked in ((self.plain, False), (self.marked, True)):
            if seen == sent:
                return None, is_marked
            if sent is not None and len(seen) == len(sent):
                difference = int.from_bytes(seen, "big") ^ int.from_bytes(sent, "big")
                if difference.bit_count() == 1:
                    return 8 * len(seen) - difference.bit_length(), is_marked
        raise LabError(f"a frame came with more than one bit changed: {seen[:60].hex()}")


def number_of(seen: bytes) -> int:
    """Return the number of a frame in which at most one bit is wrong.

    Raises:
        LabError: It is no numbered frame.
    """
    if len(seen) >= LEAST_BYTES:
        first, second, third = _NUMBER.unpack_from(seen, _NUMBER_AT)
        if first in (second, third):
            return int(first)
        if second == third:
            return int(second)
    raise LabError(f"a frame came that nobody sent here: {seen[:60].hex()}")


@lru_cache(maxsize=64)
def _heads(ip_bytes: int, ect: bool) -> tuple[bytes, bytes]:
    """Return the headers of a frame, without and with the mark."""
    for identification in range(1 << 16):
        plain = _head(ip_bytes, _ECT if ect else 0, identification)
        marked = _head(ip_bytes, _CE, identification)
        # A mark borrows from the checksum: from ...00 it changes nine bits, so no flip passes for one.
        if plain[-9] == 0 and plain[-10] != 0:
            return plain, marked
    raise LabError(f"no header of {ip_bytes} bytes has a checksum that ends in 0")


def _head(ip_bytes: int, tos: int, identification: int) -> bytes:
    fields = (0x45, tos, ip_bytes, identification, 0, 64, _EXPERIMENT)
    words = struct.unpack(">10H", _IP.pack(*fields, 0, _NEAR, _FAR))
    total = sum(words)
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return _ETHERNET + _IP.pack(*fields, ~total & 0xFFFF, _NEAR, _FAR)
