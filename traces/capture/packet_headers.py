"""Packet headers: of a captured packet's bytes, what a trace needs to know.

::

    CapturedPacket --link_layer--> IP --+--> TcpSegment     (each with the time it was captured)
                                        +--> Echo
                   --radiotap--> 802.11 ---> WirelessFrame  (radiotap.py)

Bytes in, records out: whatever the bytes are, a record or None, and never an error. Addresses stay bytes, since
most are never shown. Fragments after the first, tunnels and encrypted payloads hold nothing to be read here.

Source: RFC 791 (IPv4), RFC 8200 (IPv6), RFC 9293 (TCP), RFC 7323 (its timestamps), RFC 792 and 4443 (ICMP).
"""

from __future__ import annotations

import ipaddress
import struct
from typing import NamedTuple

from netlab.traces.capture.captured_packet import CapturedPacket
from netlab.traces.capture.link_layer import link_layer
from netlab.traces.capture.link_type import LinkType
from netlab.traces.capture.radiotap import WirelessFrame, decode_80211, decode_radiotap, wireless_header_bytes

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

_TCP, _UDP, _ICMP, _ICMPV6 = 6, 17, 1, 58
_IPV6_OPTIONS = (0, 43, 60)
_IPV6_FRAGMENT = 44
_MAX_IPV6_OPTIONS = 8
_KEPT_BYTES = {_UDP: 8, _ICMP: 8, _ICMPV6: 8, 33: 12, 132: 12}
"""How long the headers are of UDP, ICMP (without the packet it quotes, or what is echoed), DCCP and SCTP."""

_LEAST_TCP_BYTES = 20
_ECHO: dict[tuple[int | None, int], bool] = {
    (_ICMP, 8): True,
    (_ICMP, 0): False,
    (_ICMPV6, 128): True,
    (_ICMPV6, 129): False,
}
_USUAL_OPTIONS = b"\x01\x01\x08\x0a"
_TIMESTAMPS = 8

_TCP_FIXED = struct.Struct("!IIBB")
_TWO_WORDS = struct.Struct("!II")
_HALF = struct.Struct("!H")
_ECHO_FIXED = struct.Struct("!HH")
_IPV4_LENGTHS = struct.Struct("!HHH")
_IPV6_FIXED = struct.Struct("!HBB")


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
        hops_left: How many more routers may pass it on: IPv4's time to live, IPv6's hop limit.
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
    hops_left: int


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
    """Where in a packet the headers of IP end and IP itself, and who talks to whom.

    The protocol is that of what follows; None of a fragment after the first, in which no header follows.
    """

    protocol: int | None
    offset: int
    end: int
    source: bytes
    destination: bytes
    hops_left: int


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
    """Return how many bytes of a packet are headers: what may be kept without keeping what anyone said.

    Of what is not known, or is broken, the headers around it alone.
    """
    kept = 0
    try:
        if packet.link_type in (LinkType.RADIOTAP, LinkType.IEEE_802_11):
            return wireless_header_bytes(packet.data, radiotap=packet.link_type == LinkType.RADIOTAP)
        kept, _ = link_layer(packet.link_type, packet.data)
        found = _network_layer(packet)
        if found is None:
            return kept
        kept = found.offset
        if found.protocol == _TCP:
            return min(found.end, kept + max(_LEAST_TCP_BYTES, (packet.data[kept + 12] >> 4) * 4))
        return min(found.end, kept + _KEPT_BYTES.get(found.protocol or 0, 0))
    except (struct.error, IndexError):
        return kept


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
    data = packet.data
    offset, is_ip = link_layer(packet.link_type, data)
    if not is_ip:
        return None
    version = data[offset] >> 4
    if version == 4:
        return _ipv4(data, offset, packet.wire_bytes)
    return _ipv6(data, offset, packet.wire_bytes) if version == 6 else None


def _ipv4(data: bytes, offset: int, wire_bytes: int) -> _Packet | None:
    header = (data[offset] & 15) * 4
    if header < 20 or len(data) < offset + header:
        return None
    length, _, fragment = _IPV4_LENGTHS.unpack_from(data, offset + 2)
    # None where the card was to fill it in: the capture was taken before that.
    end = offset + length if length else wire_bytes
    protocol = None if fragment & 0x1FFF else data[offset + 9]
    ends = data[offset + 12 : offset + 16], data[offset + 16 : offset + 20]
    return _Packet(protocol, offset + header, end, *ends, data[offset + 8])


def _ipv6(data: bytes, offset: int, wire_bytes: int) -> _Packet | None:
    length, following, hops_left = _IPV6_FIXED.unpack_from(data, offset + 4)
    end = offset + 40 + length if length else wire_bytes
    source, destination = data[offset + 8 : offset + 24], data[offset + 24 : offset + 40]
    offset += 40
    protocol: int | None = following
    for _ in range(_MAX_IPV6_OPTIONS):
        if following in _IPV6_OPTIONS:
            following, offset = data[offset], offset + 8 + data[offset + 1] * 8
        elif following == _IPV6_FRAGMENT:
            later = _HALF.unpack_from(data, offset + 2)[0] & 0xFFF8
            following, offset = data[offset], offset + 8
            if later:
                protocol = None
                break
        else:
            break
        protocol = following
    return _Packet(protocol, offset, end, source, destination, hops_left) if len(destination) == 16 else None


def _segment(time_ns: int, data: bytes, found: _Packet) -> TcpSegment | None:
    at = found.offset
    seq, ack, length, flags = _TCP_FIXED.unpack_from(data, at + 4)
    header = (length >> 4) * 4
    if header < 20:
        return None
    tsval, tsecr = _timestamps(data, at + 20, at + header)
    return TcpSegment(
        time_ns, found.source + data[at : at + 2], found.destination + data[at + 2 : at + 4],
        seq, ack, flags, max(0, found.end - at - header), tsval, tsecr, found.hops_left,
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
