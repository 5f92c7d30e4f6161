"""Captures as traces: round trips from TCP timestamps and pings, rates on the air, and what is no trace."""

from __future__ import annotations

import gzip
import hashlib
from pathlib import Path

import capture_files as files
import numpy as np
import pytest
from capture_files import BEGAN_NS, FIN, RADIOTAP, SYN, Packet, echo, ethernet, frame_80211, pcap, pcapng, radiotap
from hypothesis import given
from hypothesis import strategies as st

from netlab.errors import TraceError
from netlab.traces.importers.catalogue import import_trace
from netlab.traces.importers.importer import ImportOptions
from netlab.traces.importers.pcap import IMPORTER
from netlab.traces.trace import UNKNOWN, ClockVerdict, Trace, TracedPath
from netlab.traces.trace_source import TraceSource

HERE, THERE = ("192.0.2.1", 40_000), ("192.0.2.2", 80)
MS = 1_000_000
WORD = 1 << 32


def imported(tmp_path: Path, packets: list[Packet], kind: str = "", **how: int) -> Trace:
    path = tmp_path / "measured.pcap"
    path.write_bytes(pcap(sorted(packets), **how))  # type: ignore[arg-type]
    (trace,) = import_trace(path, options=ImportOptions(kind=kind))
    return trace


def refused(tmp_path: Path, packets: list[Packet], kind: str = "", **how: int) -> TraceError:
    with pytest.raises(TraceError) as caught:
        imported(tmp_path, packets, kind, **how)
    return caught.value


class Connection:
    """A TCP connection as a capture beside its first end sees it: what leaves, and what comes back.

    Args:
        seq: Of the first byte of data.
        tsval: Of the first end's clock, in ms, at the beginning.
    """

    def __init__(self, seq: int = 1000, tsval: int = 500, port: int = HERE[1]) -> None:
        self.packets: list[Packet] = []
        self.seq, self.tsval = seq, tsval
        self.here = HERE[0], port

    def data(self, at_ms: float, seq: int, *, size: int = 100, flags: int = 0, tsval: int | None = None) -> None:
        stamp = self.tsval + int(at_ms) if tsval is None else tsval
        segment = files.tcp(
            self.here, THERE, seq=self.seq + seq, ack=1, flags=files.ACK | flags, data=size, stamps=(stamp, 1)
        )
        self.packets.append((BEGAN_NS + int(at_ms * MS), ethernet(segment)))

    def ack(self, at_ms: float, ack: int, echo_ms: float, *, size: int = 0, seq: int = 1) -> None:
        stamps = 9_000 + int(at_ms), self.tsval + int(echo_ms)
        segment = files.tcp(THERE, self.here, seq=seq, ack=self.seq + ack, data=size, stamps=stamps)
        self.packets.append((BEGAN_NS + int(at_ms * MS), ethernet(segment)))


def delays_ms(trace: Trace) -> list[float]:
    return [round(float(delay_s) * 1e3, 6) for delay_s in trace.delay_s]


def test_data_and_its_echo_are_a_round_trip(tmp_path: Path) -> None:
    connection = Connection()
    for n, delay_ms in enumerate((20.0, 35.5, 10.25)):
        connection.data(100 * n, 100 * n)
        connection.ack(100 * n + delay_ms, 100 * n + 100, 100 * n)
    trace = imported(tmp_path, connection.packets)
    assert delays_ms(trace) == [20.0, 35.5, 10.25]
    assert np.allclose(trace.t_s, [0.0, 0.1, 0.2])
    assert (trace.path, trace.clocks) == (TracedPath.ROUND_TRIP, ClockVerdict.ONE_CLOCK)
    assert (trace.has_losses, trace.has_rates) == (False, False)
    assert "TCP 192.0.2.1:40000 to 192.0.2.2:80 and back, timed by its data; 0 retransmissions" in trace.source
    assert len(trace.source_sha256) == 64


def test_a_retransmission_is_no_delay(tmp_path: Path) -> None:
    """Karn's rule: of what is sent again no echo is a round trip, by whichever of the two it was caused."""
    connection = Connection()
    connection.data(0, 0)
    connection.ack(20, 100, 0)
    connection.data(100, 100)  # lost behind the capture
    connection.data(400, 100)  # sent again 300 ms later
    connection.ack(420, 200, 400)
    connection.data(500, 200)
    connection.ack(520, 300, 500)
    trace = imported(tmp_path, connection.packets)
    assert delays_ms(trace) == [20.0, 20.0]
    assert "1 retransmissions" in trace.source


def test_what_is_sent_again_while_its_echo_is_awaited_is_no_delay(tmp_path: Path) -> None:
    connection = Connection()
    connection.data(0, 0)
    connection.data(5, 100)
    connection.data(300, 0)
    connection.ack(330, 200, 0)  # of the first, whose own acknowledgement was lost
    connection.data(400, 200)
    connection.ack(420, 300, 400)
    assert delays_ms(imported(tmp_path, connection.packets)) == [20.0]


def test_a_late_echo_of_what_was_sent_again_is_no_delay(tmp_path: Path) -> None:
    connection = Connection()
    connection.data(0, 0, tsval=500)
    connection.data(0.2, 100, tsval=500)  # of the same tick
    connection.data(0.4, 0, size=50, tsval=500)  # and a part again, in the same tick still
    connection.ack(30, 200, 0)
    connection.data(100, 200)
    connection.ack(120, 300, 100)
    assert delays_ms(imported(tmp_path, connection.packets)) == [20.0]


