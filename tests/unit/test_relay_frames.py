"""Bytes that a relay handles: ECN marks, flipped bits, checksums, frames on its socket, states as plain values."""

from __future__ import annotations

import errno
import os
import resource
import socket
import struct

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from netem_states import netem_states

from netlab.errors import FeatureMissing, KernelError, NetlabError, PrivilegeError, ProfileError
from netlab.namespaces.passed_descriptors import close_all
from netlab.namespaces.relay.frame_edit import flip_bit, is_ecn_capable, mark_congestion
from netlab.namespaces.relay.message_stream import MAX_MESSAGE_BYTES, MessageError, MessageReader, send_message
from netlab.namespaces.relay.raw_port import finish_checksum
from netlab.namespaces.relay.refusal import Refusal
from netlab.namespaces.relay.requests import (
    AddLinks,
    Asked,
    LinkPlace,
    NewLink,
    Put,
    PutStates,
    Reply,
    from_plain,
    to_plain,
)
from netlab.namespaces.relay.tap import TapPort
from netlab.traces.qdisc_state import FourStateState, GilbertElliottState, QdiscState, SlotState

MACS = bytes(12)


def checksum(data: bytes) -> int:
    """Return the internet checksum, word by word (RFC 1071)."""
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def ipv4(tos: int, ident: int = 1, tag: bytes = b"") -> bytes:
    header = bytearray(
        struct.pack("!BBHHHBBH4s4s", 0x45, tos, 28, ident, 0, 64, 17, 0, b"\x0a\0\0\1", b"\x0a\0\0\2")
    )
    struct.pack_into("!H", header, 10, checksum(bytes(header)))
    return MACS + tag + b"\x08\x00" + bytes(header) + bytes(8)


@given(st.integers(0, 255), st.integers(0, 65535), st.sampled_from([b"", b"\x81\x00\x00\x2a"]))
def test_ecn_mark_keeps_the_checksum_right(tos: int, ident: int, tag: bytes) -> None:
    frame = ipv4(tos, ident, tag)
    at = 14 + len(tag)
    assert is_ecn_capable(frame) == bool(tos & 3)
    marked = mark_congestion(frame)
    assert marked[at + 1] == tos | 3
    assert checksum(marked[at : at + 20]) in (0, 0xFFFF)
    changed = {place for place, (one, other) in enumerate(zip(frame, marked, strict=True)) if one != other}
    assert changed <= {at + 1, at + 10, at + 11}


def test_ecn_of_ipv6_and_of_others() -> None:
    ipv6 = MACS + b"\x86\xdd" + bytes([0x60, 0b10 << 4]) + bytes(38)
    assert is_ecn_capable(ipv6)
    assert mark_congestion(ipv6)[15] == 0b11 << 4
    assert not is_ecn_capable(MACS + b"\x86\xdd" + bytes(40))
    assert not is_ecn_capable(MACS + b"\x08\x06" + b"\xff" * 28)  # ARP
    assert not is_ecn_capable(ipv4(3)[:20])  # cut short
    assert not is_ecn_capable(b"")


@given(st.binary(min_size=1, max_size=100))
def test_one_bit_is_flipped(frame: bytes) -> None:
    difference = int.from_bytes(frame, "big") ^ int.from_bytes(flip_bit(frame), "big")
    assert difference.bit_count() == 1


def test_any_bit_may_be_flipped() -> None:
    places = {int.from_bytes(flip_bit(bytes(4)), "big") for _ in range(2000)}
    assert len(places) == 32  # a bit is missed with probability 32 (31/32)^2000 < 1e-25


@given(st.binary(min_size=8, max_size=99))
def test_checksum_that_a_card_would_finish(body: bytes) -> None:
    # A datagram whose checksum field holds the sum of its pseudo-header, here 0x1234.
    start = 34
    frame = bytes(start) + body[:6] + b"\x12\x34" + body[8:]
    finished = finish_checksum(frame, start, 6)
    padded = body[:6] + b"\0\0" + body[8:] + bytes(len(body) & 1)
    wanted = checksum(padded + b"\x12\x34") or 0xFFFF
    assert int.from_bytes(finished[start + 6 : start + 8], "big") == wanted
    assert finished[: start + 6] + finished[start + 8 :] == frame[: start + 6] + frame[start + 8 :]


def test_checksum_place_beyond_the_frame_is_left_alone() -> None:
    assert finish_checksum(b"short", 4, 16) == b"short"


@pytest.mark.parametrize(
    "state",
    [
        QdiscState(),
        QdiscState(seed=2**64 - 1, rate_bytes_per_s=2**64 - 1, latency_ns=-5, ecn=True),
        QdiscState(delay_table=tuple(range(-8192, 8192)), jitter_ns=1, packet_overhead_bytes=-4),
        QdiscState(loss_model=GilbertElliottState(p=1, r=2, h=3, k1=4), seed=0),
        QdiscState(loss_model=FourStateState(p13=1, p31=2, p32=3, p14=4, p23=5)),
        QdiscState(slot=SlotState(min_delay_ns=1), slot_table=(1, 2, 3), gap=7, reorder=9),
    ],
)
def test_state_arrives_as_it_was(state: QdiscState) -> None:
    asked = Asked(1, PutStates((Put(LinkPlace(0, "back"), to_plain(state)),)))
    read = msgspec.msgpack.decode(msgspec.msgpack.encode(asked), type=Asked)
    assert isinstance(read.request, PutStates)
    assert from_plain(read.request.puts[0].state) == state


