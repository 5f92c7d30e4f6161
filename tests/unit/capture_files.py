"""Captures as bytes, written by the formats' own rules: what the reader of captures is tested on."""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterable

SECOND = 1_000_000_000
BEGAN_NS = 1_700_000_000 * SECOND
ETHERNET, RAW, WIFI, SLL, RADIOTAP, SLL2, NULL = 1, 101, 105, 113, 127, 276, 0
FIN, SYN, PSH, ACK = 1, 2, 8, 16

Packet = tuple[int, bytes]


def pcap(
    packets: Iterable[Packet],
    *,
    link_type: int = ETHERNET,
    order: str = "<",
    nano: bool = True,
    snap: int = 1 << 16,
) -> bytes:
    """Return a pcap of packets, each a time in ns and its bytes."""
    unit = 1 if nano else 1000
    out = struct.pack(f"{order}IHHiIII", 0xA1B23C4D if nano else 0xA1B2C3D4, 2, 4, 0, 0, 1 << 16, link_type)
    for time_ns, data in packets:
        second, rest = divmod(time_ns, SECOND)
        out += struct.pack(f"{order}IIII", second, rest // unit, len(data[:snap]), len(data)) + data[:snap]
    return out


def pcapng(
    packets: Iterable[Packet],
    *,
    link_type: int = ETHERNET,
    order: str = "<",
    resolution: int | None = None,
    offset_s: int | None = None,
    interface: int = 0,
) -> bytes:
    """Return a pcapng of packets, as one section with one interface.

    Args:
        packets: Each a time in ns and its bytes.
        link_type: Of the interface.
        order: Of bytes.
        resolution: The power of ten, negated, that times are counted in; 6 where left out.
        offset_s: What the interface's times are counted from, in seconds since 1970.
        interface: The number that packets name; that of the one that is described is 0.
    """
    option = b"" if resolution is None else struct.pack(f"{order}HHB3x", 9, 1, resolution)
    option += b"" if offset_s is None else struct.pack(f"{order}HHq", 14, 8, offset_s)
    option += struct.pack(f"{order}HH", 0, 0) if option else b""
    out = _block(order, 0x0A0D0D0A, struct.pack(f"{order}IHHq", 0x1A2B3C4D, 1, 0, -1))
    out += _block(order, 1, struct.pack(f"{order}HHI", link_type, 0, 0) + option)
    for time_ns, data in packets:
        ticks = (time_ns - (offset_s or 0) * SECOND) * 10 ** (6 if resolution is None else resolution) // SECOND
        head = struct.pack(f"{order}IIIII", interface, ticks >> 32, ticks & 0xFFFFFFFF, len(data), len(data))
        out += _block(order, 6, head + data + bytes(-len(data) % 4))
    return out


def _block(order: str, kind: int, body: bytes) -> bytes:
    length = struct.pack(f"{order}I", 12 + len(body))
    return struct.pack(f"{order}I", kind) + length + body + length


def ethernet(payload: bytes, *, tags: tuple[int, ...] = (), tag_kind: int = 0x8100, kind: int = 0) -> bytes:
    kind = kind or (0x86DD if payload[0] >> 4 == 6 else 0x0800)
    tagged = b"".join(struct.pack("!HH", tag_kind if n == 0 else 0x8100, tag) for n, tag in enumerate(tags))
    return bytes(range(12)) + tagged + struct.pack("!H", kind) + payload


def pppoe(payload: bytes, *, protocol: int = 0, tags: tuple[int, ...] = ()) -> bytes:
    """Return a packet in a PPPoE session on Ethernet."""
    protocol = protocol or (0x0057 if payload[0] >> 4 == 6 else 0x0021)
    session = struct.pack("!BBHHH", 0x11, 0, 7, len(payload) + 2, protocol)
    return ethernet(session + payload, tags=tags, kind=0x8864)


def mpls(payload: bytes, *, labels: int = 1) -> bytes:
    """Return a packet behind labels on Ethernet."""
    stack = b"".join(struct.pack("!I", (100 + n) << 12 | (n == labels - 1) << 8 | 64) for n in range(labels))
    return ethernet(stack + payload, kind=0x8847)


def ip(protocol: int, source: str, destination: str, payload: bytes, *, hops_left: int = 64) -> bytes:
    if ":" in source:
        head = struct.pack("!IHBB", 6 << 28, len(payload), protocol, hops_left)
        return head + b"".join(socket.inet_pton(socket.AF_INET6, end) for end in (source, destination)) + payload
    head = struct.pack("!BBHHHBBH", 0x45, 0, 20 + len(payload), 0, 0, hops_left, protocol, 0)
    return head + socket.inet_aton(source) + socket.inet_aton(destination) + payload


def tcp(
    source: tuple[str, int], destination: tuple[str, int], *, seq: int, ack: int = 0, flags: int = ACK,
    data: int = 0, stamps: tuple[int, int] | None = None, options: bytes | None = None, hops_left: int = 64,
) -> bytes:  # fmt: skip
    """Return a segment in its IP packet."""
    if options is None:
        options = b"" if stamps is None else b"\x01\x01\x08\x0a" + struct.pack("!II", *(s % 2**32 for s in stamps))
    length = (20 + len(options)) // 4 << 4
    head = struct.pack("!HHIIBBHHH", source[1], destination[1], seq % 2**32, ack % 2**32, length, flags, 512, 0, 0)
    return ip(6, source[0], destination[0], head + options + bytes(data), hops_left=hops_left)


def echo(source: str, destination: str, sequence: int, *, request: bool, ident: int = 7) -> bytes:
    """Return an echo request or reply in its IP packet."""
    ask, reply, protocol = (128, 129, 58) if ":" in source else (8, 0, 1)
    body = struct.pack("!BBHHH", ask if request else reply, 0, 0, ident, sequence % 2**16) + bytes(56)
    return ip(protocol, source, destination, body)


def frame_80211(
    transmitter: int,
    sequence: int,
    *,
    kind: int = 2,
    retry: bool = False,
    payload: int = 40,
    receiver: int = 0xFE,
    to_ap: bool = False,
    from_ap: bool = False,
) -> bytes:
    """Return a frame; addresses are told apart by their last byte."""
    flags = to_ap + 2 * from_ap + 8 * retry
    ends = b"".join(struct.pack("!6B", 2, 0, 0, 0, 0, end) for end in (receiver, transmitter))
    head = struct.pack("<BBH", kind << 2, flags, 44) + ends
    return head + bytes(6) + struct.pack("<H", sequence << 4) + bytes(payload)


def radiotap(
    frame: bytes, *, mac_time_us: int = 0, rate: int = 0, signal_dbm: int = -50, mcs: bytes = b""
) -> bytes:
    """Return a frame behind a radiotap header: time, flags, rate, channel, signal, and MCS where given."""
    present = 0b101111 | (1 << 19 if mcs else 0)
    body = struct.pack("<QBBHHb", mac_time_us, 0, rate, 2412, 0xA0, signal_dbm) + mcs
    return struct.pack("<BBHI", 0, 0, 8 + len(body), present) + body + frame


def sll(payload: bytes) -> bytes:
    return struct.pack("!HHH8sH", 0, 1, 6, bytes(8), 0x86DD if payload[0] >> 4 == 6 else 0x0800) + payload


def sll2(payload: bytes) -> bytes:
    return struct.pack("!HHIHBB8s", 0x86DD if payload[0] >> 4 == 6 else 0x0800, 0, 2, 1, 0, 6, bytes(8)) + payload