def test_an_echo_of_a_tick_in_which_something_was_sent_again_is_no_delay(tmp_path: Path) -> None:
    """New data and, in the same tick, older data again: nobody can know which of the two is echoed."""
    connection = Connection()
    connection.data(0, 0)
    connection.data(5, 100, tsval=505)
    connection.data(5.4, 0, tsval=505)
    connection.ack(30, 200, 5)
    connection.data(100, 200)
    connection.ack(120, 300, 100)
    trace = imported(tmp_path, connection.packets)
    assert (delays_ms(trace), "1 retransmissions" in trace.source) == ([20.0], True)


def test_duplicate_acknowledgements_count_once(tmp_path: Path) -> None:
    connection = Connection()
    connection.data(0, 0)
    connection.data(1, 100)
    connection.ack(20, 100, 0)
    for at_ms in (21, 22, 200):
        connection.ack(at_ms, 100, 0)
    assert delays_ms(imported(tmp_path, connection.packets)) == [20.0]


def test_an_echo_that_does_not_reach_the_data_is_none_of_it(tmp_path: Path) -> None:
    """Of one tick: the echo of the first may be caused by a segment before it."""
    connection = Connection()
    connection.data(0, 0)
    connection.ack(5, 0, 0)
    connection.ack(30, 100, 0)
    assert delays_ms(imported(tmp_path, connection.packets)) == [30.0]


def test_a_packet_that_the_card_cuts_is_timed_by_its_first_piece(tmp_path: Path) -> None:
    """64 kB at 1 Mbit/s: its pieces are acknowledged for half a second, by twos."""
    connection = Connection()
    connection.data(0, 0, size=64_000)
    for n in range(1, 33):
        connection.ack(20 + 16 * n, 2000 * n, 0)
    connection.data(1000, 64_000)
    connection.ack(1020, 64_100, 1000)
    assert delays_ms(imported(tmp_path, connection.packets)) == [36.0, 20.0]


def test_a_part_of_a_large_packet_that_is_sent_again_is_no_delay(tmp_path: Path) -> None:
    """Its acknowledgements were all lost; a host that echoes the old clock answers what comes again."""
    connection = Connection()
    connection.data(0, 0, size=64_000)
    connection.data(300, 0, size=1000)
    connection.ack(320, 64_000, 0)
    connection.data(1000, 64_000)
    connection.ack(1020, 64_100, 1000)
    assert delays_ms(imported(tmp_path, connection.packets)) == [20.0]


def test_an_echo_captured_before_what_it_echoes_times_nothing(tmp_path: Path) -> None:
    """By a card with several queues; the next echo of the same comes with whatever is sent next."""
    connection = Connection()
    connection.ack(0.2, 100, 0)
    connection.data(0, 0)
    connection.ack(900, 100, 0, size=10)
    connection.data(1000, 100)
    connection.ack(1020, 200, 1000)
    path = tmp_path / "disorder.pcap"
    path.write_bytes(pcap(connection.packets))
    (trace,) = import_trace(path)
    assert (delays_ms(trace), trace.source.count(";")) == ([20.0], 1)


def test_delayed_acknowledgement_of_two_is_timed_from_the_first(tmp_path: Path) -> None:
    connection = Connection()
    connection.data(0, 0)
    connection.data(10, 100)
    connection.ack(30, 200, 0)  # RFC 7323: the earlier of the two is echoed
    assert delays_ms(imported(tmp_path, connection.packets)) == [30.0]


def test_sequence_numbers_and_clocks_wrap(tmp_path: Path) -> None:
    connection = Connection(seq=WORD - 250, tsval=WORD - 150)
    for n in range(6):
        connection.data(100 * n, 100 * n)
        connection.ack(100 * n + 20 + n, 100 * n + 100, 100 * n)
    assert delays_ms(imported(tmp_path, connection.packets)) == [20.0, 21.0, 22.0, 23.0, 24.0, 25.0]


def test_a_retransmission_across_the_wrap_is_seen(tmp_path: Path) -> None:
    connection = Connection(seq=WORD - 50, tsval=WORD - 50)
    connection.data(0, 0)
    connection.ack(20, 100, 0)
    connection.data(100, 100)
    connection.data(150, 0)  # from before the wrap
    connection.ack(155, 100, 150)
    connection.ack(125, 200, 100)
    trace = imported(tmp_path, connection.packets)
    assert (delays_ms(trace), "1 retransmissions" in trace.source) == ([20.0, 25.0], True)


def test_keep_alives_are_no_delay(tmp_path: Path) -> None:
    connection = Connection()
    connection.data(0, 0)
    connection.ack(20, 100, 0)
    connection.data(1000, 99, size=1)
    connection.ack(1500, 100, 1000)
    assert delays_ms(imported(tmp_path, connection.packets)) == [20.0]


@pytest.mark.parametrize("size", [0, 1])
@pytest.mark.parametrize("probes_here", [False, True])
def test_keep_alives_of_either_end_are_no_delay(tmp_path: Path, size: int, probes_here: bool) -> None:
    """Before what was acknowledged, with a byte or none; the answer to each is echoed by the next."""
    connection = Connection()
    for n in range(20):
        connection.data(n, 100 * n)
        connection.ack(n + 20, 100 * n + 100, n)
    for n in range(1, 30):
        at_ms = 1000 * n
        if probes_here:
            connection.data(at_ms, 1999, size=size)
            connection.ack(at_ms + 20, 2000, at_ms)
        else:
            connection.ack(at_ms, 2000, at_ms - 980 if n > 1 else 19, size=size, seq=0)
            connection.data(at_ms + 0.02, 2000, size=0)
    trace = imported(tmp_path, connection.packets)
    assert delays_ms(trace) == [20.0] * 20