@given(netem_states())
def test_any_state_arrives_as_it_was(state: QdiscState) -> None:
    assert from_plain(msgspec.msgpack.decode(msgspec.msgpack.encode(to_plain(state)))) == state


def test_messages_and_descriptors_arrive_in_pieces() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        reader = MessageReader(theirs)
        file = os.memfd_create("relay-test")
        send_message(ours, b"first", [file, file])
        os.close(file)
        whole = struct.pack("=II", 6, 0) + b"second"
        ours.send(whole[:7])
        assert reader.receive()
        first = reader.next_message()
        assert first is not None
        assert (first.body, len(first.descriptors), first.is_short) == (b"first", 2, False)
        close_all(first.descriptors)
        while (second := reader.next_message()) is None:
            ours.send(whole[7:])
            assert reader.receive()
        assert second == (b"second", [], False)
        ours.close()
        assert not reader.receive()


def test_descriptors_of_a_message_that_was_never_whole_are_closed() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        reader = MessageReader(theirs)
        before = len(os.listdir("/proc/self/fd"))
        head = struct.pack("=II", 6, 2)
        socket.send_fds(ours, [head], [ours.fileno(), ours.fileno()])
        assert reader.receive()
        assert reader.next_message() is None
        assert len(os.listdir("/proc/self/fd")) == before + 2
        reader.close()
        assert len(os.listdir("/proc/self/fd")) == before


@pytest.mark.parametrize("room", [0, 1])
def test_descriptors_that_find_no_room_are_missed_and_not_taken_from_the_next_message(room: int) -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        reader = MessageReader(theirs)
        send_message(ours, b"first", [ours.fileno(), ours.fileno()])
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        free = [os.dup(0) for _ in range(room + 1)]
        close_all(free)
        resource.setrlimit(resource.RLIMIT_NOFILE, (free[-1], hard))
        try:
            assert reader.receive()
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        send_message(ours, b"second", [ours.fileno()])
        assert reader.receive()
        first = reader.next_message()
        assert first is not None
        assert (first.body, len(first.descriptors), first.is_short) == (b"first", room, True)
        close_all(first.descriptors)
        second = reader.next_message()
        assert second is not None
        assert (second.body, len(second.descriptors), second.is_short) == (b"second", 1, False)
        close_all(second.descriptors)


def test_message_too_long_is_refused_before_it_is_read() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.send(struct.pack("=II", MAX_MESSAGE_BYTES + 1, 0))
        reader = MessageReader(theirs)
        reader.receive()
        with pytest.raises(MessageError, match="at most"):
            reader.next_message()


def test_request_that_is_none_is_refused() -> None:
    link = NewLink(number=0, name="a-b", kinds=("tap", "tap"), frame_bytes=1518)
    good = msgspec.to_builtins(Asked(1, AddLinks((link,))))
    kindless = {**msgspec.to_builtins(link), "kinds": []}
    for damage in (
        {"request": {"type": "Explode"}},
        {"number": "one"},
        {"request": {**good["request"], "links": [kindless]}},
    ):
        with pytest.raises(msgspec.ValidationError):
            msgspec.msgpack.decode(msgspec.msgpack.encode({**good, **damage}), type=Asked)


@pytest.mark.parametrize(
    ("raised", "wanted"),
    [
        (OSError(errno.ENODEV, "no"), KernelError("do it", errno.ENODEV)),
        (OSError(errno.EPERM, "no"), PrivilegeError("do it", errno.EPERM)),
        (FeatureMissing("have it", 2, "no tun", "load it"), FeatureMissing("do it", 2, "no tun", "load it")),
        (KernelError("have it", 24, "full", "raise it"), KernelError("do it", 24, "full", "raise it")),
        (ProfileError("no slots", "leave them out"), ProfileError("no slots", "leave them out")),
    ],
)  # fmt: skip
def test_refusal_is_raised_in_the_lab_as_what_it_was_in_the_relay(
    raised: OSError | NetlabError, wanted: NetlabError
) -> None:
    packed = msgspec.msgpack.encode(Reply(refusal=Refusal.of(raised)))
    refusal = msgspec.msgpack.decode(packed, type=Reply).refusal
    assert refusal is not None
    error = refusal.error("do it")
    assert (type(error), str(error)) == (type(wanted), str(wanted))
    assert error.hint == wanted.hint or (isinstance(raised, OSError) and error.hint)
    assert getattr(error, "errno", None) == getattr(wanted, "errno", None)


def test_a_frame_longer_than_the_links_is_dropped_whole() -> None:
    # A socket of whole messages cuts what does not fit, as a TAP does.
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with ours:
        port = TapPort(theirs.detach(), 100)
        for size in (99, 100, 101, 5000):
            ours.send(bytes(size))
        assert [len(port.read()) for _ in range(4)] == [99, 100, 0, 0]
        port.close()
