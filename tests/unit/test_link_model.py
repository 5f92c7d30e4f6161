"""The link model against packets recorded on a real kernel, and rule by rule."""

from __future__ import annotations

import itertools
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from link_recordings import RECORDINGS, Recording
from modelled_states import dialects, modelled_states

from netlab.errors import ProfileError
from netlab.traces.distribution import kernel_delays_ns
from netlab.traces.model.correlated_draw import draws_to_forget
from netlab.traces.model.delay_draw import TableDelay
from netlab.traces.model.dialect import LINUX_6_1, Dialect
from netlab.traces.model.fate import Copy, Fate
from netlab.traces.model.link_model import LinkModel
from netlab.traces.model.qdisc_change import Correlations, QdiscChange
from netlab.traces.model.taus113 import Taus113
from netlab.traces.model.wire_time import WireTime
from netlab.traces.qdisc_state import FourStateState, GilbertElliottState, QdiscState, SlotState

ALWAYS = 2**32 - 1
HALF = 2**31
SEED = 0x9E3779B97F4A7C15
MS = 1_000_000


def fates(model: LinkModel, count: int, gap_ns: int = 20 * MS, start_ns: int = 0) -> list[Fate]:
    return [model.enqueue(start_ns + number * gap_ns, 200) for number in range(count)]


def draws(seed: int, count: int) -> list[int]:
    generator = Taus113(seed)
    return [generator.draw() for _ in range(count)]


@pytest.mark.parametrize("name", RECORDINGS)
def test_every_recorded_packet_fares_as_on_the_kernel(name: str) -> None:
    recording = Recording(name)
    model = LinkModel(recording.state)
    differences = []
    for number, sent in enumerate(recording.packets()):
        fate = model.enqueue(sent.now_ns, sent.length_bytes, ect=sent.ect, copy_now_ns=sent.copy_now_ns)
        if difference := recording.difference(sent, fate):
            differences.append(f"packet {number}: {difference}")
    assert not differences, differences[:5]
    assert number + 1 == recording.run["packets"]


def test_the_recordings_are_all_there() -> None:
    assert len(RECORDINGS) == 10


@pytest.mark.parametrize("name", RECORDINGS)
def test_packets_arrive_in_the_recorded_order(name: str) -> None:
    recording = Recording(name)
    model = LinkModel(recording.state)
    leaving = []
    for number, sent in enumerate(recording.packets()):
        fate = model.enqueue(sent.now_ns, sent.length_bytes, ect=sent.ect, copy_now_ns=sent.copy_now_ns)
        leaving += [(copy.leave_ns, not copy.head, number) for copy in fate.copies]
    got, recorded = [number for _, _, number in sorted(leaving)], recording.run["arrival_order"]
    assert len(got) == len(recorded)
    # The kernel's timers are late by some microseconds; two packets due within that may swap.
    displaced = sum(one != other for one, other in zip(got, recorded, strict=True))
    assert displaced <= len(got) // 50


def test_another_seed_fares_otherwise() -> None:
    recording = Recording("loss10")
    model = LinkModel(recording.state.replace(seed=SEED))
    packets = list(recording.packets())
    assert any(recording.difference(sent, model.enqueue(sent.now_ns, sent.length_bytes)) for sent in packets)