@pytest.mark.parametrize("size", [0, 1])
def test_probes_of_a_closed_window_are_no_delay(tmp_path: Path, size: int) -> None:
    """For three seconds no data are let in; then the byte that was not is sent with others."""
    connection = Connection()
    connection.data(0, 0)
    connection.ack(20, 100, 0)  # and the window is closed
    for at_ms in (300, 900, 2100):
        connection.data(at_ms, 100 if size else 99, size=size)
        connection.ack(at_ms + 20, 100, at_ms)
    connection.ack(3000, 100, 2100)  # it opens
    connection.data(3001, 100, size=1000)
    connection.ack(3021, 1100, 3001)
    connection.data(3100, 1100)
    connection.ack(3120, 1200, 3100)
    assert set(delays_ms(imported(tmp_path, connection.packets))) == {20.0}


def test_a_hole_that_is_reported_and_filled_is_no_delay(tmp_path: Path) -> None:
    """Selective acknowledgements echo what came last in order until the hole is filled."""
    connection = Connection()
    connection.data(0, 0)
    connection.ack(20, 100, 0)
    for n in range(1, 6):
        connection.data(100 + n, 100 * n)
    for n in range(2, 6):  # the first of them was lost
        connection.ack(120 + n, 100, 0)
    connection.data(130, 100)
    connection.ack(150, 600, 130)
    connection.data(300, 600)
    connection.ack(320, 700, 300)
    assert delays_ms(imported(tmp_path, connection.packets)) == [20.0, 20.0]


def test_connections_that_are_never_answered_are_no_delay(tmp_path: Path) -> None:
    """Half open: the request to open is sent again after 1 s, 3 s and 7 s; one is answered at last."""
    packets: list[Packet] = []
    for port in range(1, 50):
        for at_ms in (0, 1000, 3000, 7000):
            opening = files.tcp((HERE[0], port), THERE, seq=999, flags=SYN, stamps=(500 + at_ms, 0))
            packets.append((BEGAN_NS + at_ms * MS + port, ethernet(opening)))
    answer = files.tcp(THERE, (HERE[0], 7), seq=0, ack=1000, flags=SYN | files.ACK, stamps=(9_000, 7_500))
    packets.append((BEGAN_NS + 7020 * MS, ethernet(answer)))
    assert "no TCP timestamp that went out" in str(refused(tmp_path, packets))
    connection = Connection()
    connection.data(0, 0)
    connection.ack(20, 100, 0)
    trace = imported(tmp_path, packets + connection.packets)
    assert delays_ms(trace) == [20.0]
    assert "49 other connections left out" in trace.source


def test_among_thousands_of_connections_each_is_timed_by_itself(tmp_path: Path) -> None:
    packets: list[Packet] = []
    for port in range(1, 2001):
        connection = Connection(port=port, tsval=port % 7)
        for n in range(2 + (port == 1234)):
            connection.data(50 * n, 100 * n)
            connection.ack(50 * n + port / 100, 100 * n + 100, 50 * n)
        packets += connection.packets
    trace = imported(tmp_path, packets)
    assert delays_ms(trace) == [12.34] * 3
    assert "1,999 other connections left out" in trace.source


def test_handshake_and_farewell_are_timed(tmp_path: Path) -> None:
    connection = Connection()
    opening = files.tcp(HERE, THERE, seq=999, flags=SYN, stamps=(500, 0))
    connection.packets.append((BEGAN_NS, ethernet(opening)))
    answer = files.tcp(THERE, HERE, seq=0, ack=1000, flags=SYN | files.ACK, stamps=(9_000, 500))
    connection.packets.append((BEGAN_NS + 40 * MS, ethernet(answer)))
    connection.data(100, 0, size=0, flags=FIN)
    connection.ack(130, 1, 100)
    assert delays_ms(imported(tmp_path, connection.packets)) == [40.0, 30.0]


def test_a_port_used_again_begins_anew(tmp_path: Path) -> None:
    packets: list[Packet] = []
    for begun_ms, seq in ((0, 2_000_000), (1000, 1000)):  # the second below the first: no retransmission
        connection = Connection(seq=seq + 1, tsval=500)
        opening = files.tcp(HERE, THERE, seq=seq, flags=SYN, stamps=(500 + begun_ms, 0))
        packets.append((BEGAN_NS + begun_ms * MS, ethernet(opening)))
        connection.data(begun_ms + 100, 0)
        connection.ack(begun_ms + 120, 100, begun_ms + 100)
        packets += connection.packets
    trace = imported(tmp_path, packets)
    assert (delays_ms(trace), "0 retransmissions" in trace.source) == ([20.0, 20.0], True)


def test_packets_captured_twice_are_one(tmp_path: Path) -> None:
    connection = Connection()
    for n in range(3):
        connection.data(100 * n, 200 * n)
        connection.data(100 * n, 200 * n + 100)
        connection.ack(100 * n + 20, 200 * n + 200, 100 * n)
    twice = [(time_ns + copy * 10_000, data) for time_ns, data in connection.packets for copy in (0, 1)]
    trace = imported(tmp_path, twice)
    assert (delays_ms(trace), "0 retransmissions" in trace.source) == ([20.0, 20.0, 20.0], True)


def test_the_far_side_of_a_connection_is_taken(tmp_path: Path) -> None:
    """Both ends send; the capture is beside the first, so the other's data are answered in no time."""
    connection = Connection()
    for n in range(5):
        connection.data(100 * n, 100 * n)
        connection.ack(100 * n + 30, 100 * n + 100, 100 * n, size=50, seq=1 + 50 * n)
        stamps = 500 + 100 * n + 31, 9_000 + 100 * n + 30
        answer = files.tcp(HERE, THERE, seq=1000 + 100 * n + 100, ack=1 + 50 * n + 50, stamps=stamps)
        connection.packets.append((BEGAN_NS + (100 * n + 30) * MS + 1000, ethernet(answer)))
    trace = imported(tmp_path, connection.packets)
    assert delays_ms(trace) == [30.0] * 5
    assert "192.0.2.1:40000 to 192.0.2.2:80" in trace.source


