"""Packet headers: of a captured packet's bytes, what a trace needs to know.

::

    CapturedPacket --link layer--> IP --+--> TcpSegment     (each with the time it was captured)
                                        +--> Echo
                   --radiotap--> 802.11 ---> WirelessFrame  (importers/radiotap.py)

Bytes in, records out: whatever the bytes are, a record or None, and never an error. Addresses stay bytes, since
most are never shown. Fragments after the first, tunnels and encrypted payloads hold nothing to be read here.

Source: RFC 791 (IPv4), RFC 8200 (IPv6), RFC 9293 (TCP), RFC 7323 (its timestamps), RFC 792 and 4443 (ICMP).
"""

from __future__ import annotations

import ipaddress
import struct
from typing import NamedTuple

from netlab.traces.captured_packet import CapturedPacket
from netlab.traces.importers.radiotap import WirelessFrame, decode_80211, decode_radiotap, wireless_header_bytes
from netlab.traces.link_type import LinkType

__all__ = [
    "ACK",
    "FIN",
    "SYN",
    "Echo",
    "TcpSegment",
    "address_text",
    "decode_packet",
    "endpoint_text",
    "headers_bytes",
]

FIN, SYN, ACK = 0x01, 0x02, 0x10
RST = 0x04

_OTHER_BYTES = 64
_TAGS = (0x8100, 0x88A8, 0x9100)
_IPV4, _IPV6 = 0x0800, 0x86DD
_TCP, _UDP, _ICMP, _ICMPV6 = 6, 17, 1, 58
_IPV6_OPTIONS = (0, 43, 60)
_IPV6_FRAGMENT = 44
_MAX_IPV6_OPTIONS = 8
_ECHO = {(_ICMP, 8): True, (_ICMP, 0): False, (_ICMPV6, 128): True, (_ICMPV6, 129): False}
_USUAL_OPTIONS = b"\x01\x01\x08\x0a"
_TIMESTAMPS = 8

_LINK_BYTES = {
    LinkType.NULL: 4,
    LinkType.LOOP: 4,
    LinkType.RAW_BSD: 0,
    LinkType.RAW_OPENBSD: 0,
    LinkType.RAW: 0,
    LinkType.IPV4: 0,
    LinkType.IPV6: 0,
}

_TCP_FIXED = struct.Struct("!IIBB")
_TWO_WORDS = struct.Struct("!II")
_HALF = struct.Struct("!H")
_ECHO_FIXED = struct.Struct("!HH")


class TcpSegment(NamedTuple):
    """A TCP segment.

    Attributes:
        time_ns: When it passed.
        source: Address and port, packed.
        destination: Likewise.
        seq: Of its first byte, modulo 2^32.
        ack: The byte awaited from the other end; of meaning with the flag ACK alone.
        flags: Those of the header.
        payload_bytes: How much data it carries.
        tsval: Its sender's clock; None without the timestamps option.
        tsecr: The other end's clock that it echoes.
    """

    time_ns: int
    source: bytes
    destination: bytes
    seq: int
    ack: int
    flags: int
    payload_bytes: int
    tsval: int | None
    tsecr: int | None


class Echo(NamedTuple):
    """An ICMP or ICMPv6 echo request, or the reply to one.

    Attributes:
        time_ns: When it passed.
        request: Whether it asks.
        source: Address, packed.
        destination: Likewise.
        ident: Which program asks.
        sequence: Which of its requests, modulo 2^16.
    """

    time_ns: int
    request: bool
    source: bytes
    destination: bytes
    ident: int
    sequence: int


class _Packet(NamedTuple):
    """Where in a packet the transport's header begins, and who talks to whom."""

    protocol: int
    offset: int
    end: int
    source: bytes
    destination: bytes


def decode_packet(packet: CapturedPacket) -> TcpSegment | Echo | WirelessFrame | None:
    """Return what a trace needs of a packet; None where that is nothing, or the packet has no time."""
    if packet.time_ns is None:
        return None
    try:
        if packet.link_type == LinkType.RADIOTAP:
            return decode_radiotap(packet.time_ns, packet.data)
        if packet.link_type == LinkType.IEEE_802_11:
            return decode_80211(packet.time_ns, packet.data)
        return _internet(packet.time_ns, packet)
    except (struct.error, IndexError):  # cut short by the capture
        return None


def headers_bytes(packet: CapturedPacket) -> int:
    """Return how many bytes of a packet are headers: what may be kept without keeping what anyone said."""
    try:
        if packet.link_type in (LinkType.RADIOTAP, LinkType.IEEE_802_11):
            return wireless_header_bytes(packet.data, radiotap=packet.link_type == LinkType.RADIOTAP)
        found = _network_layer(packet)
        if found is None:
            return _OTHER_BYTES
        if found.protocol == _TCP:
            return found.offset + (packet.data[found.offset + 12] >> 4) * 4
    except (struct.error, IndexError):
        return _OTHER_BYTES
    return found.offset + 8