class TestDraws:
    def test_loss_then_corruption_then_reordering_then_delay(self) -> None:
        first, second, third, fourth = draws(SEED, 4)
        state = QdiscState(loss=HALF, corrupt=HALF, gap=1, reorder=HALF, latency_ns=MS, jitter_ns=1000, seed=SEED)
        fate = LinkModel(state).enqueue(0, 200)
        assert first > HALF, "the seed is chosen so that the first packet gets through"
        head = third <= HALF
        delay_ns = 0 if head else fourth % 2000 + MS - 1000
        assert fate == Fate((Copy(delay_ns, delay_ns, head, second <= HALF),))

    def test_what_is_off_takes_no_draw(self) -> None:
        model = LinkModel(QdiscState(latency_ns=MS, gap=1000, seed=SEED))
        assert all(fate == Fate((Copy(MS, number * 20 * MS + MS),)) for number, fate in enumerate(fates(model, 9)))
        model.change(QdiscChange(loss=HALF))
        assert [fate.lost for fate in fates(model, 50, start_ns=10**9)] == [d <= HALF for d in draws(SEED, 50)]

    def test_a_lost_packet_takes_no_more_draws(self) -> None:
        stream = iter(draws(SEED, 400))
        for number, fate in enumerate(
            fates(LinkModel(QdiscState(loss=HALF, jitter_ns=500, latency_ns=MS, seed=SEED)), 200)
        ):
            if next(stream) <= HALF:
                assert fate.lost
            else:
                delay_ns = next(stream) % 1000 + MS - 500
                assert fate.copies == (Copy(delay_ns, number * 20 * MS + delay_ns),)

    def test_probabilities_include_the_draw_that_equals_them(self) -> None:
        (first,) = draws(SEED, 1)
        assert LinkModel(QdiscState(loss=first, seed=SEED)).enqueue(0, 60).lost
        assert not LinkModel(QdiscState(loss=first - 1, seed=SEED)).enqueue(0, 60).lost

    @given(st.integers(0, 2**31 - 1), st.integers(-32768, 32767), st.integers(0, 10**10))
    def test_a_table_rounds_as_the_kernel_divides(self, jitter_ns: int, entry: int, latency_ns: int) -> None:
        expected = kernel_delays_ns(latency_ns, jitter_ns, (entry,))[0]
        assert TableDelay(latency_ns, jitter_ns, (entry,), lambda: 5).delay_ns() == expected


class TestChains:
    def test_gilbert_elliott_decides_by_the_state_before_the_move(self) -> None:
        # Always to BAD and back: the even packets are decided in GOOD, which loses nothing, the odd ones in BAD.
        chain = GilbertElliottState(p=ALWAYS, r=ALWAYS, h=0, k1=0)
        lost = [fate.lost for fate in fates(LinkModel(QdiscState(loss_model=chain, seed=SEED)), 20)]
        assert lost == [False, True] * 10

    def test_gilbert_elliott_keeps_its_mean(self) -> None:
        chain = GilbertElliottState(p=round(0.02 * ALWAYS), r=round(0.2 * ALWAYS), h=0, k1=0)
        n = 40_000
        lost = [fate.lost for fate in fates(LinkModel(QdiscState(loss_model=chain, seed=SEED)), n)]
        # Mean 1/11; runs of 5 losses make its variance about 9 times the independent one's: 5 sigma is 0.022.
        assert sum(lost) / n == pytest.approx(1 / 11, abs=0.022)

    def test_the_four_states_are_walked_in_order(self) -> None:
        # Good -> lost in the burst -> good within it -> lost in it ...
        chain = FourStateState(p13=ALWAYS, p31=0, p32=ALWAYS, p14=0, p23=ALWAYS)
        lost = [fate.lost for fate in fates(LinkModel(QdiscState(loss_model=chain, seed=SEED)), 10)]
        assert lost == [True, False] * 5
        alone = FourStateState(p13=0, p31=0, p32=0, p14=ALWAYS, p23=0)
        lost = [fate.lost for fate in fates(LinkModel(QdiscState(loss_model=alone, seed=SEED)), 10)]
        assert lost == [True, False] * 5

    def test_a_chain_begins_anew_with_each_message(self) -> None:
        chain = GilbertElliottState(p=ALWAYS, r=0, h=0, k1=0)
        model = LinkModel(QdiscState(loss_model=chain, seed=SEED))
        assert [fate.lost for fate in fates(model, 3)] == [False, True, True]
        model.change(QdiscChange(loss_model=chain))
        assert [fate.lost for fate in fates(model, 3, start_ns=10**9)] == [False, True, True]


class TestDuplicates:
    def test_the_duplicate_comes_first_and_draws_for_itself(self) -> None:
        stream = draws(SEED, 3)
        state = QdiscState(duplicate=ALWAYS, latency_ns=MS, jitter_ns=1000, seed=SEED)
        fate = LinkModel(state).enqueue(50, 60, copy_now_ns=40)
        (duplicate, original) = fate.copies
        assert duplicate == Copy(
            stream[1] % 2000 + MS - 1000, 40 + stream[1] % 2000 + MS - 1000, is_duplicate=True
        )
        assert original == Copy(stream[2] % 2000 + MS - 1000, 50 + stream[2] % 2000 + MS - 1000)

    def test_lost_and_duplicated_leaves_one(self) -> None:
        fate = LinkModel(QdiscState(duplicate=ALWAYS, loss=ALWAYS, seed=SEED)).enqueue(0, 60)
        assert [copy.is_duplicate for copy in fate.copies] == [False]

    def test_room_is_looked_for_before_the_duplicate_enters(self) -> None:
        # Seen on Linux 6.1, 6.12 and 7.2: the queue then holds one more than its limit.
        fate = LinkModel(QdiscState(duplicate=ALWAYS, limit_packets=1, latency_ns=MS, seed=SEED)).enqueue(0, 60)
        assert (len(fate.copies), fate.over_limit) == (2, False)