class Conversation:
    """A connection over a path of 5 ms as a capture beside its first end sees it.

    Args:
        hops_left: Of the far end's packets as they come.
    """

    def __init__(self, *, hops_left: int = 64) -> None:
        self.packets: list[Packet] = []
        self._hops_left = hops_left
        self._sent, self._got = 1000, 1

    def here(self, at_ms: float, *, size: int = 0, flags: int = 0, echo_ms: float) -> None:
        """Send from the near end, or acknowledge what came."""
        stamps = 500 + int(at_ms), 9_000 + int(echo_ms)
        ack = 0 if flags == SYN else self._got
        flags = flags if flags == SYN else files.ACK | flags
        data = files.tcp(HERE, THERE, seq=self._sent, ack=ack, flags=flags, data=size, stamps=stamps)
        self._sent += size + (flags == SYN)
        self.packets.append((BEGAN_NS + int(at_ms * MS), ethernet(data)))

    def there(self, at_ms: float, *, size: int = 0, flags: int = 0, echo_ms: float) -> None:
        """Have something of the far end come."""
        data = files.tcp(
            THERE, HERE, seq=self._got - (flags == SYN), ack=self._sent, flags=files.ACK | flags, data=size,
            stamps=(9_000 + int(at_ms), 500 + int(echo_ms)), hops_left=self._hops_left,
        )  # fmt: skip
        self._got += size
        self.packets.append((BEGAN_NS + int(at_ms * MS), ethernet(data)))

    def handshake(self) -> None:
        self.here(0, flags=SYN, echo_ms=0)
        self.there(5, flags=SYN, echo_ms=0)
        self.here(5.02, echo_ms=5)

    def ask(self, at_ms: float) -> None:
        """Ask, have the answer after 5 ms, and acknowledge it 40 ms later."""
        self.here(at_ms, size=100, echo_ms=at_ms - 900)
        self.there(at_ms + 5, size=100, echo_ms=at_ms)
        self.here(at_ms + 45, echo_ms=at_ms + 5)


@pytest.mark.parametrize("hops_left", [64, 57])
def test_acknowledgements_held_back_here_are_not_the_path(tmp_path: Path, hops_left: int) -> None:
    """Of the near side one sample is honest, the handshake's; without that, hops alone tell which end is near."""
    conversation = Conversation(hops_left=hops_left)
    if hops_left == 64:
        conversation.handshake()
    for second in range(1, 31):
        conversation.ask(1000 * second)
    trace = imported(tmp_path, conversation.packets)
    assert (trace.n, set(delays_ms(trace))) == (30 + (hops_left == 64), {5.0})
    n = 31 if hops_left == 64 else 30
    told = f"192.0.2.2:80 to 192.0.2.1:40000 and back left out as the near side: n = {n}, median 40 ms"
    assert told in trace.source


def test_hops_that_tell_nothing_are_no_sign(tmp_path: Path) -> None:
    """A system that begins with 128 on the same wire: both ends have passed no router."""
    conversation = Conversation(hops_left=128)
    conversation.handshake()
    conversation.ask(1000)
    assert delays_ms(imported(tmp_path, conversation.packets)) == [5.0, 5.0]


def test_one_late_answer_is_not_the_path(tmp_path: Path) -> None:
    conversation = Conversation()
    for n in range(200):
        conversation.here(10 * n, size=100, echo_ms=0)
        conversation.there(10 * n + 5, echo_ms=10 * n)
    conversation.there(3000, size=10, echo_ms=1990)
    conversation.here(3040, echo_ms=3000)
    trace = imported(tmp_path, conversation.packets)
    assert (trace.n, set(delays_ms(trace))) == (200, {5.0})
    assert "left out as the near side: n = 1, median 40 ms" in trace.source


def test_many_quick_answers_are_not_the_path(tmp_path: Path) -> None:
    """A download of which next to nothing is known but how long its handshake took."""
    conversation = Conversation()
    conversation.handshake()
    for n in range(200):
        conversation.there(100 + 5 * n, size=100, echo_ms=5)
        conversation.here(100.02 + 5 * n, echo_ms=100 + 5 * n)
    trace = imported(tmp_path, conversation.packets)
    assert delays_ms(trace) == [5.0]
    assert "left out as the near side: n = 201, median 0.02 ms" in trace.source


def test_a_near_side_alone_is_no_path(tmp_path: Path) -> None:
    conversation = Conversation(hops_left=57)
    for n in range(20):
        conversation.there(5 * n, size=100, echo_ms=-5)
        conversation.here(5.02 + 5 * n - 5, echo_ms=5 * n)
    assert "no TCP timestamp that went out to the network" in str(refused(tmp_path, conversation.packets))


def test_a_download_is_timed_by_its_acknowledgements(tmp_path: Path) -> None:
    """The first end only acknowledges; the other's data echo that 25 ms later. A pause is no delay."""
    packets: list[Packet] = []

    def downloaded(at_ms: float, n: int, echo_ms: float) -> None:
        stamps = 9_000 + int(at_ms), 500 + int(echo_ms)
        segment = files.tcp(THERE, HERE, seq=1 + 100 * n, ack=1000, data=100, stamps=stamps)
        packets.append((BEGAN_NS + int(at_ms * MS), ethernet(segment)))
        answer = files.tcp(HERE, THERE, seq=1000, ack=101 + 100 * n, stamps=(500 + int(at_ms), 9_000 + int(at_ms)))
        packets.append((BEGAN_NS + int(at_ms * MS) + 20_000, ethernet(answer)))

    for n in range(50):
        downloaded(5 * n + 100, n, 5 * n + 75)
    downloaded(3000, 50, 325)  # the echo of an acknowledgement, after a pause
    trace = imported(tmp_path, packets)
    assert "timed by its acknowledgements" in trace.source
    assert trace.n == 45  # all but those whose echo came before the first acknowledgement, and the pause's
    assert np.allclose(trace.delay_s, 0.02498, atol=1e-9)


