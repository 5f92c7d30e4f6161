"""Matching frames against a link that the test plays itself: every fate must be found again."""

from __future__ import annotations

import functools
import random
from collections import Counter
from collections.abc import Callable, Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netlab.traces.packets import packet_match
from netlab.traces.packets.packet_log import Arrival, PacketRecord, record_packet
from netlab.traces.packets.packet_match import Frame, digest_frame, match_frames

ETHERNET = bytes(12) + b"\x08\x00"


def ipv4(number: int, length: int, ecn: int = 0) -> bytes:
    """Return a frame with an IPv4 header, as unlike any other as its number."""
    payload = random.Random(number).randbytes(length)
    header = bytes([0x45, ecn]) + bytes(8) + number.to_bytes(2, "big") + bytes(8)
    return ETHERNET + header + payload


def flip(data: bytes, bit: int) -> bytes:
    flipped = bytearray(data)
    flipped[bit // 8] ^= 1 << (bit % 8)
    return bytes(flipped)


def fill_in(data: bytes, checksum: bytes) -> bytes:
    """Return the frame with its UDP checksum filled in, as netem does before it flips a bit."""
    return data[:40] + checksum + data[42:]


def mark(data: bytes) -> bytes:
    """Return the frame as a router marks it: congestion met, and a new header checksum."""
    marked = bytearray(data)
    marked[15] |= 0b11
    marked[24] ^= 0xFB
    return bytes(marked)


FATE = st.sampled_from(["delivered", "lost", "corrupted", "marked", "doubled"])


@settings(max_examples=200)
@given(
    st.lists(
        st.tuples(
            FATE,
            st.integers(min_value=1, max_value=3000),  # delay: packets overtake one another
            st.integers(min_value=0, max_value=3000),  # further delay of a second copy
            st.sampled_from([30, 30, 30, 77]),  # lengths that repeat
            st.integers(min_value=0, max_value=10**6),
        ),
        max_size=40,
    )
)
def test_every_fate_is_found_again(packets: list[tuple[str, int, int, int, int]]) -> None:
    entered: list[Frame] = []
    left: list[Frame] = []
    expected: list[PacketRecord] = []
    for number, (fate, delay_ns, more_ns, length, bit) in enumerate(packets):
        data, sent_ns = ipv4(number, length, ecn=0b10), 100 * number
        entered.append(digest_frame(sent_ns, data))
        seen_ns = sent_ns + delay_ns
        arrivals: list[Arrival] = []
        if fate in ("delivered", "doubled"):
            left.append(digest_frame(seen_ns, data))
            arrivals.append(Arrival(seen_ns))
        if fate == "doubled":
            left.append(digest_frame(seen_ns + more_ns, data))
            arrivals.append(Arrival(seen_ns + more_ns))
        if fate == "corrupted":
            left.append(digest_frame(seen_ns, flip(fill_in(data, b"\xab\xcd"), bit % (8 * len(data)))))
            arrivals.append(Arrival(seen_ns, corrupted=True))
        if fate == "marked":
            left.append(digest_frame(seen_ns, mark(data)))
            arrivals.append(Arrival(seen_ns, marked=True))
        expected += record_packet(sent_ns, "link", "forward", len(data), arrivals)
    matched = match_frames("link", "forward", entered, left, end_ns=10**9)
    assert matched.strangers == 0
    assert sorted(matched.records, key=str) == sorted(expected, key=str)


def test_packets_of_one_content_are_told_apart_by_their_order() -> None:
    data = ipv4(1, 40)
    entered = [digest_frame(time_ns, data) for time_ns in (0, 100, 200)]
    left = [digest_frame(time_ns, data) for time_ns in (50, 150, 250)]
    records = match_frames("link", "forward", entered, left, end_ns=10**6).records
    assert [(record.sent_ns, record.fate, record.delivered_ns) for record in records] == [
        (0, "delivered", 50), (100, "delivered", 150), (200, "delivered", 250),
    ]  # fmt: skip


def test_a_frame_cannot_leave_before_it_entered() -> None:
    data = ipv4(1, 40)
    matched = match_frames("link", "forward", [digest_frame(100, data)], [digest_frame(50, data)], end_ns=10**6)
    assert matched.strangers == 1
    assert [record.fate for record in matched.records] == ["lost"]


def test_what_may_still_be_on_its_way_is_pending() -> None:
    entered = [digest_frame(time_ns, ipv4(number, 40)) for number, time_ns in enumerate((0, 500, 990))]
    left = [digest_frame(400, ipv4(0, 40))]
    records = match_frames("link", "back", entered, left, end_ns=1000).records
    assert [record.fate for record in records] == ["delivered", "lost", "pending"]


@pytest.mark.parametrize("bits", [(3, 200), (0, 1), (100, 101)])
def test_two_flipped_bits_are_not_taken_for_one(bits: tuple[int, int]) -> None:
    data = ipv4(1, 60)
    damaged = flip(flip(data, bits[0]), bits[1])
    matched = match_frames("link", "forward", [digest_frame(0, data)], [digest_frame(5, damaged)], end_ns=10**6)
    assert matched.strangers == 1


def test_many_alike_take_no_quadratic_time() -> None:
    frame = digest_frame(0, ipv4(1, 40))
    entered = [Frame(100 * i, frame.length_bytes, frame.digest, frame.crcs) for i in range(50_000)]
    left = [Frame(100 * i + 50, frame.length_bytes, frame.digest, frame.crcs) for i in range(50_000)]
    records = match_frames("link", "forward", entered, left, end_ns=10**9).records
    assert all(record.delay_ns == 50 for record in records)


class Counted(frozenset[int]):
    """The numbers of single bits, which count how often one is looked for or looked up."""

    looks = 0

    def __contains__(self, delta: object) -> bool:
        Counted.looks += 1
        return super().__contains__(delta)

    def __iter__(self) -> Iterator[int]:
        Counted.looks += len(self)
        return super().__iter__()


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> type[Counted]:
    single_bits = packet_match._single_bits
    counted = functools.lru_cache(lambda length_bytes: Counted(single_bits(length_bytes)))
    monkeypatch.setattr(packet_match, "_single_bits", counted)
    Counted.looks = 0
    return Counted


LOOKS_AT_WORST = 3 * 64 + 3 * (8 * 64 + 1)
"""For a frame of 64 bytes: three CRCs, each of as many missing frames as it has bytes, and each of its bits."""


def play(frames: int, fate_of: Callable[[int], str], length: int = 30) -> tuple[list[Frame], list[Frame]]:
    """Return frames as they entered and left, some ten on their way at a time."""
    entered, left = [], []
    for number in range(frames):
        data, sent_ns, fate = ipv4(number, length, ecn=0b10), 100 * number, fate_of(number)
        entered.append(digest_frame(sent_ns, data))
        if fate != "lost":
            seen = {"marked": mark(data), "corrupted": flip(data, number * 7919 % (8 * len(data)))}.get(fate, data)
            left.append(digest_frame(sent_ns + 1000, seen))
    return entered, left


def test_marks_and_corruption_take_no_quadratic_work(looks: type[Counted]) -> None:
    frames = 20_000
    fates = {0: "marked", 1: "corrupted", 2: "lost"}
    entered, left = play(frames, lambda number: fates.get(number % 10, "delivered"))
    matched = match_frames("link", "forward", entered, left, end_ns=10**9)
    assert matched.strangers == 0
    counts = Counter(record.fate for record in matched.records)
    assert counts == {"delivered": 14_000, "marked": 2000, "corrupted": 2000, "lost": 2000}
    # For each mark and flipped bit the three CRCs of those on their way and of the latest lost.
    assert looks.looks <= 4000 * 3 * 20


def test_flipped_bits_among_many_that_are_lost_take_no_quadratic_work(looks: type[Counted]) -> None:
    entered, left = play(20_000, lambda number: "lost" if number % 20 else "corrupted")
    matched = match_frames("link", "forward", entered, left, end_ns=10**9)
    assert Counter(record.fate for record in matched.records) == {"lost": 19_000, "corrupted": 1000}
    assert looks.looks <= 1000 * LOOKS_AT_WORST


def test_strangers_take_no_quadratic_work(looks: type[Counted]) -> None:
    entered, left = play(5000, lambda number: "delivered")
    left += [digest_frame(2500 * 100, ipv4(number, 30)) for number in range(10_000, 10_500)]
    assert match_frames("link", "forward", entered, left, end_ns=10**9).strangers == 500
    assert looks.looks <= 500 * LOOKS_AT_WORST


def test_a_corrupted_second_copy_is_known_though_nothing_is_missing() -> None:
    data = ipv4(1, 40)
    entered = [digest_frame(0, ipv4(0, 40)), digest_frame(10, data)]
    left = [digest_frame(20, ipv4(0, 40)), digest_frame(30, data), digest_frame(40, flip(data, 300))]
    records = match_frames("link", "forward", entered, left, end_ns=10**6).records
    assert [record.fate for record in records] == ["delivered", "delivered", "duplicate-corrupted"]


@pytest.mark.parametrize("bit", [8 * 15, 8 * 15 + 1, 8 * 24, 8 * 25 + 7])
def test_a_flipped_bit_of_the_congestion_mark_or_its_checksum_is_no_mark(bit: int) -> None:
    data = ipv4(1, 40, ecn=0b10)
    matched = match_frames(
        "link", "forward", [digest_frame(0, data)], [digest_frame(5, flip(data, bit))], end_ns=10**6
    )
    assert [record.fate for record in matched.records] == ["corrupted"]