class TestMarks:
    def test_a_mark_replaces_a_loss_where_the_sender_can_do_with_it(self) -> None:
        state = QdiscState(loss=HALF, ecn=True, seed=SEED)
        able, unable = LinkModel(state), LinkModel(state)
        for number in range(100):
            marked, dropped = able.enqueue(number, 60, ect=True), unable.enqueue(number, 60)
            assert len(marked.copies) == 1
            assert marked.copies[0].marked == dropped.lost

    def test_a_mark_of_the_duplicate_is_on_the_bytes_that_both_share(self) -> None:
        # Seen on Linux 7.2.7: of 1500 duplicated packets none was marked on one copy alone.
        fate_list = [
            LinkModel(QdiscState(duplicate=ALWAYS, loss=HALF, ecn=True, seed=SEED + n)).enqueue(0, 60, ect=True)
            for n in range(50)
        ]
        assert {copy.marked for fate in fate_list for copy in fate.copies} == {False, True}
        for fate in fate_list:
            duplicate, original = fate.copies
            assert duplicate.marked == original.marked


class TestRate:
    # 174 bytes + 20 in cells of 48 + 5: five cells of 53 bytes at 125 000 bytes/s.
    STATE = QdiscState(
        rate_bytes_per_s=125_000, packet_overhead_bytes=20, cell_size_bytes=48, cell_overhead_bytes=5
    )

    def test_time_on_the_wire(self) -> None:
        assert WireTime(self.STATE)[174] == 2_120_000
        assert WireTime(self.STATE)[172] == 4 * 53 * 8000
        assert WireTime(QdiscState(rate_bytes_per_s=3))[1] == 333_333_333
        # A length below zero is as absurd as the kernel's unsigned arithmetic makes it.
        assert abs(WireTime(QdiscState(rate_bytes_per_s=1000, packet_overhead_bytes=-100))[60]) > 10**15

    def test_packets_queue_and_never_overtake(self) -> None:
        model = LinkModel(self.STATE.replace(latency_ns=5 * MS, jitter_ns=4 * MS, seed=SEED))
        leaving = [copy.leave_ns for fate in fates(model, 200, gap_ns=MS) for copy in fate.copies]
        assert leaving == sorted(leaving)
        assert min(later - earlier for earlier, later in itertools.pairwise(leaving)) == 2_120_000

    def test_nobody_waits_for_a_packet_that_has_left(self) -> None:
        state = QdiscState(rate_bytes_per_s=10**6, latency_ns=0, jitter_ns=10 * MS, delay_table=(8192, -8192))
        even, odd = (next(d for d in range(99) if Taus113(d).draw() % 2 == parity) for parity in (0, 1))
        model = LinkModel(state.replace(seed=even))
        assert model.enqueue(0, 1000).copies == (Copy(10 * MS, 11 * MS),)
        model.apply(state.replace(seed=odd))
        # Still queued: behind it. Left: as if it had never been, and a negative delay makes up for the wire.
        assert model.enqueue(10 * MS, 1000).copies == (Copy(-10 * MS, 12 * MS),)
        model.apply(state.replace(seed=odd))
        assert model.enqueue(12 * MS, 1000).copies == (Copy(-10 * MS, 12 * MS),)