def test_the_connection_with_most_round_trips_is_taken(tmp_path: Path) -> None:
    packets: list[Packet] = []
    for port, n_samples, delay_ms in ((1, 2, 10), (2, 5, 20), (3, 1, 30)):
        connection = Connection(port=port)
        for n in range(n_samples):
            connection.data(100 * n, 100 * n)
            connection.ack(100 * n + delay_ms, 100 * n + 100, 100 * n)
        packets += connection.packets
    trace = imported(tmp_path, packets)
    assert delays_ms(trace) == [20.0] * 5
    assert "192.0.2.1:2 to 192.0.2.2:80" in trace.source
    assert "2 other connections left out" in trace.source


def test_no_more_connections_are_followed_than_fit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("netlab.traces.importers.tcp_round_trips.MAX_FLOWS", 2)
    packets: list[Packet] = []
    for port in range(1, 5):
        connection = Connection(port=port)
        connection.data(port, 0)
        connection.ack(port + 20, 100, port)
        packets += connection.packets
    source = imported(tmp_path, packets).source
    assert "1 other connection left out; 4 segments of yet others" in source


def test_tcp_without_timestamps_is_refused_with_what_to_do(tmp_path: Path) -> None:
    packets = [(BEGAN_NS + n * MS, ethernet(files.tcp(HERE, THERE, seq=n, data=1))) for n in range(3)]
    error = refused(tmp_path, packets)
    assert "3 of its 3 TCP segments have no timestamps option" in str(error)
    assert "sysctl net.ipv4.tcp_timestamps=1" in error.hint
    assert "ping" in error.hint


def test_one_direction_alone_is_refused(tmp_path: Path) -> None:
    connection = Connection()
    connection.data(0, 0)
    error = refused(tmp_path, connection.packets)
    assert "no TCP timestamp that went out to the network is echoed in it" in str(error)
    assert "both directions" in error.hint


def ping(
    answers: dict[int, list[float]], n: int, *, first: int = 1, source: str = "192.0.2.1", ident: int = 7
) -> list[Packet]:
    """Return n requests 100 ms apart, each answered after so many ms; 20 where left out."""
    destination = "2001:db8::2" if ":" in source else "192.0.2.2"
    packets = []
    for row in range(n):
        sent_ns = BEGAN_NS + row * 100 * MS
        packets.append((sent_ns, ethernet(echo(source, destination, first + row, request=True, ident=ident))))
        for delay_ms in answers.get(row, [20.0]):
            reply = ethernet(echo(destination, source, first + row, request=False, ident=ident))
            packets.append((sent_ns + int(delay_ms * MS), reply))
    return packets


@pytest.mark.parametrize("source", ["192.0.2.1", "2001:db8::1"])
def test_ping(tmp_path: Path, source: str) -> None:
    trace = imported(tmp_path, ping({1: [], 3: [25.0, 30.0, 40.0], 4: [150.0]}, 8, source=source))
    assert np.array_equal(trace.lost, [0, 1, 0, 0, 0, 0, 0, 0])
    assert np.array_equal(trace.copies, [1, 0, 1, 3, 1, 1, 1, 1])
    assert np.allclose(trace.delay_s, [0.02, np.nan, 0.02, 0.025, 0.15, 0.02, 0.02, 0.02], equal_nan=True)
    assert np.allclose(trace.t_s, np.arange(8) * 0.1)
    assert f"echo requests of {source} to" in trace.source


def test_requests_on_their_way_at_the_end_are_not_lost(tmp_path: Path) -> None:
    trace = imported(tmp_path, ping({5: [], 7: []}, 8))
    assert np.array_equal(trace.lost, [0, 0, 0, 0, 0, 1, 0, UNKNOWN])
    assert np.array_equal(trace.copies, [1, 1, 1, 1, 1, 0, 1, UNKNOWN])


def test_ping_sequence_wraps(tmp_path: Path) -> None:
    packets = ping({3: []}, 10, first=65_533)
    trace = imported(tmp_path, packets)
    assert np.array_equal(trace.lost, [0, 0, 0, 1, 0, 0, 0, 0, 0, 0])
    again = [(time_ns + 6_553_600 * MS, data) for time_ns, data in ping({0: [33.0]}, 3, first=65_533)]
    trace = imported(tmp_path, packets + again)  # the same numbers once around the circle: requests of their own
    assert trace.n == 13
    assert np.allclose(trace.delay_s[10:], [0.033, 0.02, 0.02])


def test_requests_captured_twice_are_one(tmp_path: Path) -> None:
    packets = ping({2: []}, 4)
    trace = imported(tmp_path, packets + [(time_ns + 1000, data) for time_ns, data in packets if data[34] == 8])
    assert (trace.n, trace.loss_ratio) == (4, 0.25)


def test_a_ping_captured_twice_throughout_has_no_duplicates(tmp_path: Path) -> None:
    """As on ``any`` and on bridges: requests and replies; what came twice indeed still has two copies."""
    packets = ping({2: [], 4: [25.0, 26.0]}, 8)
    twice = [(time_ns + copy * 4000, data) for time_ns, data in packets for copy in (0, 1)]
    trace = imported(tmp_path, twice)
    assert np.array_equal(trace.copies, [1, 1, 0, 1, 2, 1, 1, 1])
    assert np.array_equal(trace.lost, [0, 0, 1, 0, 0, 0, 0, 0])
    assert np.allclose(trace.delay_s, [0.02, 0.02, np.nan, 0.02, 0.025, 0.02, 0.02, 0.02], equal_nan=True)


