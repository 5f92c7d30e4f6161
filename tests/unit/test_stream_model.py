"""The stream model: what a loss costs, in order, once, the same each time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain, repeat

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netlab.traces.model.link_model import LinkModel
from netlab.traces.model.stream.connection import StreamConnection
from netlab.traces.model.stream.kernel_timer import JIFFY_NS, KernelTimer, jiffies_of
from netlab.traces.model.stream.message_stream import MessageStream
from netlab.traces.model.stream.round_trip import LEAST_DEVIATION_NS, RoundTrip
from netlab.traces.presets import parse_preset
from netlab.traces.profile import LinkProfile
from netlab.traces.seed import Direction, link_seed

MS = 1_000_000
DELAY_NS = 43 * MS
TICK_NS = 20 * MS
LONG_NS = 600_000 * MS
UNSENT_BYTES, OUTBOX_BYTES = 1 << 14, 1 << 16
LENGTHS_BYTES = (85, 65)

Carry = Callable[[int, int], int | None]
Arrival = tuple[int, int, int]
"""When, on which way, which message."""


def losing(*places: int, delay_ns: int = DELAY_NS, log: list[int] | None = None) -> Carry:
    """A way of one delay that loses the packets with these numbers, from 0."""
    count = -1

    def carry(now_ns: int, length_bytes: int) -> int | None:
        nonlocal count
        count += 1
        if log is not None:
            log.append(now_ns)
        return None if count in places else now_ns + delay_ns

    return carry


def drawing(fates: Iterator[int | None]) -> Carry:
    """A way on which packets are lost or late one after the other as drawn."""

    def carry(now_ns: int, length_bytes: int) -> int | None:
        delay_ns = next(fates)
        return None if delay_ns is None else now_ns + delay_ns

    return carry


def modelled(profile: LinkProfile, direction: Direction, seed: int) -> Carry:
    model = LinkModel(profile.to_qdisc_state(link_seed(seed, "test", direction, 0)))

    def carry(now_ns: int, length_bytes: int) -> int | None:
        return min([copy.leave_ns for copy in model.enqueue(now_ns, length_bytes).copies], default=None)

    return carry


def stream_over(forward: Carry, back: Carry, round_trip_ns: int = 2 * DELAY_NS) -> MessageStream[int]:
    return MessageStream(StreamConnection(forward, back, round_trip_ns), UNSENT_BYTES, OUTBOX_BYTES)


def converse(
    stream: MessageStream[int], ticks: int, last_ns: int = LONG_NS, *, answers: bool = True
) -> list[Arrival]:
    """An observation a tick, an answer to each at once; what arrives until long after the last tick."""
    arrivals = []
    for tick in range(ticks + 1):
        until_ns = tick * TICK_NS if tick < ticks else last_ns
        while (arrival := stream.take(until_ns)) is not None:
            arrivals.append(arrival)
            now_ns, way, number = arrival
            if way == 0 and answers:
                stream.send(now_ns, 1, LENGTHS_BYTES[1], number)
        if tick < ticks:
            stream.send(tick * TICK_NS, 0, LENGTHS_BYTES[0], tick)
    return arrivals


def times_of(arrivals: list[Arrival], way: int) -> dict[int, int]:
    return {number: now_ns for now_ns, at, number in arrivals if at == way}


def test_without_loss_a_message_takes_what_a_packet_takes() -> None:
    arrivals = converse(stream_over(losing(), losing()), 100)
    assert times_of(arrivals, 0) == {tick: tick * TICK_NS + DELAY_NS for tick in range(100)}
    assert times_of(arrivals, 1) == {tick: tick * TICK_NS + 2 * DELAY_NS for tick in range(100)}


def test_a_link_that_does_nothing_takes_no_time() -> None:
    arrivals = converse(stream_over(losing(delay_ns=0), losing(delay_ns=0), 0), 50)
    assert times_of(arrivals, 1) == {tick: tick * TICK_NS for tick in range(50)}


def test_a_loss_is_a_stall_of_all_that_follows() -> None:
    """Observation 5 is lost; up to then acknowledgements travel on messages, so it is the 6th packet.

    Number 6 (sent at 120 ms) is acknowledged out of order at 206 ms. RACK gives 5 a quarter of the round trip:
    86 + 21.5 - 106 = 1.5 ms, and 2 ms more, a jiffy begun: the timer goes off at 220 ms. The window is smaller
    then, so 11 waits until the next acknowledgement, at 226 ms.
    """
    arrivals = times_of(converse(stream_over(losing(5), losing()), 50), 0)
    assert arrivals[4] == 4 * TICK_NS + DELAY_NS
    assert {arrivals[number] for number in range(5, 11)} == {220 * MS + DELAY_NS}
    assert arrivals[11] == 226 * MS + DELAY_NS
    assert all(arrivals[number] == number * TICK_NS + DELAY_NS for number in range(20, 50))


def test_three_that_overtake_are_enough_where_nothing_was_ever_reordered() -> None:
    """With a round trip of 170 ms the patience would be 42 ms; the third that arrives (6, 7, 8) ends it."""
    delay_ns = 85 * MS
    stream = stream_over(losing(5, delay_ns=delay_ns), losing(delay_ns=delay_ns), 2 * delay_ns)
    arrivals = times_of(converse(stream, 50), 0)
    assert arrivals[5] == 8 * TICK_NS + 3 * delay_ns


def test_a_message_alone_waits_for_the_probe_and_then_for_ever_longer() -> None:
    """RTO is 86 + max(2 x 86, 200) = 286 ms: 29 jiffies and one begun. The second is as long, the third double."""
    log: list[int] = []
    stream = stream_over(losing(0, 1, 2, log=log), losing())
    stream.send(0, 0, 85, 7)
    assert stream.take(LONG_NS) == (1190 * MS + DELAY_NS, 0, 7)
    assert log == [0, 300 * MS, 600 * MS, 1190 * MS]


def test_lost_acknowledgements_alone_delay_nothing() -> None:
    arrivals = times_of(converse(stream_over(losing(), losing(*range(2, 40, 3))), 50, answers=False), 0)
    assert arrivals == {tick: tick * TICK_NS + DELAY_NS for tick in range(50)}


def test_what_waits_for_room_travels_together() -> None:
    """After a loss the window is small, so a hundred messages need fewer packets than on a link without losses."""
    packets: list[int] = []
    converse(stream_over(losing(*range(10, 60, 6), log=packets), losing()), 100, answers=False)
    assert 60 < len(packets) < 100


def test_a_dead_link_makes_the_oldest_go_and_the_rest_arrive() -> None:
    """3000 messages of 85 bytes in a minute: the kernel holds 16 KiB unsent, the outbox 64 KiB."""
    dead_until_ns = 60_000 * MS

    def carry(now_ns: int, length_bytes: int) -> int | None:
        return None if now_ns < dead_until_ns else now_ns + DELAY_NS

    stream = stream_over(carry, losing())
    arrivals = converse(stream, 3000, answers=False)
    kept = UNSENT_BYTES // 85 + OUTBOX_BYTES // 85
    assert kept <= len(arrivals) <= kept + 20  # and the first window
    assert stream.dropped == 3000 - len(arrivals)
    numbers = [number for _, _, number in arrivals]
    assert numbers == sorted(numbers)
    assert numbers[-1] == 2999


def test_a_long_message_travels_in_segments() -> None:
    log: list[int] = []
    stream = stream_over(losing(log=log), losing())
    stream.send(0, 0, 100_000, 1)
    arrival = stream.take(LONG_NS)
    assert arrival is not None
    assert len(log) >= 100_000 // 1448
    # 10 segments, then 20, 40: the rest of 70 goes in the third round trip and arrives half a one later.
    assert 5 * DELAY_NS <= arrival[0] <= 8 * DELAY_NS


@pytest.mark.parametrize(
    "network", ["wifi-degraded", "delay=40ms,jitter=28ms,ordered=false", "delay=5ms,loss=30%"]
)
def test_the_same_seeds_give_the_same_and_others_do_not(network: str) -> None:
    pair = parse_preset(network)
    assert isinstance(pair.forward, LinkProfile)
    assert isinstance(pair.back, LinkProfile)

    def played(seed: int) -> list[Arrival]:
        assert isinstance(pair.forward, LinkProfile)
        assert isinstance(pair.back, LinkProfile)
        stream = stream_over(modelled(pair.forward, "forward", seed), modelled(pair.back, "back", seed))
        return converse(stream, 300)

    assert played(1) == played(1)
    assert played(1) != played(2)


def test_over_a_lossy_link_the_newest_observation_is_older_than_with_datagrams() -> None:
    """300 s of wifi-degraded; 10 % lost. With datagrams the mean age at a tick is about 45 ms."""
    pair = parse_preset("wifi-degraded")
    assert isinstance(pair.forward, LinkProfile)
    assert isinstance(pair.back, LinkProfile)
    stream = stream_over(modelled(pair.forward, "forward", 3), modelled(pair.back, "back", 3), 80 * MS)
    arrivals = times_of(converse(stream, 15_000), 0)
    delays_ms = np.array([(now_ns - tick * TICK_NS) / 1e6 for tick, now_ns in arrivals.items()])
    assert len(arrivals) == 15_000
    assert 100.0 < delays_ms.mean() < 170.0
    assert np.percentile(delays_ms, 99) > 400.0


fate = st.one_of(st.none(), st.integers(0, 300 * MS))


@settings(max_examples=150)
@given(st.lists(fate, max_size=120), st.lists(fate, max_size=120), st.integers(1, 60))
def test_whatever_the_link_does_all_arrives_once_and_in_order(
    forward: list[int | None], back: list[int | None], ticks: int
) -> None:
    """After 120 packets of any fate each way the link is a good one: all that was sent arrives."""
    good = repeat(DELAY_NS)
    stream = stream_over(drawing(chain(forward, good)), drawing(chain(back, good)))
    arrivals = converse(stream, ticks, 100 * LONG_NS)
    for way in (0, 1):
        assert [number for _, at, number in arrivals if at == way] == list(range(ticks))
    times_ns = [now_ns for now_ns, _, _ in arrivals]
    assert times_ns == sorted(times_ns)
    least_ns = min([delay_ns for delay_ns in (*forward, DELAY_NS) if delay_ns is not None])
    assert all(now_ns >= number * TICK_NS + least_ns for now_ns, way, number in arrivals if way == 0)


@given(st.integers(0, 10**12), st.integers(1, 5000))
def test_a_timer_is_never_early_and_late_by_one_place_of_its_level(now_ns: int, jiffies: int) -> None:
    timer = KernelTimer()
    timer.set(now_ns, jiffies)
    late = timer.expires_ns - (now_ns + jiffies * JIFFY_NS)
    coarse = 1
    while jiffies >= 63 * coarse:
        coarse *= 8
    assert 0 <= late <= coarse * JIFFY_NS
    assert timer.expires_ns % JIFFY_NS == 0


def test_the_round_trip_follows_and_the_timeout_never_falls_below_its_least_deviation() -> None:
    trip = RoundTrip(80 * MS)
    assert trip.timeout_ns == 280 * MS
    for sample in range(200):
        trip.take(120 * MS, sample, sample + 1)
    assert abs(trip.smoothed_ns - 120 * MS) < MS
    assert trip.timeout_ns - trip.smoothed_ns == LEAST_DEVIATION_NS
    trip.take(900 * MS, 300, 301)
    assert trip.timeout_ns > 700 * MS
    before_ns = trip.timeout_ns
    trip.back_off()
    assert trip.timeout_ns == 2 * before_ns


def test_jiffies_are_whole() -> None:
    assert [jiffies_of(duration_ns) for duration_ns in (1, JIFFY_NS, JIFFY_NS + 1)] == [1, 1, 2]