class TestLimit:
    def test_packets_that_have_left_make_room(self) -> None:
        model = LinkModel(QdiscState(latency_ns=10 * MS, limit_packets=3))
        over = [model.enqueue(now * MS, 60).over_limit for now in (0, 1, 2, 3, 9, 10, 10, 11, 12)]
        assert over == [False] * 3 + [True] * 2 + [False, True, False, False]
        assert model.backlog_packets(20 * MS) == 2

    def test_no_room_for_anything(self) -> None:
        fate = LinkModel(QdiscState(limit_packets=0)).enqueue(0, 60)
        assert fate.over_limit and not fate.lost and not fate.copies

    def test_draws_of_a_packet_without_room_are_spent(self) -> None:
        stream = iter(draws(SEED, 400))
        state = QdiscState(loss=HALF, corrupt=HALF, jitter_ns=1, latency_ns=10**12, limit_packets=5, seed=SEED)
        queued = 0
        for fate in fates(LinkModel(state), 100):
            if next(stream) <= HALF:
                assert fate.lost
                continue
            next(stream)
            assert fate.over_limit == (queued == 5)
            if queued < 5:
                queued += 1
                next(stream)

    @settings(max_examples=30)
    @given(st.lists(st.tuples(st.integers(0, 3 * MS), st.booleans()), max_size=80), st.integers(1, 8))
    def test_the_backlog_is_what_has_not_left(self, packets: list[tuple[int, bool]], limit: int) -> None:
        model = LinkModel(QdiscState(latency_ns=2 * MS, jitter_ns=2 * MS, limit_packets=limit, seed=SEED))
        now_ns, leaving = 0, []
        for wait_ns, look in packets:
            now_ns += wait_ns
            inside = sum(leave_ns > now_ns for leave_ns in leaving)
            if look:
                assert model.backlog_packets(now_ns) == inside
            fate = model.enqueue(now_ns, 60)
            assert fate.over_limit == (inside >= limit)
            leaving += [copy.leave_ns for copy in fate.copies]


class TestReordering:
    def test_every_gap_th_packet_goes_to_the_head(self) -> None:
        model = LinkModel(QdiscState(latency_ns=10 * MS, gap=5, reorder=ALWAYS))
        heads = [fate.copies[0].head for fate in fates(model, 20)]
        assert heads == [False] * 4 + [True] + ([False] * 4 + [True]) * 3
        fate = model.enqueue(10**9, 60)
        assert fate.copies == (Copy(10 * MS, 10**9 + 10 * MS),)

    def test_a_message_counts_anew(self) -> None:
        model = LinkModel(QdiscState(latency_ns=MS, gap=3, reorder=ALWAYS))
        fates(model, 2)
        model.change(QdiscChange(latency_ns=MS, gap=3))
        assert [fate.copies[0].head for fate in fates(model, 3, start_ns=10**9)] == [False, False, True]


class TestCorrelation:
    def test_streams_forget_where_they_began(self) -> None:
        correlation = HALF - 1
        forgets = draws_to_forget(correlation)
        assert forgets == 32
        state = QdiscState(latency_ns=10**10, jitter_ns=2**31 - 1, delay_correlation=correlation, seed=SEED)
        one, other = LinkModel(state), LinkModel(state, unseeded_last=ALWAYS)
        delays = [
            (a.copies[0].delay_ns, b.copies[0].delay_ns)
            for a, b in zip(fates(one, 200), fates(other, 200), strict=True)
        ]
        apart = [abs(a - b) for a, b in delays]
        assert apart[0] > 10**8
        # By fewer than 1 / (1 - 0.5) = 2 units of 2^32, of which the widest uniform law makes 2 ns at most.
        assert max(apart[forgets:]) <= 2

    @pytest.mark.parametrize(("ratio", "draws"), [(0.25, 16), (0.5, 32), (0.9, 211)])
    def test_the_number_of_draws(self, ratio: float, draws: int) -> None:
        assert draws_to_forget(int(ratio * 2**32) - 1) == draws

    def test_no_correlation_and_a_full_one(self) -> None:
        assert draws_to_forget(0) == 0
        with pytest.raises(ProfileError, match="forget"):
            draws_to_forget(ALWAYS)

    def test_sending_a_correlation_begins_anew_and_leaving_it_out_does_not(self) -> None:
        state = QdiscState(loss=HALF, loss_correlation=ALWAYS)
        model = LinkModel(state, unseeded_last=HALF + 1)
        assert not any(fate.lost for fate in fates(model, 9))
        again = LinkModel(state, unseeded_last=HALF)
        again.change(QdiscChange(loss=HALF - 1))
        assert not any(fate.lost for fate in fates(again, 9))
        again.change(QdiscChange(loss=HALF, correlations=Correlations(loss=ALWAYS)))
        assert all(fate.lost for fate in fates(again, 9, start_ns=10**9))