def test_a_sighting_that_the_capture_missed_is_no_loss(tmp_path: Path) -> None:
    packets = ping({}, 4)
    twice = [(time_ns + copy * 4000, data) for time_ns, data in packets for copy in (0, 1)]
    del twice[3]  # of the first reply
    assert np.array_equal(imported(tmp_path, twice).copies, [1, 1, 1, 1])


def test_the_pair_that_asks_most_is_taken_however_often_ping_was_started(tmp_path: Path) -> None:
    mine = [(time_ns + 2000 * MS * n, data) for n in (0, 1) for time_ns, data in ping({}, 6, ident=n)]
    trace = imported(tmp_path, mine + ping({}, 8, source="198.51.100.7"))
    assert trace.n == 12
    assert "192.0.2.1 to 192.0.2.2" in trace.source
    assert "1 other pair left out" in trace.source


def test_replies_to_nobody_are_no_trace(tmp_path: Path) -> None:
    replies = [(BEGAN_NS, ethernet(echo("192.0.2.2", "192.0.2.1", 1, request=False)))]
    assert "nothing to make a trace of" in str(refused(tmp_path, replies))


def test_of_two_kinds_that_with_most_samples_or_the_one_asked_for(tmp_path: Path) -> None:
    connection = Connection()
    connection.data(0, 0)
    connection.ack(30, 100, 0)
    packets = connection.packets + ping({}, 3)
    assert delays_ms(imported(tmp_path, packets)) == [20.0, 20.0, 20.0]
    assert delays_ms(imported(tmp_path, packets, kind="tcp")) == [30.0]
    assert delays_ms(imported(tmp_path, packets, kind="icmp")) == [20.0, 20.0, 20.0]
    assert "holds no 802.11 frame" in str(refused(tmp_path, packets, kind="wifi"))
    assert "a capture holds tcp, icmp, wifi" in str(refused(tmp_path, packets, kind="udp"))
    assert "holds no ICMP echo request to one host" in str(refused(tmp_path, connection.packets, kind="icmp"))
    assert "holds no TCP segment" in str(refused(tmp_path, ping({}, 3), kind="tcp"))


def on_air(
    transmitter: int, receiver: int, rates: list[int], *, to_ap: bool, from_ap: bool, signal_dbm: int = -60
) -> list[Packet]:
    """Return data frames 1 ms apart, each in its rate (in 500 kbit/s) and a dB weaker; the third is a retry."""
    frames = [
        frame_80211(transmitter, n, retry=n == 2, receiver=receiver, to_ap=to_ap, from_ap=from_ap)
        for n in range(len(rates))
    ]
    return [
        (BEGAN_NS + (50 + n) * MS, radiotap(frame, rate=rate, signal_dbm=signal_dbm - n))
        for n, (frame, rate) in enumerate(zip(frames, rates, strict=True))
    ]


BEACONS = [(BEGAN_NS + n * MS, radiotap(frame_80211(1, n, kind=0), rate=2)) for n in range(20)]


@pytest.mark.parametrize(("from_ap", "path"), [(False, TracedPath.FORWARD), (True, TracedPath.BACK)])
def test_wifi_frames_are_rates_of_their_way(tmp_path: Path, from_ap: bool, path: TracedPath) -> None:
    frames = on_air(2, 3, [108, 96, 72, 108], to_ap=not from_ap, from_ap=from_ap)
    trace = imported(tmp_path, BEACONS + frames, link_type=RADIOTAP)
    assert np.array_equal(trace.rate_bps, [54e6, 48e6, 36e6, 54e6])
    assert np.allclose(trace.t_s, [0.0, 0.001, 0.002, 0.003])
    assert (trace.path, trace.has_delays, trace.has_losses) == (path, False, False)
    told = "data frames of 02:00:00:00:00:02 to 02:00:00:00:00:03 on the air: 25.0% retries, signal -61.5 dBm"
    assert told in trace.source
    assert "1 other link left out" in trace.source


