"""Packet logs: what is written is what is read, whatever order it came in."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netlab.errors import SpecError
from netlab.traces.packets.packet_log import (
    Arrival,
    PacketLog,
    PacketRecord,
    header_lines,
    record_line,
    record_packet,
)

TIMES = st.integers(min_value=0, max_value=2**62)
FATES = st.sampled_from(
    ["delivered", "marked", "corrupted", "duplicate", "duplicate-corrupted", "lost", "pending"]
)
RECORDS = st.builds(
    PacketRecord,
    sent_ns=TIMES,
    link=st.sampled_from(["edge-agent", "up", "a.b_c-d"]),
    direction=st.sampled_from(["forward", "back"]),
    length_bytes=st.integers(min_value=14, max_value=65549),
    fate=FATES,
    delivered_ns=st.none() | TIMES,
)
HEADER = {"netlab": "0.1.0", "engine": "guest", "clock": "virtual", "kernel": "7.2.12 sha256:00"}


@given(st.lists(RECORDS, max_size=30))
def test_a_log_comes_back_as_it_was_written(records: list[PacketRecord]) -> None:
    log = PacketLog.of(HEADER, records)
    assert PacketLog.decode(log.encode()) == log


@given(st.lists(RECORDS, max_size=30))
def test_a_log_written_line_by_line_is_a_log(records: list[PacketRecord]) -> None:
    text = header_lines(HEADER) + "".join(record_line(record) for record in records)
    assert PacketLog.decode(text.encode()) == PacketLog(HEADER, tuple(records))


@given(st.lists(RECORDS, max_size=30))
def test_records_are_sorted_by_time_and_those_of_one_moment_stay_in_order(records: list[PacketRecord]) -> None:
    log = PacketLog.of(HEADER, records)
    assert [record.sent_ns for record in log.records] == sorted(record.sent_ns for record in records)
    moments = {(record.sent_ns, record.link, record.direction) for record in records}
    for moment in moments:
        assert [r for r in log.records if (r.sent_ns, r.link, r.direction) == moment] == [
            r for r in records if (r.sent_ns, r.link, r.direction) == moment
        ]


def test_one_line_a_packet_and_the_header_before() -> None:
    records = [
        *record_packet(30, "edge-agent", "back", 131, []),
        *record_packet(20, "edge-agent", "forward", 147, [Arrival(90), Arrival(50)]),
        *record_packet(40, "edge-agent", "forward", 147, [Arrival(60, corrupted=True)]),
        *record_packet(45, "edge-agent", "forward", 147, [Arrival(61, marked=True)]),
    ]
    assert PacketLog.of({"engine": "relay"}, records).encode().decode() == (
        "# netlab packets 1\n"
        "# engine relay\n"
        "# columns sent_ns link direction length_bytes fate delivered_ns\n"
        "20 edge-agent forward 147 delivered 50\n"
        "20 edge-agent forward 147 duplicate 90\n"
        "30 edge-agent back 131 lost -\n"
        "40 edge-agent forward 147 corrupted 60\n"
        "45 edge-agent forward 147 marked 61\n"
    )


def test_a_header_of_two_lines_is_refused() -> None:
    with pytest.raises(SpecError, match="one line"):
        PacketLog.of({"kernel": "7.2\n1 a forward 5 lost -"}, [])


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        (b"", "first line"),
        (b"# netlab packets 2\n", "first line"),
        (b"# netlab packets 1\n1 a forward 5 lost", "cut short"),
        (b"# netlab packets 1\n1 a forward 5 lost\n", "is no packet"),
        (b"# netlab packets 1\n1 a sideways 5 lost -\n", "is no packet"),
        (b"# netlab packets 1\n1 a forward 5 gone -\n", "is no packet"),
        (b"# netlab packets 1\n1 a forward -  lost -\n", "is no packet"),
        (b"# netlab packets 1\n1 a forward 5 delivered 12e3\n", "is no packet"),
    ],
)
def test_what_is_no_log_is_refused_by_line_and_rule(text: bytes, rule: str) -> None:
    with pytest.raises(SpecError, match=rule) as refused:
        PacketLog.decode(text, "packets.txt")
    assert "packets.txt" in str(refused.value) and "line" in str(refused.value)