class TestChanges:
    def test_packets_in_flight_stay(self) -> None:
        model = LinkModel(QdiscState(latency_ns=10 * MS, limit_packets=4))
        fates(model, 3, gap_ns=0)
        model.apply(QdiscState(latency_ns=MS, limit_packets=4))
        assert model.backlog_packets(0) == 3
        # Without a rate new packets overtake; with one they wait behind.
        assert model.enqueue(0, 60).copies[0].leave_ns == MS
        model.apply(QdiscState(latency_ns=0, rate_bytes_per_s=10**9))
        assert model.enqueue(2 * MS, 60).copies[0].leave_ns == 10 * MS + 60

    def test_the_generator_goes_on_unless_a_seed_is_sent(self) -> None:
        state = QdiscState(loss=HALF)
        lost = [draw <= HALF for draw in draws(SEED, 20)]
        model = LinkModel(state.replace(seed=SEED))
        got = [fate.lost for fate in fates(model, 10)]
        model.apply(state)
        assert got + [fate.lost for fate in fates(model, 10, start_ns=10**9)] == lost
        model.apply(state.replace(seed=SEED))
        assert [fate.lost for fate in fates(model, 10, start_ns=10**10)] == lost[:10]

    def test_a_table_stays_where_none_is_sent(self) -> None:
        model = LinkModel(QdiscState(latency_ns=MS, jitter_ns=8192, delay_table=(5,)))
        model.apply(QdiscState(latency_ns=2 * MS, jitter_ns=8192))
        assert model.enqueue(0, 60).copies[0].delay_ns == 2 * MS + 5
        assert model.state.delay_table == (5,)

    @given(modelled_states, modelled_states)
    def test_the_state_shown_is_the_merged_one(self, first: QdiscState, second: QdiscState) -> None:
        model = LinkModel(first)
        shown = model.state
        assert shown == QdiscChange.in_full(first).merge(QdiscState(seed=0))
        model.apply(second)
        assert model.state == QdiscChange.in_full(second).merge(shown)

    def test_a_kernel_without_seeds_ignores_them(self) -> None:
        dialect = LINUX_6_1
        state = QdiscState(loss=HALF, seed=1)
        model, other = LinkModel(state, dialect, unseeded_seed=SEED), LinkModel(state, dialect, unseeded_seed=SEED)
        assert model.state.seed is None
        other.apply(state.replace(seed=2))
        assert fates(model, 50) == fates(other, 50)
        assert [fate.lost for fate in fates(model, 1, start_ns=10**10)] == [draws(SEED, 51)[50] <= HALF]

    @pytest.mark.parametrize(
        ("state", "words"),
        [
            (QdiscState(slot=SlotState(min_delay_ns=5)), "slot"),
            (QdiscState(latency_ns=2**62), "latency_ns = 4611"),
        ],
    )
    def test_what_it_cannot_do_is_refused_and_changes_nothing(self, state: QdiscState, words: str) -> None:
        with pytest.raises(ProfileError, match=words):
            LinkModel(state)
        model = LinkModel(QdiscState(latency_ns=MS))
        with pytest.raises(ProfileError, match=words):
            model.apply(state)
        assert model.state.latency_ns == MS
        assert model.enqueue(0, 60).copies == (Copy(MS, MS),)


@settings(max_examples=60)
@given(modelled_states, dialects, st.lists(st.integers(0, 10**8), min_size=1, max_size=30))
def test_whatever_the_state_copies_leave_after_they_came(
    state: QdiscState, dialect: Dialect, waits: list[int]
) -> None:
    model, now_ns = LinkModel(state, dialect), 0
    for wait_ns in waits:
        now_ns += wait_ns
        fate = model.enqueue(now_ns, 174, ect=True)
        assert all(copy.leave_ns >= now_ns for copy in fate.copies)
        assert [copy.is_duplicate for copy in fate.copies] in ([], [False], [True], [True, False])
        assert fate.lost + fate.over_limit <= 1
        assert not (fate.lost and fate.copies)


def test_the_example_of_the_page_runs(capsys: pytest.CaptureFixture[str]) -> None:
    page = (Path(__file__).parents[2] / "docs" / "link-model.md").read_text()
    blocks = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    assert len(blocks) == 2
    for block in blocks:
        exec(compile(block, "docs/link-model.md", "exec"), {})
        printed = capsys.readouterr().out.splitlines()
        assert printed == re.findall(r"# prints (.*)", block)