def test_wifi_both_ways_are_two_traces_of_one_clock(tmp_path: Path) -> None:
    station, ap, other = 2, 3, 4
    up = on_air(station, ap, [108, 96, 72], to_ap=True, from_ap=False)
    down = [
        (time_ns + MS // 2, data) for time_ns, data in on_air(ap, station, [12, 24], to_ap=False, from_ap=True)
    ]
    elsewhere = on_air(ap, other, [11] * 4, to_ap=False, from_ap=True)
    path = tmp_path / "air.pcap"
    path.write_bytes(pcap(sorted(BEACONS + up + down + elsewhere), link_type=RADIOTAP))
    forward, back = import_trace(path)
    assert (forward.path, back.path) == (TracedPath.FORWARD, TracedPath.BACK)
    assert np.array_equal(forward.rate_bps, [54e6, 48e6, 36e6])
    assert np.array_equal(back.rate_bps, [6e6, 12e6])
    assert np.allclose(forward.t_s, [0.0, 0.001, 0.002])
    assert np.allclose(back.t_s, [0.0005, 0.0015])
    assert "02:00:00:00:00:03 to 02:00:00:00:00:02" in back.source


@pytest.mark.parametrize("both", [False, True])
def test_wifi_without_an_access_point_is_forward(tmp_path: Path, both: bool) -> None:
    """Ad hoc, or between two access points."""
    trace = imported(tmp_path, on_air(2, 3, [108], to_ap=both, from_ap=both), link_type=RADIOTAP)
    assert trace.path == TracedPath.FORWARD


def test_wifi_without_data_frames_takes_the_others(tmp_path: Path) -> None:
    packets = [(BEGAN_NS + n * MS, radiotap(frame_80211(1, n, kind=0), rate=2)) for n in range(5)]
    trace = imported(tmp_path, packets, link_type=RADIOTAP)
    assert np.array_equal(trace.rate_bps, [1e6] * 5)


def test_wifi_without_radiotap_says_no_rate(tmp_path: Path) -> None:
    error = refused(tmp_path, [(BEGAN_NS, frame_80211(2, 1))], link_type=files.WIFI)
    assert "none of the data frames of 02:00:00:00:00:02 and 02:00:00:00:00:fe says its rate" in str(error)
    assert "monitor mode" in error.hint


def test_times_that_go_back_are_put_in_order(tmp_path: Path) -> None:
    packets = ping({}, 3)
    path = tmp_path / "unordered.pcap"
    path.write_bytes(pcap(packets[2:] + packets[:2]))
    (trace,) = import_trace(path)
    assert np.allclose(trace.t_s, [0.0, 0.1, 0.2])
    assert "go back" not in trace.source


def test_replies_captured_before_their_requests_are_counted(tmp_path: Path) -> None:
    """By a card with several queues, and by all that comes twice."""
    packets = ping({2: []}, 6)
    path = tmp_path / "unordered.pcap"
    for swapped in (packets[1::-1] + packets[2:], packets[:2] + packets[3:1:-1] + packets[4:]):
        path.write_bytes(pcap(swapped))
        (trace,) = import_trace(path)
        assert np.array_equal(trace.lost, [0, 0, 1, 0, 0, 0])
        assert np.allclose(trace.delay_s, [0.02, 0.02, np.nan, 0.02, 0.02, 0.02], equal_nan=True)


def test_pings_of_a_group_are_no_path(tmp_path: Path) -> None:
    """Each of its members replies by its own address, so that all would be lost."""
    for source, group in (
        ("192.0.2.1", "224.0.0.1"),
        ("192.0.2.1", "255.255.255.255"),
        ("2001:db8::1", "ff02::1"),
    ):
        packets = [(BEGAN_NS + n * MS, ethernet(echo(source, group, n, request=True))) for n in range(9)]
        assert imported(tmp_path, packets + ping({}, 3)).n == 3
        assert "no ICMP echo request to one host" in str(refused(tmp_path, packets, kind="icmp"))


def test_packets_without_a_time_are_told(tmp_path: Path) -> None:
    packets = ping({}, 3)
    path = tmp_path / "late.pcapng"
    path.write_bytes(pcapng(packets, offset_s=-(1 << 40)))
    (trace,) = import_trace(path)
    assert "have no time" not in trace.source
    path.write_bytes(pcapng([(1 << 63, data) for _, data in packets]))
    with pytest.raises(TraceError, match="6 packets have no time that can be"):
        import_trace(path)


@pytest.mark.parametrize("back_ms", [50, 3_600_000])
def test_a_clock_set_back_makes_no_loss(tmp_path: Path, back_ms: int) -> None:
    """Between the fourth request and its reply; the last request is on its way when the capture ends."""
    packets = ping({1: [], 7: []}, 8)
    path = tmp_path / "set.pcap"
    path.write_bytes(pcap(packets[:6] + [(time_ns - back_ms * MS, data) for time_ns, data in packets[6:]]))
    (trace,) = import_trace(path)
    told = "; its times go back once, by 3.6e+03 s at most: a clock that was set, or captures joined"
    assert ("go back" in trace.source, told in trace.source) == (back_ms > 1000, back_ms > 1000)
    assert (trace.n, int((trace.lost == 1).sum())) == (8, 1)
    assert int((trace.lost == UNKNOWN).sum()) == 2
    known = trace.delay_s[trace.lost == 0]
    assert np.allclose(known, 0.02)


def test_sections_with_clocks_of_their_own_are_one_trace(tmp_path: Path) -> None:
    """Two files put behind one another, the first in microseconds, the second in nanoseconds."""
    first, second = ping({}, 3), [(time_ns + 1000 * MS, data) for time_ns, data in ping({}, 3, first=4)]
    path = tmp_path / "joined.pcapng"
    path.write_bytes(pcapng(first) + pcapng(second, resolution=9, order=">"))
    (trace,) = import_trace(path)
    assert np.allclose(trace.delay_s, 0.02)
    assert np.allclose(trace.t_s, [0.0, 0.1, 0.2, 1.0, 1.1, 1.2])
    path.write_bytes(pcapng(second) + pcapng(first))
    (trace,) = import_trace(path)
    assert np.allclose(trace.t_s, [0.0, 0.1, 0.2, 1.0, 1.1, 1.2])
    assert "its times go back once, by 1.22 s at most" in trace.source


def test_a_link_type_that_is_not_read_is_named(tmp_path: Path) -> None:
    packets = ping({}, 3)
    error = refused(tmp_path, packets, link_type=9)
    assert "is no TCP, no ICMP echo request" in str(error)
    assert "; 6 packets of link type 9 (PPP) are not read" in str(error)
    assert "; 6 packets of link type 65000 are not read" in str(refused(tmp_path, packets, link_type=65_000))
    path = tmp_path / "mixed.pcapng"
    path.write_bytes(pcapng(packets) + pcapng(packets, link_type=220))
    (trace,) = import_trace(path)
    assert (trace.n, "; 6 packets of link type 220 (USB) are not read" in trace.source) == (3, True)


def test_packets_without_an_interface_are_told(tmp_path: Path) -> None:
    packets = ping({}, 3)
    path = tmp_path / "some.pcapng"
    path.write_bytes(pcapng(packets, interface=7))
    with pytest.raises(
        TraceError, match="holds no whole packet; 6 packets name interfaces that the file does not"
    ):
        import_trace(path)
    path.write_bytes(pcapng(packets) + pcapng(packets[:1], interface=1))
    (trace,) = import_trace(path)
    assert (trace.n, "; 1 packet names an interface that the file does not" in trace.source) == (3, True)


def test_pcapng_gzip_and_a_cut_end(tmp_path: Path) -> None:
    packets = ping({}, 4)
    path = tmp_path / "cut.pcapng.gz"
    path.write_bytes(gzip.compress(pcapng(packets, resolution=9)[:-10]))
    (trace,) = import_trace(path)
    assert (trace.n, "it ends within a packet; the 7 before it are kept" in trace.source) == (4, True)
    assert np.array_equal(trace.lost, [0, 0, 0, UNKNOWN])


@pytest.mark.parametrize("packed", [False, True])
def test_a_capture_replaced_once_it_is_read_is_the_one_that_was_read(tmp_path: Path, packed: bool) -> None:
    """The hash must be that of the bytes that the trace is of."""
    before, after = pcap(ping({}, 4)), pcap(ping({}, 40))
    if packed:
        before, after = gzip.compress(before, mtime=0), gzip.compress(after, mtime=0)
    path = tmp_path / "some.pcap"
    path.write_bytes(before)
    source = TraceSource(path)
    path.write_bytes(after)
    (trace,) = IMPORTER.read(source, ImportOptions())
    assert (trace.n, trace.source_sha256) == (4, hashlib.sha256(before).hexdigest())


@pytest.mark.parametrize("packed", [False, True])
def test_no_more_is_read_than_of_any_other_file(tmp_path: Path, packed: bool) -> None:
    content = pcap(ping({}, 40))
    path = tmp_path / "long.pcap"
    path.write_bytes(gzip.compress(content) if packed else content)
    (trace,) = IMPORTER.read(TraceSource(path, max_bytes=len(content)), ImportOptions())
    assert trace.n == 40
    with pytest.raises(TraceError, match="the most that is read"):
        IMPORTER.read(TraceSource(path, max_bytes=len(content) - 1), ImportOptions())


def test_gzip_cut_anywhere_keeps_what_is_whole(tmp_path: Path) -> None:
    packed = gzip.compress(pcap(ping({}, 40)), mtime=0)
    path = tmp_path / "cut.pcap.gz"
    kept = []
    for size in range(len(packed) * 3 // 4, len(packed)):
        path.write_bytes(packed[:size])
        (trace,) = import_trace(path)
        assert "; it ends within a packet" in trace.source or "; its gzip is cut short" in trace.source
        kept.append(trace.n)
    assert kept == sorted(kept)
    assert (kept[0] > 10, kept[-1]) == (True, 40)


def test_damaged_gzip_and_two_members_of_it(tmp_path: Path) -> None:
    content = pcap(ping({}, 40))
    path = tmp_path / "some.pcap.gz"
    path.write_bytes(gzip.compress(content[:500]) + gzip.compress(content[500:]))
    (trace,) = import_trace(path)
    assert (trace.n, trace.source.count(";")) == (40, 0)
    packed = bytearray(gzip.compress(pcap(ping({}, 4000))))
    packed[-8] ^= 1  # of its check sum
    path.write_bytes(packed)
    (trace,) = import_trace(path)
    assert 3000 < trace.n < 4000  # but for the last piece, which does not agree with its sum
    assert "; it ends within a packet" in trace.source or "; its gzip is cut short" in trace.source


@pytest.mark.parametrize("write", [pcap, pcapng])
def test_a_capture_of_nothing_is_refused(tmp_path: Path, write: object) -> None:
    path = tmp_path / "none.pcap"
    path.write_bytes(write([]))  # type: ignore[operator]
    with pytest.raises(TraceError, match=r"none\.pcap: holds no whole packet") as caught:
        import_trace(path)
    assert caught.value.hint


def test_progress_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("netlab.traces.importers.pcap._PROGRESS_EVERY", 4)
    path = tmp_path / "long.pcap"
    path.write_bytes(pcap(ping({}, 5)))
    told: list[str] = []
    import_trace(path, options=ImportOptions(progress=told.append))
    assert told == ["4 packets", "8 packets"]


HEADS = st.sampled_from([
    pcap([]), pcapng([]), pcap([], order=">"), pcap([], link_type=RADIOTAP), pcap(ping({}, 2)),
])  # fmt: skip


@given(HEADS, st.binary(max_size=400))
def test_hostile_bytes_give_a_trace_or_a_trace_error(
    tmp_path_factory: pytest.TempPathFactory, head: bytes, junk: bytes
) -> None:
    path = tmp_path_factory.getbasetemp() / "fuzzed.pcap"
    path.write_bytes(head + junk)
    try:
        traces = import_trace(path, "pcap")
    except TraceError:
        return
    assert len(traces) == 1


@given(st.data())
def test_a_spoilt_capture_gives_a_trace_or_a_trace_error(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    whole = bytearray(data.draw(st.sampled_from([pcap(ping({}, 3)), pcapng(ping({}, 3)), WIFI])))
    for _ in range(data.draw(st.integers(1, 8))):
        whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    path = tmp_path_factory.getbasetemp() / "spoilt.pcap"
    path.write_bytes(bytes(whole))
    try:
        traces = import_trace(path, "pcap")
    except TraceError:
        return
    assert len(traces) == 1


WIFI = pcap(
    [(BEGAN_NS + n * MS, radiotap(frame_80211(2, n), mcs=b"\x07\x04\x07")) for n in range(5)], link_type=RADIOTAP
)