def address_text(packed: bytes) -> str:
    """Return a packed address for a person."""
    return str(ipaddress.ip_address(packed))


def endpoint_text(packed: bytes) -> str:
    """Return a packed address and port for a person."""
    address = address_text(packed[:-2])
    return (
        f"[{address}]:{_HALF.unpack(packed[-2:])[0]}"
        if ":" in address
        else f"{address}:{_HALF.unpack(packed[-2:])[0]}"
    )


def _internet(time_ns: int, packet: CapturedPacket) -> TcpSegment | Echo | None:
    found = _network_layer(packet)
    if found is None:
        return None
    return (_segment if found.protocol == _TCP else _echo)(time_ns, packet.data, found)


def _network_layer(packet: CapturedPacket) -> _Packet | None:
    data, offset = packet.data, _link_bytes(packet.link_type, packet.data)
    if offset is None:
        return None
    version = data[offset] >> 4
    if version == 4:
        return _ipv4(data, offset, packet.wire_bytes)
    return _ipv6(data, offset, packet.wire_bytes) if version == 6 else None


def _link_bytes(link_type: int, data: bytes) -> int | None:
    """Return how long the link layer's header is; None where no IP follows it."""
    if link_type == LinkType.ETHERNET:
        kind, offset = _HALF.unpack_from(data, 12)[0], 14
    elif link_type == LinkType.LINUX_SLL:
        kind, offset = _HALF.unpack_from(data, 14)[0], 16
    elif link_type == LinkType.LINUX_SLL2:
        kind, offset = _HALF.unpack_from(data, 0)[0], 20
    else:
        return _LINK_BYTES.get(link_type)  # type: ignore[call-overload,no-any-return]
    for _ in range(2):
        if kind not in _TAGS:
            break
        kind, offset = _HALF.unpack_from(data, offset + 2)[0], offset + 4
    return offset if kind in (_IPV4, _IPV6) else None


def _ipv4(data: bytes, offset: int, wire_bytes: int) -> _Packet | None:
    if _HALF.unpack_from(data, offset + 6)[0] & 0x1FFF:
        return None
    header = (data[offset] & 15) * 4
    if header < 20 or len(data) < offset + header:
        return None
    length = _HALF.unpack_from(data, offset + 2)[0]
    # None where the card was to fill it in: the capture was taken before that.
    end = offset + length if length else wire_bytes
    return _Packet(
        data[offset + 9], offset + header, end, data[offset + 12 : offset + 16], data[offset + 16 : offset + 20]
    )


def _ipv6(data: bytes, offset: int, wire_bytes: int) -> _Packet | None:
    length, following = _HALF.unpack_from(data, offset + 4)[0], data[offset + 6]
    end = offset + 40 + length if length else wire_bytes
    source, destination = data[offset + 8 : offset + 24], data[offset + 24 : offset + 40]
    offset += 40
    for _ in range(_MAX_IPV6_OPTIONS):
        if following in _IPV6_OPTIONS:
            following, offset = data[offset], offset + 8 + data[offset + 1] * 8
        elif following == _IPV6_FRAGMENT:
            if _HALF.unpack_from(data, offset + 2)[0] & 0xFFF8:
                return None
            following, offset = data[offset], offset + 8
        else:
            break
    return _Packet(following, offset, end, source, destination) if len(destination) == 16 else None


def _segment(time_ns: int, data: bytes, found: _Packet) -> TcpSegment | None:
    at = found.offset
    seq, ack, length, flags = _TCP_FIXED.unpack_from(data, at + 4)
    header = (length >> 4) * 4
    if header < 20:
        return None
    tsval, tsecr = _timestamps(data, at + 20, at + header)
    return TcpSegment(
        time_ns, found.source + data[at : at + 2], found.destination + data[at + 2 : at + 4],
        seq, ack, flags, max(0, found.end - at - header), tsval, tsecr,
    )  # fmt: skip


def _timestamps(data: bytes, at: int, end: int) -> tuple[int | None, int | None]:
    """Return TSval and TSecr of the options that lie there."""
    if data[at : at + 4] == _USUAL_OPTIONS and at + 12 <= end:
        return _TWO_WORDS.unpack_from(data, at + 4)
    end = min(end, len(data))
    while at < end and data[at]:
        if data[at] == 1:
            at += 1
            continue
        length = data[at + 1]
        if data[at] == _TIMESTAMPS and length == 10 and at + 10 <= end:
            return _TWO_WORDS.unpack_from(data, at + 2)
        if length < 2:
            break
        at += length
    return None, None


def _echo(time_ns: int, data: bytes, found: _Packet) -> Echo | None:
    request = _ECHO.get((found.protocol, data[found.offset]))
    if request is None:
        return None
    ident, sequence = _ECHO_FIXED.unpack_from(data, found.offset + 4)
    return Echo(time_ns, request, found.source, found.destination, ident, sequence)
