"""Capture files: their formats, what is left of a damaged one, and what is known of each packet."""

from __future__ import annotations

import inspect
import io
import math
import struct
import sys

import capture_files as files
import pytest
from capture_files import BEGAN_NS, SECOND, echo, ethernet, frame_80211, pcap, pcapng, radiotap, tcp
from hypothesis import given
from hypothesis import strategies as st

from netlab.errors import SpecError, TraceError
from netlab.install_hint import install_hint
from netlab.traces.capture.capture_filter import PRESETS, filter_program
from netlab.traces.capture.capture_stream import CaptureStream
from netlab.traces.capture.captured_packet import CapturedPacket
from netlab.traces.capture.link_type import LinkType
from netlab.traces.capture.packet_capture import capture_readers
from netlab.traces.capture.packet_file import PacketFile, is_capture
from netlab.traces.capture.packet_headers import (
    Echo,
    TcpSegment,
    address_text,
    decode_packet,
    endpoint_text,
    headers_bytes,
)
from netlab.traces.capture.radiotap import WirelessFrame
from netlab.traces.trace_source import MAX_FILE_BYTES

HERE, THERE = ("192.0.2.1", 40_000), ("192.0.2.2", 80)
HERE6, THERE6 = ("2001:db8::1", 40_000), ("2001:db8::2", 80)
PACKETS = [
    (BEGAN_NS + 123_456_789, ethernet(echo("192.0.2.1", "192.0.2.2", 1, request=True))),
    (BEGAN_NS + SECOND, ethernet(echo("192.0.2.2", "192.0.2.1", 1, request=False))),
    (BEGAN_NS + 2 * SECOND + 7, ethernet(tcp(HERE, THERE, seq=1, data=3))),
]
WHOLE = [(time_ns, data, len(data)) for time_ns, data in PACKETS]


def read(content: bytes) -> tuple[list[CapturedPacket], str]:
    file = PacketFile(io.BytesIO(content), "some.pcap", MAX_FILE_BYTES)
    return list(file), file.damage


def plain(packets: list[CapturedPacket]) -> list[tuple[int | None, bytes, int]]:
    return [(packet.time_ns, packet.data, packet.wire_bytes) for packet in packets]


@pytest.mark.parametrize("order", ["<", ">"])
def test_nanosecond_pcap(order: str) -> None:
    packets, damage = read(pcap(PACKETS, order=order))
    assert (plain(packets), damage) == (WHOLE, "")
    assert {packet.link_type for packet in packets} == {LinkType.ETHERNET}


