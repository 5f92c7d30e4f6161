"""What the link model's fates do to the bytes of an Ethernet frame: a flipped bit, an ECN mark. Pure.

::

    | destination 6 | source 6 | [802.1Q tag 4] | type 2 | IPv4 or IPv6 ... |
"""

from __future__ import annotations

import random

__all__ = ["flip_bit", "is_ecn_capable", "mark_congestion"]

_TYPE_AT = 12
_TAG_BYTES = 4
_VLAN_TYPES = (b"\x81\x00", b"\x88\xa8")
_IPV4, _IPV6 = b"\x08\x00", b"\x86\xdd"
_IPV4_BYTES, _IPV6_BYTES = 20, 40
_ECN_MASK = 0b11
_IPV4_TOS_AT, _IPV4_CHECKSUM_AT = 1, 10


def flip_bit(frame: bytes) -> bytes:
    """Return the frame with one random bit flipped, headers included; no seed decides which, as in netem."""
    flipped = bytearray(frame)
    flipped[random.randrange(len(flipped))] ^= 1 << random.randrange(8)
    return bytes(flipped)


def is_ecn_capable(frame: bytes) -> bool:
    """Tell whether an IP packet says that it may be marked instead of being dropped (RFC 3168)."""
    kind, at = _network_header(frame)
    if kind == _IPV4 and len(frame) >= at + _IPV4_BYTES:
        return bool(frame[at + _IPV4_TOS_AT] & _ECN_MASK)
    if kind == _IPV6 and len(frame) >= at + _IPV6_BYTES:
        return bool(frame[at + 1] >> 4 & _ECN_MASK)
    return False


def mark_congestion(frame: bytes) -> bytes:
    """Return an ECN-capable packet's frame with Congestion Experienced set and its checksum mended."""
    kind, at = _network_header(frame)
    marked = bytearray(frame)
    if kind == _IPV6:
        marked[at + 1] |= _ECN_MASK << 4
        return bytes(marked)
    before = marked[at + _IPV4_TOS_AT]
    marked[at + _IPV4_TOS_AT] = after = before | _ECN_MASK
    # RFC 1624, equation 3, for the one changed 16-bit word, whose upper byte stays as it was.
    place = slice(at + _IPV4_CHECKSUM_AT, at + _IPV4_CHECKSUM_AT + 2)
    total = (~int.from_bytes(marked[place], "big") & 0xFFFF) + (~before & 0xFFFF) + after
    total = (total & 0xFFFF) + (total >> 16)
    total = (total & 0xFFFF) + (total >> 16)
    marked[place] = (~total & 0xFFFF).to_bytes(2, "big")
    return bytes(marked)


def _network_header(frame: bytes) -> tuple[bytes, int]:
    """Return the type of the network packet in a frame and where it begins."""
    at = _TYPE_AT
    while frame[at : at + 2] in _VLAN_TYPES:
        at += _TAG_BYTES
    return frame[at : at + 2], at + 2
