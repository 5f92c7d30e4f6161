"""Comparing packet logs: by number, not by time."""

from __future__ import annotations

from netlab.traces.packets.packet_compare import compare_packets
from netlab.traces.packets.packet_log import Arrival, PacketLog, PacketRecord, record_packet


def log(*packets: tuple[int, list[Arrival]], shift_ns: int = 0) -> PacketLog:
    records: list[PacketRecord] = []
    for sent_ns, arrivals in packets:
        later = [arrival._replace(delivered_ns=arrival.delivered_ns + shift_ns) for arrival in arrivals]
        records += record_packet(sent_ns + shift_ns, "link", "forward", 100, later)
    return PacketLog.of({}, records)


def test_clocks_that_begin_elsewhere_make_no_difference() -> None:
    packets = ((0, [Arrival(30)]), (20, []), (40, [Arrival(70), Arrival(90)]))
    (found,) = compare_packets(log(*packets), log(*packets, shift_ns=10**9))
    assert found.is_same
    assert (found.compared, found.fates, found.first_fate, found.delays, found.delay_max_ns) == (3, 0, None, 3, 0)


def test_another_fate_is_counted_and_the_first_named() -> None:
    here = log((0, [Arrival(30)]), (20, []), (40, []))
    there = log((0, [Arrival(31)]), (20, [Arrival(50)]), (40, [Arrival(60)]))
    (found,) = compare_packets(here, there)
    assert (found.compared, found.fates, found.first_fate, found.delays, found.delay_max_ns) == (3, 2, 1, 1, 1)
    assert not found.is_same


def test_a_second_copy_is_no_packet_of_its_own() -> None:
    here = log((0, [Arrival(30), Arrival(40, corrupted=True)]), (20, [Arrival(50)]))
    there = log((0, [Arrival(30)]), (20, [Arrival(50)]))
    (found,) = compare_packets(here, there)
    assert (found.compared, found.only_here, found.fates, found.first_fate) == (2, 0, 1, 0)


def test_packets_that_one_log_lacks_are_counted() -> None:
    (found,) = compare_packets(log((0, []), (20, []), (40, [])), log((0, [])))
    assert (found.compared, found.only_here, found.only_there) == (1, 2, 0)
    assert not found.is_same


def test_a_direction_without_packets_there_is_still_told() -> None:
    (found,) = compare_packets(log((0, [Arrival(5)])), PacketLog.of({}, []))
    assert (found.link, found.compared, found.only_here) == ("link", 0, 1)


def test_what_nobody_knows_is_no_difference_of_fates() -> None:
    here = PacketLog.of({}, [PacketRecord(0, "link", "back", 60, "pending", None)])
    there = PacketLog.of({}, [PacketRecord(0, "link", "back", 60, "delivered", 9)])
    (found,) = compare_packets(here, there)
    assert (found.pending, found.fates, found.is_same) == (1, 0, True)