@pytest.mark.parametrize("order", ["<", ">"])
def test_microsecond_pcap(order: str) -> None:
    packets, damage = read(pcap(PACKETS, order=order, nano=False))
    assert [packet.time_ns for packet in packets] == [time_ns // 1000 * 1000 for time_ns, _ in PACKETS]
    assert damage == ""


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("resolution", [None, 6, 9])
def test_pcapng(order: str, resolution: int | None) -> None:
    packets, damage = read(pcapng(PACKETS, order=order, resolution=resolution, link_type=files.RAW))
    unit = 10 ** (9 - (resolution or 6))
    assert [packet.time_ns for packet in packets] == [time_ns // unit * unit for time_ns, _ in PACKETS]
    assert [packet.data for packet in packets] == [data for _, data in PACKETS]
    assert ({packet.link_type for packet in packets}, damage) == ({LinkType.RAW}, "")


def test_a_pcapng_packet_without_a_time_has_none() -> None:
    simple = struct.pack("<III", 3, 12 + 4 + 8, 8) + bytes(8) + struct.pack("<I", 12 + 4 + 8)
    described = bytearray(pcapng([]))
    described[-8:-4] = struct.pack("<I", 1 << 16)  # a snap length: 0 would be no bytes of a simple packet
    packets, damage = read(bytes(described) + simple)
    assert (plain(packets), damage) == ([(None, bytes(8), 8)], "")
    assert decode_packet(packets[0]) is None


@pytest.mark.parametrize("write", [pcap, pcapng])
def test_no_packets(write: object) -> None:
    assert read(write([])) == ([], "")  # type: ignore[operator]


@pytest.mark.parametrize("write", [pcap, pcapng], ids=["pcap", "pcapng"])
def test_cut_at_every_byte_keeps_what_is_whole_and_says_so(write: object) -> None:
    content = write(PACKETS)  # type: ignore[operator]
    begins = len(write([]))  # type: ignore[operator]
    ends = [len(write(PACKETS[:n])) for n in range(len(PACKETS) + 1)]  # type: ignore[operator]
    for size in range(len(content) + 1):
        if size < begins:
            if size == 28 and write is pcapng:  # the section's own header is whole: a capture of nothing
                assert read(content[:size]) == ([], "")
            elif size > 28:  # within the description of the interface
                assert read(content[:size]) == ([], "it ends within a packet; the 0 before it are kept")
            else:
                with pytest.raises(
                    TraceError, match=r"some\.pcap: (is no packet capture|the capture ends|is a capt)"
                ):
                    read(content[:size])
            continue
        packets, damage = read(content[:size])
        n = sum(end <= size for end in ends[1:])
        assert len(packets) == n, size
        assert bool(damage) == (size not in ends), (size, damage)
        if damage:
            assert f"the {n} before it" in damage


def test_a_packet_of_four_gigabytes_is_not_believed() -> None:
    header = struct.pack("<IIII", 1_700_000_000, 0, 2**32 - 1, 2**32 - 1)
    packets, damage = read(pcap(PACKETS[:1]) + header + bytes(1000))
    assert plain(packets) == WHOLE[:1]
    assert "packet 2 is said to have 4,294,967,295 bytes" in damage


def test_a_block_of_four_gigabytes_is_not_believed() -> None:
    packets, damage = read(pcapng(PACKETS[:2]) + struct.pack("<II", 6, 2**32 - 4) + bytes(1000))
    assert len(packets) == 2
    assert "ends within a packet" in damage


def test_too_many_interfaces_are_refused() -> None:
    interface = struct.pack("<IIHHII", 1, 20, 1, 0, 0, 20)
    with pytest.raises(TraceError, match="more than 4096 interfaces"):
        read(pcapng([]) + interface * 5000 + pcapng(PACKETS)[len(pcapng([])) :])


@pytest.mark.parametrize("orders", ["<<", "<>", "><", ">>"])
def test_each_section_of_a_pcapng_has_interfaces_of_its_own(orders: str) -> None:
    """Files put behind one another: the second's interface 0 has its own resolution and link type."""
    first = pcapng(PACKETS[:1], order=orders[0])
    second = pcapng(PACKETS[1:], order=orders[1], resolution=9, link_type=files.RAW)
    packets, damage = read(first + second)
    times_ns = [PACKETS[0][0] // 1000 * 1000, *(time_ns for time_ns, _ in PACKETS[1:])]
    assert ([packet.time_ns for packet in packets], damage) == (times_ns, "")
    assert [packet.link_type for packet in packets] == [LinkType.ETHERNET, LinkType.RAW, LinkType.RAW]


def test_a_section_does_not_use_the_interfaces_of_the_one_before() -> None:
    header = pcapng([])[:28]
    bare = header + pcapng(PACKETS)[len(pcapng([])) :]
    file = PacketFile(io.BytesIO(pcapng(PACKETS[:1]) + bare), "some.pcapng", MAX_FILE_BYTES)
    assert len(list(file)) == 1
    assert file.left_out == "3 packets name interfaces that the file does not describe"


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("offset_s", [1_600_000_000, -3_600, 0])
@pytest.mark.parametrize("resolution", [None, 9])
def test_times_that_are_counted_from_another_year(order: str, offset_s: int, resolution: int | None) -> None:
    shifted, _ = read(pcapng(PACKETS, order=order, offset_s=offset_s, resolution=resolution))
    assert plain(shifted) == plain(read(pcapng(PACKETS, order=order, resolution=resolution))[0])


@pytest.mark.parametrize("offset_s", [-(2**63), 2**63 - 1])
def test_times_beyond_all_bounds_are_none(offset_s: int) -> None:
    content = bytearray(pcapng(PACKETS[:1], offset_s=0))
    at = content.index(struct.pack("<HHq", 14, 8, 0)) + 4
    content[at : at + 8] = struct.pack("<q", offset_s)
    assert [packet.time_ns for packet in read(bytes(content))[0]] == [None]


@pytest.mark.parametrize("content", [b"", b"\xd4", b"not a capture", b"\x1f\x8b\x08\x00", bytes(100)])
def test_what_is_no_capture_is_said_to_be_none(content: bytes) -> None:
    assert not is_capture(content)
    with pytest.raises(TraceError, match="no packet capture"):
        read(content)


def test_without_scapy_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    import netlab.traces.capture.packet_capture as door

    door._scapy_readers.cache_clear()
    monkeypatch.setitem(sys.modules, "scapy.utils", None)
    with pytest.raises(TraceError, match="needs scapy") as caught:
        read(pcap(PACKETS))
    assert caught.value.hint == install_hint("capture")
    monkeypatch.undo()
    assert read(pcap(PACKETS))[1] == ""


def test_scapys_own_methods_that_are_extended_are_there() -> None:
    """A version without them would read captures, and never tell a whole one from a part."""
    from scapy.arch import linux
    from scapy.utils import RawPcapNgReader, RawPcapReader

    assert callable(getattr(RawPcapReader, "_read_packet", None)), "capture_readers() extends it"
    for name in ("_read_block", "_read_block_shb", "_read_block_idb", "_read_block_epb", "_check_interface_id"):
        assert callable(getattr(RawPcapNgReader, name, None)), f"capture_readers() extends {name}"
    pcap_reader, pcapng_reader = capture_readers("some.pcap")
    for kind, content in ((pcap_reader, pcap(PACKETS)), (pcapng_reader, pcapng(PACKETS))):
        reader = kind(CaptureStream(io.BytesIO(content), "some.pcap", MAX_FILE_BYTES))
        next(reader)
        assert 0 < reader.boundary < reader.f.position, "its method is not called where a packet begins"
    assert hasattr(reader, "interfaces")
    parameters = inspect.signature(linux.L2ListenSocket).parameters
    assert {"iface", "promisc", "type"} <= set(parameters)
    assert callable(linux.L2ListenSocket.recv_raw)
    assert callable(linux.attach_filter)


@given(
    st.binary(max_size=300), st.sampled_from([pcap([]), pcapng([]), pcap([], order=">"), pcapng([], order=">")])
)
def test_hostile_bytes_give_packets_or_a_trace_error(junk: bytes, head: bytes) -> None:
    for content in (junk, head + junk):
        try:
            packets, _ = read(content)
        except TraceError:
            continue
        for packet in packets:
            decode_packet(packet)


LINKS = [
    (files.ETHERNET, ethernet),
    (files.ETHERNET, lambda packet: ethernet(packet, tags=(5,))),
    (files.ETHERNET, lambda packet: ethernet(packet, tags=(5, 6))),
    (files.ETHERNET, lambda packet: ethernet(packet, tags=(5, 6), tag_kind=0x88A8)),
    (files.ETHERNET, lambda packet: ethernet(packet, tags=(5, 6, 7))),
    (files.ETHERNET, files.pppoe),
    (files.ETHERNET, lambda packet: files.pppoe(packet, tags=(7,))),
    (files.ETHERNET, files.mpls),
    (files.ETHERNET, lambda packet: files.mpls(packet, labels=3)),
    (files.RAW, bytes),
    (files.NULL, lambda packet: bytes(4) + packet),
    (files.SLL, files.sll),
    (files.SLL2, files.sll2),
]


@pytest.mark.parametrize(("link_type", "wrapped"), LINKS)
@pytest.mark.parametrize(("here", "there"), [(HERE, THERE), (HERE6, THERE6)], ids=["IPv4", "IPv6"])
def test_a_segment_is_read_in_every_link_layer(
    link_type: int, wrapped: object, here: tuple[str, int], there: tuple[str, int]
) -> None:
    packet = tcp(here, there, seq=2**32 - 1, ack=5, flags=ACK_PSH, data=100, stamps=(2**32 - 2, 9))
    data = wrapped(packet)  # type: ignore[operator]
    found = decode_packet(CapturedPacket(77, link_type, data, len(data)))
    assert isinstance(found, TcpSegment)
    assert found[3:] == (2**32 - 1, 5, ACK_PSH, 100, 2**32 - 2, 9, 64)
    shown = "[2001:db8::1]:40000" if ":" in here[0] else "192.0.2.1:40000"
    assert (found.time_ns, endpoint_text(found.source)) == (77, shown)
    assert headers_bytes(CapturedPacket(77, link_type, data, len(data))) == len(data) - 100


ACK_PSH = files.ACK | files.PSH


@pytest.mark.parametrize(
    ("options", "stamps"),
    [
        (b"\x02\x04\x05\xb4\x04\x02\x08\x0a\x00\x00\x00\x05\x00\x00\x00\x06\x01\x03\x03\x07", (5, 6)),
        (b"\x08\x0a\x00\x00\x00\x05\x00\x00\x00\x06\x00\x00", (5, 6)),
        (b"\x02\x04\x05\xb4", (None, None)),
        (b"\x00\x0a\x08\x0a\x00\x00\x00\x05\x00\x00\x00\x06", (None, None)),  # after the end of options
        (b"\x05\x00\x08\x0a\x00\x00\x00\x05\x00\x00\x00\x06", (None, None)),  # an option of no bytes
        (b"\x08\x09\x00\x00\x00\x05\x00\x00\x00\x06\x00\x00", (None, None)),  # one byte short
    ],
)
def test_timestamps_among_other_options(options: bytes, stamps: tuple[int | None, int | None]) -> None:
    data = ethernet(tcp(HERE, THERE, seq=1, options=options))
    found = decode_packet(CapturedPacket(0, files.ETHERNET, data, len(data)))
    assert isinstance(found, TcpSegment)
    assert (found.tsval, found.tsecr) == stamps


def test_payload_is_counted_though_it_was_not_captured() -> None:
    data = ethernet(tcp(HERE, THERE, seq=1, data=1000, stamps=(1, 2)))
    found = decode_packet(CapturedPacket(0, files.ETHERNET, data[:66], len(data)))
    assert isinstance(found, TcpSegment)
    assert found.payload_bytes == 1000
    unfilled = bytearray(data[:66])
    unfilled[16:18] = bytes(2)  # the card was to fill in the length
    found = decode_packet(CapturedPacket(0, files.ETHERNET, bytes(unfilled), len(data)))
    assert isinstance(found, TcpSegment)
    assert found.payload_bytes == 1000


@pytest.mark.parametrize(("here", "there"), [("192.0.2.1", "192.0.2.2"), ("2001:db8::1", "2001:db8::2")])
@pytest.mark.parametrize("request_", [True, False])
def test_echo(here: str, there: str, request_: bool) -> None:
    data = ethernet(echo(here, there, 65_535, request=request_, ident=9))
    found = decode_packet(CapturedPacket(5, files.ETHERNET, data, len(data)))
    assert isinstance(found, Echo)
    assert (found.request, found.ident, found.sequence, address_text(found.source)) == (request_, 9, 65_535, here)
    assert headers_bytes(CapturedPacket(5, files.ETHERNET, data, len(data))) == len(data) - 56


def test_fragments_and_other_protocols_are_nothing() -> None:
    fragment = bytearray(ethernet(tcp(HERE, THERE, seq=1, stamps=(1, 2))))
    fragment[20:22] = b"\x00\x10"
    udp = ethernet(files.ip(17, "192.0.2.1", "192.0.2.2", bytes(100)))
    arp = bytes(12) + b"\x08\x06" + bytes(28)
    for data in (bytes(fragment), udp, arp):
        assert decode_packet(CapturedPacket(0, files.ETHERNET, data, len(data))) is None
    assert headers_bytes(CapturedPacket(0, files.ETHERNET, udp, len(udp))) == 14 + 20 + 8


SECRET = b"what was said" * 8


def fragment(source: tuple[str, int], destination: tuple[str, int], payload: bytes, *, first: bool) -> bytes:
    """Return a part of a TCP segment, as one end sends it to the other."""
    offset = 0 if first else 22
    if ":" in source[0]:
        part = struct.pack("!BBHI", 6, 0, offset << 3 | first, 1)
        return files.ip(44, source[0], destination[0], part + payload)
    packet = bytearray(files.ip(6, source[0], destination[0], payload))
    packet[6:8] = struct.pack("!H", offset | 0x2000 * first)
    return bytes(packet)


def arp(*, tags: tuple[int, ...] = ()) -> bytes:
    return ethernet(bytes(1), tags=tags)[:-3] + b"\x08\x06" + SECRET


SEGMENT, SEGMENT6 = tcp(HERE, THERE, seq=1, stamps=(1, 2)), tcp(HERE6, THERE6, seq=1, stamps=(1, 2))
QUOTE = bytes(range(1, 9)) + SEGMENT + SECRET
HEADERS = [
    ("TCP", files.ETHERNET, ethernet(SEGMENT + SECRET), 14 + 20 + 32),
    ("a first fragment", files.ETHERNET, ethernet(fragment(HERE, THERE, SEGMENT[20:] + SECRET, first=True)), 66),
    ("a fragment", files.ETHERNET, ethernet(fragment(HERE, THERE, SECRET, first=False)), 14 + 20),
    ("a first IPv6 fragment", files.RAW, fragment(HERE6, THERE6, SEGMENT6[40:] + SECRET, first=True), 40 + 8 + 32),
    ("an IPv6 fragment", files.RAW, fragment(HERE6, THERE6, SECRET, first=False), 40 + 8),
    ("UDP", files.RAW, files.ip(17, "192.0.2.1", "192.0.2.2", bytes(8) + SECRET), 28),
    ("an ICMP error", files.RAW, files.ip(1, "192.0.2.1", "192.0.2.2", b"\x03" + QUOTE[1:]), 28),
    ("an ICMPv6 error", files.RAW, files.ip(58, HERE6[0], THERE6[0], b"\x01" + QUOTE[1:]), 48),
    ("an echo request", files.RAW, files.ip(1, "192.0.2.1", "192.0.2.2", b"\x08" + bytes(7) + SECRET), 28),
    ("an unknown protocol", files.RAW, files.ip(99, "192.0.2.1", "192.0.2.2", SECRET), 20),
    ("an unknown protocol of IPv6", files.RAW, files.ip(99, HERE6[0], THERE6[0], SECRET), 40),
    ("ARP", files.ETHERNET, arp(), 14),
    ("ARP in a VLAN", files.ETHERNET, arp(tags=(5,)), 18),
    ("PPPoE without IP", files.ETHERNET, files.pppoe(SECRET, protocol=0xC023), 14 + 8),
    ("MPLS without IP", files.ETHERNET, files.mpls(SECRET, labels=2), 14 + 8),
    ("MPLS of too many labels", files.ETHERNET, files.mpls(SECRET, labels=9), 14 + 32),
    ("no IP at all", files.RAW, b"\x00" + SECRET, 0),
    ("an IP of no version", files.ETHERNET, ethernet(b"\x50" + SECRET), 14),
    ("a broken IPv4 header", files.ETHERNET, ethernet(b"\x41" + SECRET), 14),
    ("an unknown link layer", 250, SECRET, 0),
    ("Linux's, and no IP", files.SLL, files.sll(SECRET)[:14] + b"\x08\x06" + SECRET, 16),
    ("Linux's second, and no IP", files.SLL2, b"\x08\x06" + files.sll2(SECRET)[2:20] + SECRET, 20),
    ("Wi-Fi", files.WIFI, frame_80211(2, 1, payload=0) + SECRET, 24),
    ("Wi-Fi of no version", files.WIFI, b"\x0b" + SECRET, 0),
    ("broken radiotap", files.RADIOTAP, b"\x01" + SECRET, 0),
]  # fmt: skip


@pytest.mark.parametrize(
    ("link_type", "data", "kept"), [row[1:] for row in HEADERS], ids=[row[0] for row in HEADERS]
)
def test_of_what_was_said_nothing_is_kept(link_type: int, data: bytes, kept: int) -> None:
    assert headers_bytes(CapturedPacket(0, link_type, data, len(data))) == kept
    assert not {SECRET[i : i + 4] for i in range(13)} & {data[i : i + 4] for i in range(kept - 3)}


def test_a_tcp_header_that_claims_more_than_its_packet_ends_with_it() -> None:
    data = bytearray(ethernet(tcp(HERE, THERE, seq=1)) + SECRET)  # behind the packet, as a trailer
    data[14 + 20 + 12] = 0xF0
    assert headers_bytes(CapturedPacket(0, files.ETHERNET, bytes(data), len(data))) == 14 + 20 + 20


@pytest.mark.parametrize(("here", "there"), [(HERE, THERE), (HERE6, THERE6)], ids=["IPv4", "IPv6"])
@pytest.mark.parametrize("size", [60_000, 180_000])
def test_a_packet_that_the_card_is_to_cut_has_its_whole_length(
    here: tuple[str, int], there: tuple[str, int], size: int
) -> None:
    """Longer than its header could say: that says 0; IPv6 may say it in an option instead."""
    packet = bytearray(tcp(here, there, seq=1, data=100, stamps=(1, 2)))
    option = b""
    at = 2
    if ":" in here[0]:
        at, option = 4, bytes([6, 0, 0xC2, 4]) + struct.pack("!I", size + 32 + 8)
        packet[6] = 0
    packet[at : at + 2] = bytes(2)
    header = 40 if option else 20
    data = ethernet(bytes(packet[:header]) + option + bytes(packet[header : header + 32]))
    found = decode_packet(CapturedPacket(0, files.ETHERNET, data, len(data) + size))
    assert isinstance(found, TcpSegment)
    assert (found.payload_bytes, found.tsval) == (size, 1)


def test_ipv6_extension_headers_are_passed() -> None:
    segment = tcp(HERE6, THERE6, seq=1, stamps=(1, 2))[40:]
    for kinds in ((0,), (0, 60), (44,)):
        chain = b"".join(bytes([following, 0]) + bytes(6) for following in (*kinds[1:], 6))
        data = ethernet(files.ip(kinds[0], HERE6[0], THERE6[0], chain + segment))
        found = decode_packet(CapturedPacket(0, files.ETHERNET, data, len(data)))
        assert isinstance(found, TcpSegment), kinds
        assert (found.tsval, found.payload_bytes) == (1, 0)


@pytest.mark.parametrize("packet", [
    ethernet(tcp(HERE, THERE, seq=1, data=5, stamps=(1, 2))), ethernet(tcp(HERE6, THERE6, seq=1, stamps=(1, 2))),
    ethernet(echo("192.0.2.1", "192.0.2.2", 3, request=True)),
])  # fmt: skip
def test_a_packet_cut_anywhere_is_read_or_is_nothing(packet: bytes) -> None:
    for size in range(len(packet)):
        cut = CapturedPacket(0, files.ETHERNET, packet[:size], len(packet))
        decode_packet(cut)
        assert headers_bytes(cut) >= 0


def test_radiotap_legacy_rate() -> None:
    frame = frame_80211(9, 77, retry=True)
    data = radiotap(frame, rate=108, signal_dbm=-61)
    found = decode_packet(CapturedPacket(5, files.RADIOTAP, data, len(data)))
    ends = b"\x02\x00\x00\x00\x00\xfe", b"\x02\x00\x00\x00\x00\x09"
    assert found == WirelessFrame(5, -61, 54e6, True, 2, *ends, from_ap=False)
    assert headers_bytes(CapturedPacket(5, files.RADIOTAP, data, len(data))) == len(data) - 40


@pytest.mark.parametrize(
    ("mcs", "rate_bps"),
    [
        (b"\x07\x00\x00", 6.5e6),  # 20 MHz, long guard
        (b"\x07\x04\x07", 65e6 / 0.9),
        (b"\x07\x05\x0f", 300e6),  # 40 MHz, short guard, two streams
        (b"\x01\x00\x07", math.nan),  # its index is not known
    ],
)
def test_radiotap_ht_rate(mcs: bytes, rate_bps: float) -> None:
    found = decode_packet(
        CapturedPacket(5, files.RADIOTAP, data := radiotap(frame_80211(9, 1), mcs=mcs), len(data))
    )
    assert isinstance(found, WirelessFrame)
    assert found.rate_bps == pytest.approx(rate_bps, nan_ok=True)


@pytest.mark.parametrize(
    ("bit", "field", "rate_bps"),
    [
        (
            21,
            struct.pack("<HBBB3xBBH", 0x44, 4, 4, 0x92, 0, 0, 0),
            866.7e6,
        ),  # VHT, 80 MHz, short, MCS 9, 2 streams
        (21, struct.pack("<HBBB3xBBH", 0x44, 0, 0, 0x01, 0, 0, 0), 6.5e6),
        (23, struct.pack("<6H", 0x4020, 2, 11 << 8, 0, 2, 2), 1201e6),  # HE, 80 MHz, 0.8 us, MCS 11, 2 streams
        (23, struct.pack("<6H", 0x4020, 2, 0, 0, 0x20, 1), 7.3e6),
        (
            23,
            struct.pack("<6H", 0x4060, 2, 0x1000 | 4 << 8, 0, 0, 1),
            25.8e6,
        ),  # of MCS 4's 51.6, by two subcarriers
        (23, struct.pack("<6H", 0x4020, 2, 0x1000 | 4 << 8, 0, 0, 1), 51.6e6),  # whether so is not known
        (23, struct.pack("<6H", 0x4220, 2, 0x8000 | 4 << 8, 0, 0, 2), 51.6e6),  # one stream by two antennas
    ],
)
def test_radiotap_vht_and_he_rates(bit: int, field: bytes, rate_bps: float) -> None:
    data = struct.pack("<BBHI", 0, 0, 8 + len(field), 1 << bit) + field + frame_80211(9, 1)
    found = decode_packet(CapturedPacket(5, files.RADIOTAP, data, len(data)))
    assert isinstance(found, WirelessFrame)
    assert found.rate_bps == pytest.approx(rate_bps, rel=0.005)


def test_radiotap_with_a_second_presence_word() -> None:
    body = (
        struct.pack("<I", 0x20) + struct.pack("<Bb", 12, -40) + b"\xd0"
    )  # rate, signal; then the antenna's signal
    data = struct.pack("<BBHI", 0, 0, 8 + len(body), 1 << 31 | 0x24) + body + frame_80211(9, 1)
    found = decode_packet(CapturedPacket(5, files.RADIOTAP, data, len(data)))
    assert isinstance(found, WirelessFrame)
    assert (found.rate_bps, found.signal_dbm) == (6e6, -40)


def run_filter(program: bytes, packet: bytes) -> int:
    """Run a classic BPF program as the kernel does, as far as the presets use it."""
    code = [struct.unpack_from("=HBBI", program, at) for at in range(0, len(program), 8)]
    accumulator, at = 0, 0
    while True:
        operation, if_true, if_false, k = code[at]
        at += 1
        if operation == 0x28:
            accumulator = struct.unpack_from("!H", packet, k)[0]
        elif operation == 0x30:
            accumulator = packet[k]
        elif operation == 0x54:
            accumulator &= k
        elif operation == 0x15:
            at += if_true if accumulator == k else if_false
        else:
            assert operation == 0x06
            return k


@pytest.mark.parametrize("link_type", [LinkType.ETHERNET, LinkType.RAW])
def test_preset_filters(link_type: LinkType) -> None:
    packets = {
        "tcp": [tcp(HERE, THERE, seq=1), tcp(HERE6, THERE6, seq=1)],
        "icmp": [
            echo("192.0.2.1", "192.0.2.2", 1, request=True),
            echo("2001:db8::1", "2001:db8::2", 1, request=True),
        ],
        "udp": [
            files.ip(17, "192.0.2.1", "192.0.2.2", bytes(8)),
            files.ip(17, "2001:db8::1", "2001:db8::2", bytes(8)),
        ],
    }
    passed = {"trace": {"tcp", "icmp"}, "tcp": {"tcp"}, "icmp": {"icmp"}}
    for name, wanted in passed.items():
        program = filter_program(name, "eth0", link_type)
        for kind, examples in packets.items():
            for packet in examples:
                whole = ethernet(packet) if link_type == LinkType.ETHERNET else packet
                assert bool(run_filter(program, whole)) == (kind in wanted), (name, kind)
    if link_type == LinkType.ETHERNET:
        assert run_filter(filter_program("trace", "eth0", link_type), bytes(12) + b"\x08\x06" + bytes(28)) == 0


def test_preset_filters_on_monitor_interfaces() -> None:
    for name in ("trace", "wifi"):
        assert filter_program(name, "mon0", LinkType.RADIOTAP) == b""
    for name in ("tcp", "icmp"):
        with pytest.raises(SpecError, match="monitor mode"):
            filter_program(name, "mon0", LinkType.RADIOTAP)
    with pytest.raises(SpecError, match="eth0 is not in monitor mode") as caught:
        filter_program("wifi", "eth0", LinkType.ETHERNET)
    assert "iw dev eth0 set type monitor" in caught.value.hint
    assert set(PRESETS) == {"trace", "tcp", "icmp", "wifi"}
