"""ProbeResult: over a simulated network, what is measured is what the network did."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from probe_network import EPOCH_NS, TURNAROUND_NS, Fate, ProbeNetwork

from netlab.probe.arrival_log import MAX_ROWS
from netlab.probe.departure import Departure
from netlab.probe.one_way import OneWay
from netlab.probe.probe_frame import ROW, ROWS_A_PAGE, LogPage, ProbeReply
from netlab.probe.probe_plan import MAX_COUNT, ProbePlan
from netlab.probe.probe_record import ProbeRecord
from netlab.probe.probe_result import MAX_SOURCE, ProbeResult, find_result
from netlab.probe.probe_summary import summarise
from netlab.traces.trace import UNKNOWN, ClockVerdict
from netlab.traces.trace_file import format_trace
from netlab.wire.copy_opener import MAX_COPIES

MS = 1_000_000
DELAYS = st.integers(1, 300).map(lambda value: value * MS)
FATES = st.builds(
    lambda there, backs: Fate(tuple(there), tuple(tuple(back) for back in backs)),
    st.lists(DELAYS, max_size=3),
    st.lists(st.lists(DELAYS, max_size=2), min_size=3, max_size=3),
)


def measured(network: ProbeNetwork, *, one_clock: bool = True) -> ProbeResult:
    return find_result(network.record, one_way=network.plan.one_way, one_clock=one_clock, source="a test")


def plan_of(fates: list[Fate], **rest: object) -> ProbePlan:
    return ProbePlan(count=len(fates), rate_hz=100.0, **rest)  # type: ignore[arg-type]


def overtaken(arrivals: list[tuple[int, int]]) -> int:
    """Count by hand the first copies that came after one with a higher number: (time, number)."""
    seen: set[int] = set()
    count, highest = 0, -1
    for _, number in sorted(arrivals, key=lambda one: one[0]):
        if number not in seen:
            seen.add(number)
            count += number < highest
            highest = max(highest, number)
    return count


@given(st.lists(FATES, min_size=1, max_size=80))
def test_with_the_log_everything_is_known(fates: list[Fate]) -> None:
    network = ProbeNetwork(plan_of(fates), fates)
    network.fetch_log()
    result = measured(network)
    assert result.has_log
    forward, back, round_trip = result.forward, result.back, result.round_trip
    assert back is not None
    assert round_trip is not None
    assert forward.t_s == pytest.approx(network.plan.offsets_ns() / 1e9)
    for row, fate in enumerate(fates):
        assert forward.lost[row] == (not fate.there_ns)
        assert forward.copies[row] == len(fate.there_ns)
        if fate.there_ns:
            assert forward.delay_s[row] == pytest.approx(min(fate.there_ns) / 1e9, abs=1e-12)
        returns = [
            there + TURNAROUND_NS + back_ns
            for there, backs in zip(sorted(fate.there_ns), fate.back_ns, strict=False)
            for back_ns in backs
        ]
        assert round_trip.copies[row] == len(returns)
        assert round_trip.lost[row] == (not returns)
        if returns:
            assert round_trip.delay_s[row] == pytest.approx((min(returns) - TURNAROUND_NS) / 1e9, abs=1e-12)
    assert back.n == len(network.replies_sent)
    for row, (_, left_ns, backs) in enumerate(network.replies_sent):
        assert back.t_s[row] == pytest.approx((left_ns - EPOCH_NS) / 1e9, abs=1e-12)
        assert back.copies[row] == len(backs)
        assert back.lost[row] == (not backs)
        if backs:
            assert back.delay_s[row] == pytest.approx(min(backs) / 1e9, abs=1e-12)


@given(st.lists(FATES, min_size=1, max_size=80))
def test_overtaken_packets_are_counted_each_way(fates: list[Fate]) -> None:
    # Spread, so that no two arrive in the same nanosecond: which is first then is nobody's fault.
    spread = [
        Fate(
            tuple(there + 97 * row + 31 * copy for copy, there in enumerate(fate.there_ns)),
            tuple(
                tuple(back + 13 * copy + number for number, back in enumerate(backs))
                for copy, backs in enumerate(fate.back_ns)
            ),
        )
        for row, fate in enumerate(fates)
    ]
    network = ProbeNetwork(plan_of(spread), spread)
    network.fetch_log()
    result = measured(network)
    offsets = network.plan.offsets_ns().tolist()
    there = [(offsets[row] + ns, row) for row, fate in enumerate(spread) for ns in fate.there_ns]
    assert result.reordered["forward"] == overtaken(there)
    returned = [(left + ns, row) for row, (_, left, backs) in enumerate(network.replies_sent) for ns in backs]
    times = [time for time, _ in returned]
    if len(set(times)) == len(times):
        assert result.reordered["back"] == overtaken(returned)


@given(st.lists(FATES, min_size=1, max_size=200))
def test_without_the_log_nothing_is_claimed_that_is_not_so(fates: list[Fate]) -> None:
    network = ProbeNetwork(plan_of(fates), fates)
    result = measured(network)
    assert not result.has_log
    for row, fate in enumerate(fates):
        lost = result.forward.lost[row]
        replied = any(backs for _, backs in zip(fate.there_ns, fate.back_ns, strict=False))
        if replied:
            assert lost == 0
        if lost == 0:
            assert fate.there_ns
        if lost == 1 and fate.there_ns:
            # Denied by the replies to later probes: it was overtaken by them, and no reply came after it.
            assert not replied
        if not np.isnan(result.forward.delay_s[row]):
            assert fate.there_ns
    back = result.back
    assert back is not None
    for row in range(back.n):
        assert back.lost[row] == (not network.replies_sent[row][2])


def test_replies_tell_forward_from_back_losses_unless_64_in_a_row_are_lost() -> None:
    n = 300
    fates = [Fate((5 * MS,), ((5 * MS,),)) for _ in range(n)]
    fates[40] = Fate((), ())  # lost there
    fates[41] = Fate((5 * MS,), ((),))  # lost on its way back
    for row in range(100, 200):
        fates[row] = Fate((5 * MS,), ((),))
    result = measured(ProbeNetwork(plan_of(fates), fates))
    lost = result.forward.lost
    assert lost[40] == 1
    assert lost[41] == 0
    assert (lost[100:136] == UNKNOWN).all()
    assert (lost[136:200] == 0).all()
    assert result.back is not None
    assert result.back.n == n - 1
    assert int(result.back.lost.sum()) == 101
    # Those that were lost on their way back left between their neighbours, 10 ms apart here.
    assert np.abs(result.back.t_s[99:199] - 0.01 * np.arange(100, 200) - 0.005).max() < 0.011


def test_a_late_probes_reply_denies_nothing_that_it_no_longer_knows() -> None:
    fates = [Fate((5 * MS,), ((),)) for _ in range(71)] + [Fate((5 * MS,), ((5 * MS,),)) for _ in range(29)]
    fates[5] = Fate((805 * MS,), ((5 * MS,),))  # comes with the 80th, and only then is heard of any of the first
    lost = measured(ProbeNetwork(plan_of(fates), fates)).forward.lost
    assert lost[5] == 0
    assert (lost[:5] == UNKNOWN).all()
    assert (lost[7:] == 0).all()


def test_a_probe_that_the_reflector_held_back_is_lost_nowhere() -> None:
    fates = [Fate((5 * MS,), ((5 * MS,),)) for _ in range(20)]
    network = ProbeNetwork(plan_of(fates), fates, held_back=frozenset((4, 5)))
    network.fetch_log()
    result = measured(network)
    assert result.forward.loss_ratio == 0.0
    assert result.back is not None
    assert (result.back.n, result.back.loss_ratio) == (18, 0.0)
    assert result.round_trip is not None
    assert result.round_trip.lost.tolist() == [0] * 4 + [UNKNOWN] * 2 + [0] * 14
    assert result.round_trip.copies[4] == UNKNOWN


def test_a_full_log_leaves_the_rest_unknown() -> None:
    fates = [Fate((5 * MS,), ())] * 50
    network = ProbeNetwork(plan_of(fates, one_way=True), fates, max_rows=20)
    network.fetch_log()
    result = measured(network)
    assert network.record.log_overflowed
    assert (result.forward.lost[:20] == 0).all()
    assert (result.forward.lost[20:] == UNKNOWN).all()


@pytest.mark.parametrize("max_rows", [1, 20, 49])
def test_a_full_log_loses_no_answered_probe_and_none_of_the_ways_of_the_rest(max_rows: int) -> None:
    fates = [Fate((5 * MS,), ((7 * MS,),))] * 50
    network = ProbeNetwork(plan_of(fates), fates, max_rows=max_rows)
    network.fetch_log()
    result = measured(network)
    assert network.record.log_overflowed
    assert any("full" in note for note in result.notes)
    assert result.back is not None
    assert result.round_trip is not None
    for trace, delay_s in ((result.forward, 0.005), (result.back, 0.007), (result.round_trip, 0.012)):
        assert (trace.n, trace.loss_ratio) == (50, 0.0)
        assert trace.delay_s == pytest.approx(np.full(50, delay_s), abs=1e-12)


def test_behind_a_full_log_the_replies_tell_lost_from_unknown() -> None:
    fates = [Fate((5 * MS,), ((7 * MS,),))] * 300
    fates[30] = Fate((), ())  # lost there: the seen bits of later replies say so
    fates[31] = Fate((5 * MS,), ((),))  # lost on its way back
    fates[200:] = [Fate((5 * MS,), ((),))] * 100  # nothing is heard of these any more
    network = ProbeNetwork(plan_of(fates), fates, max_rows=20)
    network.fetch_log()
    result = measured(network)
    back, round_trip = result.back, result.round_trip
    assert back is not None
    assert round_trip is not None
    assert result.forward.lost.tolist() == [0] * 30 + [1] + [0] * 169 + [UNKNOWN] * 100
    # Replies 0 .. 198 were sent for probes 0 .. 199 without the 30th: that to the 31st is the one that is missing.
    assert back.lost.tolist() == [0] * 30 + [1] + [0] * 168
    assert round_trip.lost.tolist() == [0] * 30 + [UNKNOWN] * 2 + [0] * 168 + [UNKNOWN] * 100


def test_a_probe_overtaken_where_the_log_became_full_is_not_called_lost() -> None:
    fates = [Fate((5 * MS,), ()) for _ in range(50)]
    fates[10] = Fate((36 * MS,), ())  # comes after the 13th, so that such a thing is known to happen
    fates[18] = Fate((300 * MS,), ())  # comes when the log is full
    fates[5] = Fate((), ())
    network = ProbeNetwork(plan_of(fates, one_way=True), fates, max_rows=20)
    network.fetch_log()
    lost = measured(network).forward.lost
    assert lost[18] == UNKNOWN
    assert lost[5] == 1


@given(st.lists(FATES, min_size=1, max_size=120), st.integers(0, 60))
def test_with_a_full_log_nothing_is_claimed_that_is_not_so(fates: list[Fate], max_rows: int) -> None:
    network = ProbeNetwork(plan_of(fates), fates, max_rows=max_rows)
    network.fetch_log()
    result = measured(network)
    assert result.round_trip is not None
    for row, fate in enumerate(fates):
        returned = any(backs for _, backs in zip(sorted(fate.there_ns), fate.back_ns, strict=False))
        if returned:
            assert result.forward.lost[row] == result.round_trip.lost[row] == 0
        if result.forward.lost[row] == 0:
            assert fate.there_ns
        if not network.record.log_overflowed:
            assert result.forward.lost[row] == (not fate.there_ns)


def test_the_first_copy_of_a_packet_is_no_duplicate() -> None:
    numbers, arrival_ns = np.array([0, 0, 0, 1]), np.array([10, 20, 30, 40])
    way = OneWay.of(np.zeros(3, dtype=np.int64), numbers, arrival_ns)
    assert way.copies.tolist() == [3, 1, 0]
    fates = [Fate((MS, 2 * MS, 3 * MS), ((MS,), (), ())), Fate((MS,), ((MS, 2 * MS),))]
    network = ProbeNetwork(plan_of(fates), fates)
    network.fetch_log()
    summary = summarise(measured(network), network.plan, "a test", [])
    duplicates = {path.path: path.duplicates for path in summary.paths}
    assert (duplicates["forward"], duplicates["back"]) == (2, 1)


def test_there_is_room_for_the_longest_plan_with_every_packet_doubled() -> None:
    assert MAX_ROWS >= 2 * MAX_COUNT


def test_both_ways_begin_at_one_moment() -> None:
    fates = [Fate((), ()) if row < 100 else Fate((5 * MS,), ((7 * MS,),)) for row in range(200)]
    for ahead_ns, one_clock in ((0, True), (3_600 * 10**9 + 5 * 10**8, False)):
        for has_log in (True, False):
            network = ProbeNetwork(plan_of(fates), fates, ahead_ns=ahead_ns)
            if has_log:
                network.fetch_log()
            result = measured(network, one_clock=one_clock)
            forward, back = result.forward, result.back
            assert back is not None
            assert back.n == 100
            turnaround_s = TURNAROUND_NS / 1e9
            # The reply's own stamp is that of its sending here, so that both kinds of time agree.
            answered_s = forward.t_s[100:] + forward.delay_s[100:] + turnaround_s
            assert back.t_s == pytest.approx(answered_s, abs=1e-6)
            assert back.t_s[0] == pytest.approx(1.0 + forward.delay_s[100] + turnaround_s, abs=1e-6)


def test_both_ways_begin_at_one_moment_by_clocks_that_drift_and_by_those_that_cannot_be_corrected() -> None:
    random = np.random.default_rng(4)
    for n in (3000, 4):
        fates = [
            Fate((4 * MS + int(there),), ((4 * MS + int(back),),))
            for there, back in random.exponential(MS, (n, 2))
        ]
        network = ProbeNetwork(plan_of(fates), fates, ahead_ns=-7 * 10**9, gain=80e-6)
        network.fetch_log()
        result = measured(network, one_clock=False)
        assert result.back is not None
        verdict = ClockVerdict.CORRECTED if n == 3000 else ClockVerdict.VARIATION_ONLY
        assert result.clocks.verdict is verdict
        answered_s = result.forward.t_s + result.forward.delay_s + TURNAROUND_NS / 1e9
        assert result.back.t_s == pytest.approx(answered_s, abs=2e-6)  # what 80 ppm of the delay is, and rounding


def test_a_probe_for_which_this_host_had_no_room_tells_nothing_of_the_path() -> None:
    fates = [Fate((5 * MS,), ((5 * MS,),))] * 20
    fates[3] = fates[7] = Fate((), ())
    network = ProbeNetwork(plan_of(fates), fates, no_room=frozenset((3,)))
    for _ in range(2):  # without the log, and with it
        result = measured(network)
        assert result.round_trip is not None
        for trace in (result.forward, result.round_trip):
            assert (trace.lost[3], trace.copies[3]) == (UNKNOWN, UNKNOWN)
            assert (trace.lost[7], trace.copies[7]) == (1, 0)
            assert (trace.lost == 1).sum() == 1
        assert any("no room for 1 probes" in note for note in result.notes)
        network.fetch_log()


def test_a_probe_for_which_there_is_no_way_is_lost() -> None:
    record = ProbeRecord(3)
    for departure in (Departure.NO_WAY, Departure.TOO_LARGE, Departure.NO_ROOM):
        record.note_sent(EPOCH_NS)
        record.note_departure(departure)
    record.note_page(LogPage(0, 0, 0, np.zeros(0, ROW)))
    result = find_result(record, one_way=False, one_clock=True, source="a test")
    assert result.forward.lost.tolist() == [1, 1, UNKNOWN]
    assert any("no way for 2 probes" in note for note in result.notes)


def test_a_reply_for_which_the_reflector_had_no_room_is_lost_nowhere() -> None:
    fates = [Fate((5 * MS,), ((5 * MS,),))] * 20
    fates[7] = Fate((5 * MS,), ((),))
    network = ProbeNetwork(plan_of(fates), fates, no_room_back=frozenset((3,)))
    network.fetch_log()
    result = measured(network)
    assert result.back is not None
    assert result.round_trip is not None
    for trace in (result.back, result.round_trip):
        assert trace.lost.tolist() == [0] * 3 + [UNKNOWN] + [0] * 3 + [1] + [0] * 12
    assert result.forward.loss_ratio == 0.0
    assert np.diff(result.back.t_s) == pytest.approx(np.full(19, 0.01), abs=1e-9)


def test_a_turnaround_that_the_log_cannot_hold_is_taken_from_the_reply() -> None:
    """5 s are more than 32 bits of nanoseconds: the log says so, and says no other time."""
    fates = [Fate((5 * MS,), ((7 * MS,),))] * 40
    long_ns = 5 * 10**9
    network = ProbeNetwork(plan_of(fates), fates, turnaround_ns=dict.fromkeys(range(10, 20), long_ns))
    network.fetch_log()
    result = measured(network)
    assert result.back is not None
    assert result.round_trip is not None
    assert result.back.delay_s == pytest.approx(np.full(40, 0.007), abs=1e-9)
    assert result.round_trip.delay_s == pytest.approx(np.full(40, 0.012), abs=1e-9)
    assert result.notes == []


def test_a_turnaround_that_is_none_is_taken_from_the_reply() -> None:
    """A stamp before the arrival: a clock set back at that moment, or a reflector that lies."""
    fates = [Fate((5 * MS,), ((7 * MS,),))] * 20
    network = ProbeNetwork(plan_of(fates), fates)
    network.session.note_reply(4, EPOCH_NS)
    network.fetch_log()
    result = measured(network)
    assert result.round_trip is not None
    assert result.round_trip.delay_s == pytest.approx(np.full(20, 0.012), abs=1e-9)
    assert result.notes == []


def test_clocks_whole_thousands_of_seconds_apart_are_not_in_step() -> None:
    fates = [Fate((5 * MS,), ((5 * MS,),))] * 40
    network = ProbeNetwork(plan_of(fates), fates, ahead_ns=4_000 * 10**9)
    network.fetch_log()
    result = measured(network, one_clock=False)
    assert result.clocks.verdict is ClockVerdict.CORRECTED
    assert result.clocks.offset_s == pytest.approx(4000.0)
    assert result.clocks.words.startswith("an offset of 4,000 s and 0 ms")


def test_a_turnaround_in_the_log_longer_than_the_time_away_leaves_the_round_trip_unknown() -> None:
    fates = [Fate((5 * MS,), ((7 * MS,),))] * 20
    network = ProbeNetwork(plan_of(fates), fates)
    network.session.note_reply(4, network.clock_ns(EPOCH_NS + 40 * MS + 5 * MS + 13 * MS))
    network.fetch_log()
    result = measured(network)
    assert result.round_trip is not None
    assert np.isnan(result.round_trip.delay_s[4])
    assert result.round_trip.lost[4] == 0
    assert result.round_trip.delays_s == pytest.approx(np.full(19, 0.012), abs=1e-12)
    assert any("1 replies were held for longer" in note for note in result.notes)


def test_a_reply_to_another_probe_than_the_log_says_is_left_out() -> None:
    fates = [Fate((5 * MS,), ((7 * MS,),))] * 5 + [Fate((5 * MS,), ((),))] * 5
    network = ProbeNetwork(plan_of(fates), fates)
    network.fetch_log()
    lie = ProbeReply(number=9, receive_ns=EPOCH_NS, reply_ns=EPOCH_NS, seen=0, reply_number=8)
    assert network.record.note_reply(lie, EPOCH_NS + 500 * MS)
    result = measured(network)
    assert result.round_trip is not None
    assert result.round_trip.lost.tolist() == [0] * 5 + [1] * 5


def test_the_source_says_what_the_numbers_rest_on() -> None:
    fates = [Fate((5 * MS,), ((7 * MS,),))] * 50
    network = ProbeNetwork(plan_of(fates), fates, ahead_ns=10**10, max_rows=20)
    network.fetch_log()
    record = network.record
    record.clock_steps, record.unstamped = 2, 3
    result = find_result(record, one_way=False, one_clock=False, source="netlab probe somewhere")
    assert result.back is not None
    assert result.round_trip is not None
    for trace in result.traces:
        assert trace.source.startswith("netlab probe somewhere; ")
        for words in ("log was full", "clock was set 2 times", "3 replies have the time at which they were read"):
            assert words in trace.source
    for trace in (result.forward, result.back):
        assert result.clocks.words in trace.source
        assert "an offset of 9999 ms (+- 0 ms)" in trace.source
    assert "offset" not in result.round_trip.source


def test_a_source_is_never_longer_than_a_trace_file_has_room_for() -> None:
    fates = [Fate((5 * MS,), ((7 * MS,),))] * 50
    network = ProbeNetwork(plan_of(fates), fates, ahead_ns=10**10)
    result = find_result(network.record, one_way=False, one_clock=False, source="x" * 2000)
    for trace in result.traces:
        assert len(trace.source) == MAX_SOURCE
        format_trace(trace)


def test_what_the_reflector_says_of_its_own_clock_is_noted() -> None:
    fates = [Fate((5 * MS,), ((7 * MS,),))] * 10
    network = ProbeNetwork(plan_of(fates), fates)
    network.session.note(9, network.clock_ns(EPOCH_NS + 200 * MS), is_stamped=False)
    network.fetch_log(clock_steps=1)
    notes = measured(network).notes
    assert "the reflector's clock was set; stamps were kept steady" in notes
    assert any("its kernel did not stamp" in note for note in notes)
    assert len(notes) == 2


def test_what_came_after_the_wait_is_counted_each_way() -> None:
    fates = [Fate((5 * MS,), ((7 * MS,),))] * 10
    network = ProbeNetwork(plan_of(fates), fates)
    network.session.log.page(0)
    network.session.note(9, network.clock_ns(EPOCH_NS + 900 * MS))
    network.fetch_log()
    network.record.late_replies = 4
    result = measured(network)
    assert result.late == {"forward": 1, "back": 4, "round-trip": 4}
    summary = summarise(result, network.plan, "a test", [])
    assert {path.path: path.late for path in summary.paths} == result.late


def test_losses_in_runs_widen_their_interval() -> None:
    # 100 of 1000 lost, alone and in runs of 10: the same ratio, of a tenth as many events.
    alone = [Fate((5 * MS,) if row % 10 else (), ()) for row in range(1000)]
    runs = [Fate((5 * MS,) if row // 10 % 10 else (), ()) for row in range(1000)]
    width = []
    for fates in (alone, runs):
        network = ProbeNetwork(plan_of(fates, one_way=True), fates)
        network.fetch_log()
        (path,) = summarise(measured(network), network.plan, "a test", []).paths
        assert path.loss_ratio == pytest.approx(0.1)
        assert path.loss_low is not None
        assert path.loss_high is not None
        assert path.loss_low < 0.1 < path.loss_high
        width.append(path.loss_high - path.loss_low)
    # Neighbours correlate by 1 - 1/10 - 10/900: the variance is 17 times that of independent losses.
    assert width[1] / width[0] == pytest.approx(17**0.5, rel=0.1)


def test_a_flow_one_way_knows_what_was_lost_and_loads_no_way_back() -> None:
    fates = [Fate((5 * MS,) if row % 3 else (), ()) for row in range(99)]
    network = ProbeNetwork(plan_of(fates, one_way=True), fates)
    network.fetch_log()
    result = measured(network)
    assert network.replies_sent == []
    assert result.back is None
    assert result.round_trip is None
    assert result.forward.loss_ratio == pytest.approx(1 / 3)
    assert result.forward.clocks is ClockVerdict.ONE_CLOCK


@settings(max_examples=30)
@given(st.integers(-(10**19) // 4, 10**19 // 4), st.integers(0, 2**32))
def test_clocks_that_are_apart_are_found_however_far(ahead_ns: int, seed: int) -> None:
    ahead_ns = max(ahead_ns, -EPOCH_NS)
    ahead_ns += 10 * MS * (1 if ahead_ns >= 0 else -1) * (abs(ahead_ns) < 10 * MS)
    ahead_ns = max(ahead_ns, -EPOCH_NS)
    random = np.random.default_rng(seed)
    shortest_ns = 4 * MS
    fates = [
        Fate((shortest_ns + int(there),), ((shortest_ns + int(back),),))
        for there, back in random.exponential(2 * MS, (500, 2))
    ]
    network = ProbeNetwork(plan_of(fates), fates, ahead_ns=ahead_ns)
    network.fetch_log()
    result = measured(network, one_clock=False)
    assert result.clocks.verdict is ClockVerdict.CORRECTED
    assert result.clocks.offset_s == pytest.approx(ahead_ns / 1e9, rel=1e-12, abs=100e-6)
    # The shortest of 500 waits, mean 2 ms: 4 us on average; 100 us has the chance e^-25.
    asked_s = np.array([fate.there_ns[0] for fate in fates]) / 1e9
    assert np.abs(result.forward.delay_s - asked_s).max() < 200e-6


def test_a_drifting_clock_is_corrected() -> None:
    random = np.random.default_rng(1)
    fates = [
        Fate((4 * MS + int(there),), ((4 * MS + int(back),),)) for there, back in random.exponential(MS, (3000, 2))
    ]
    network = ProbeNetwork(plan_of(fates), fates, ahead_ns=3 * 10**9, gain=80e-6)
    network.fetch_log()
    result = measured(network, one_clock=False)
    assert result.clocks.drift == pytest.approx(80e-6, rel=0.05)
    asked_s = np.array([fate.there_ns[0] for fate in fates]) / 1e9
    assert np.abs(result.forward.delay_s - asked_s).max() < 200e-6


def test_two_clocks_taken_for_one_are_noticed() -> None:
    fates = [Fate((5 * MS,), ((5 * MS,),))] * 40
    network = ProbeNetwork(plan_of(fates), fates, ahead_ns=-(10**9))
    network.fetch_log()
    result = measured(network, one_clock=True)
    assert result.clocks.verdict is ClockVerdict.CORRECTED
    assert "negative" in result.clocks.words


def test_lies_are_left_out() -> None:
    record = ProbeRecord(10)
    for number in range(10):
        record.note_sent(EPOCH_NS + number * MS)
    arrival_ns = EPOCH_NS + 100 * MS
    honest = ProbeReply(3, EPOCH_NS, EPOCH_NS + 1000, 0, 0)
    assert record.note_reply(honest, arrival_ns)
    lies = [
        honest._replace(number=10),  # never sent
        honest._replace(reply_ns=EPOCH_NS + 200 * MS),  # kept longer than it was away
        honest._replace(reply_number=160),  # more replies than copies could have had
    ]
    for lie in lies:
        assert not record.note_reply(lie, arrival_ns)
    assert record.implausible == len(lies)
    assert record.n_replies == 1


def test_a_log_that_lies_is_left_out() -> None:
    record = ProbeRecord(10)
    for number in range(10):
        record.note_sent(EPOCH_NS + number * MS)
    rows = np.zeros(2, ROW)
    rows["number"] = 9
    good = LogPage(0, 2, 0, rows)
    too_many = LogPage(0, 161, 0, np.zeros(ROWS_A_PAGE, ROW))
    stranger = np.array(rows)
    stranger["number"][1] = 10
    for lie in (too_many, good._replace(rows=stranger), good._replace(page=1, rows=rows[:0])):
        assert not record.note_page(lie)
        assert record.log is None
    assert record.note_page(good)
    assert not record.note_page(good), "it is no news"
    grown = LogPage(1, ROWS_A_PAGE + 1, 0, rows[:1])
    assert not record.note_page(grown), "a log does not grow once it was asked for"
    assert record.log is not None
    assert record.log["number"].tolist() == [9, 9]


def test_replies_are_kept_up_to_a_bound() -> None:
    record = ProbeRecord(2)
    record.note_sent(EPOCH_NS)
    reply = ProbeReply(0, EPOCH_NS, EPOCH_NS, 0, 0)
    assert sum(record.note_reply(reply, EPOCH_NS + MS) for _ in range(100)) == 2 * MAX_COPIES


@given(st.lists(FATES, max_size=10), st.integers(0, 2**63 - 1), st.integers(0, 2**64 - 1), st.integers(0, 159))
def test_a_reflector_that_lies_makes_nothing_raise(
    fates: list[Fate], stamp_ns: int, seen: int, reply_number: int
) -> None:
    record = ProbeRecord(10)
    for number in range(10):
        record.note_sent(EPOCH_NS + number * MS)
    stamp_ns %= 1 << 62
    for row in range(len(fates)):
        record.note_reply(ProbeReply(row, stamp_ns, stamp_ns, seen, reply_number), EPOCH_NS + 99 * MS)
    for one_clock in (True, False):
        result = find_result(record, one_way=False, one_clock=one_clock, source="a liar")
        summarise(result, ProbePlan(count=10), "a liar", [])


def test_nothing_sent_is_a_result_too() -> None:
    result = find_result(ProbeRecord(10), one_way=False, one_clock=False, source="nobody")
    summary = summarise(result, ProbePlan(count=10), "nobody", [])
    assert [path.sent for path in summary.paths] == [0, 0, 0]
    assert summary.paths[0].loss_ratio is None
