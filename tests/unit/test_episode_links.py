"""Links by the episode against a fresh LinkModel an episode, packet by packet."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from modelled_states import likelihoods, modelled_states, tables

from netlab.errors import ProfileError
from netlab.traces.model.episode_links import NEVER, EpisodeLinks
from netlab.traces.model.limit_watch import LimitWatch
from netlab.traces.model.link_model import LinkModel
from netlab.traces.model.state_table import StateTable
from netlab.traces.model.step_times import StepTimes
from netlab.traces.model.taus113 import start_words, start_words_of
from netlab.traces.model.timed_states import NO_CHANGE_NS, LinkStates, TimedStates, link_states
from netlab.traces.presets import PRESETS, parse_preset
from netlab.traces.profile import LinkProfile
from netlab.traces.qdisc_state import FourStateState, GilbertElliottState, QdiscState
from netlab.traces.seed import link_seed, link_seeds, step_seed

MS = 1_000_000
U32 = 2**32 - 1

gilbert_elliott = st.builds(GilbertElliottState, p=likelihoods, r=likelihoods, h=likelihoods, k1=likelihoods)
prepared_states = st.builds(
    QdiscState,
    latency_ns=st.one_of(st.just(0), st.integers(0, 10**8), st.integers(-(10**7), 10**8)),
    jitter_ns=st.one_of(st.just(0), st.integers(0, 10**8), st.integers(0, 2**31 - 1)),
    delay_table=tables,
    loss=likelihoods,
    loss_model=st.one_of(st.none(), gilbert_elliott),
    corrupt=st.one_of(st.just(0), likelihoods),
    rate_bytes_per_s=st.one_of(st.just(0), st.just(12_500_000_000), st.integers(1000, 10**9)),
)
# What decides often, so that an episode that began in another's state would show.
lively_states = st.builds(
    QdiscState,
    latency_ns=st.integers(0, 10**8),
    jitter_ns=st.integers(10**6, 10**8),
    delay_table=st.sampled_from([(32767, -32768), (-8192, -1, 1, 8192)]),
    loss_model=st.builds(
        GilbertElliottState,
        p=st.just(U32 // 2),
        r=st.just(U32 // 3),
        h=st.sampled_from([0, U32 // 4]),
        k1=st.sampled_from([0, U32 // 4]),
    ),
    rate_bytes_per_s=st.sampled_from([0, 10**6]),
)
seeds64 = st.integers(0, 2**64 - 1)


def times_in_ns(starts_ns: tuple[int, ...], pass_ns: int | None = None) -> StepTimes:
    return StepTimes(tuple(start * 1e-9 for start in starts_ns), None if pass_ns is None else pass_ns * 1e-9)


def timed(states: st.SearchStrategy[QdiscState]) -> st.SearchStrategy[TimedStates]:
    """Return schedules of one to three such states, milliseconds long."""

    def build(parts: list[tuple[QdiscState, int]], loop: bool) -> TimedStates:
        ends_ns = np.cumsum([length_ns for _, length_ns in parts]).tolist()
        times = times_in_ns((0, *ends_ns[:-1]), ends_ns[-1] if loop else None)
        return TimedStates(times, tuple(state for state, _ in parts))

    part = st.tuples(states, st.integers(MS, 90 * MS))
    return st.builds(build, st.lists(part, min_size=1, max_size=3), st.booleans())


class Reference:
    """One lane as docs/network-distributions.md has it: a LinkModel an episode, each step applied in its turn."""

    def __init__(self, states: LinkStates, seed: int, start_ns: int) -> None:
        self.timed = states if isinstance(states, TimedStates) else None
        first = states.states[0] if isinstance(states, TimedStates) else states
        self.model = LinkModel(first.replace(seed=seed))
        self.seed, self.start_ns, self.step = seed, start_ns, 0

    def send(self, now_ns: int, length_bytes: int) -> int:
        if self.timed is not None:
            while self.timed.start_ns(self.step + 1) <= now_ns - self.start_ns:
                self.step += 1
                state = self.timed.states[self.step % len(self.timed.states)]
                self.model.apply(state.replace(seed=step_seed(self.seed, self.step)))
        copies = self.model.enqueue(now_ns, length_bytes).copies
        return min((copy.leave_ns for copy in copies if not copy.corrupted), default=int(NEVER))


class Call(NamedTuple):
    """What happens at a moment: lanes begin anew, packets are sent through some of a part of them."""

    restarts: tuple[bool, ...]
    rows: tuple[int, ...]
    wait_ns: int
    backwards: bool
    who: tuple[bool, ...]
    part: slice
    length_bytes: int
    lengths_differ: bool


def calls(lanes: int) -> st.SearchStrategy[Call]:
    everyone = st.just((True,) * lanes)
    some = st.tuples(*[st.booleans()] * lanes)
    return st.builds(
        Call,
        restarts=st.one_of(st.just((False,) * lanes), some),
        rows=st.tuples(*[st.integers(0, 10**6)] * lanes),
        wait_ns=st.one_of(st.just(0), st.integers(0, 10**6), st.integers(0, 10**8)),
        backwards=st.booleans(),
        who=st.one_of(everyone, some),
        part=st.sampled_from([slice(None), slice(0, lanes // 2), slice(lanes // 2, lanes)]),
        length_bytes=st.sampled_from([60, 174, 1514]),
        lengths_differ=st.booleans(),
    )


def check_equal(table: StateTable, links: list[LinkStates], made: list[Call], lanes: int, seed: int) -> None:
    """Take lanes through episodes; compare each packet with the reference's."""
    together = EpisodeLinks(table, lanes)
    alone: list[Reference] = []
    clock = np.zeros(lanes, dtype=np.int64)
    for number, call in enumerate(made):
        restarts = np.array(call.restarts) | (number == 0)
        if restarts.any():
            rows = np.array(call.rows)[restarts] % len(links)
            seeds = link_seeds(seed, "lane", "forward", (number * lanes + np.flatnonzero(restarts)).tolist())
            if call.backwards:
                clock[restarts] = 0  # an episode may have a clock of its own
            starts_ns = clock[restarts]
            together.restart(restarts if number % 2 else np.flatnonzero(restarts), rows, seeds, starts_ns)
            fresh = zip(np.flatnonzero(restarts), rows.tolist(), seeds.tolist(), starts_ns.tolist(), strict=True)
            alone = alone or [None] * lanes  # type: ignore[list-item]
            for begun, row, lane_seed, start_ns in fresh:
                alone[begun] = Reference(links[row], lane_seed, start_ns)
        clock = clock + call.wait_ns
        who = np.array(call.who)[call.part]
        lengths = call.length_bytes + (np.arange(lanes)[call.part] if call.lengths_differ else 0 * who)
        arrive = together.send(
            clock[call.part],
            None if who.all() else who,
            lengths if call.lengths_differ else call.length_bytes,
            call.part,
        )
        for place, lane in enumerate(range(lanes)[call.part]):
            expected = alone[lane].send(int(clock[lane]), int(lengths[place])) if who[place] else int(NEVER)
            assert arrive[place] == expected, (number, lane, links)


@settings(max_examples=200)
@given(st.data(), st.lists(prepared_states, min_size=1, max_size=4), seeds64)
def test_a_link_prepared_ahead_fares_as_a_fresh_model(
    data: st.DataObject, states: list[QdiscState], seed: int
) -> None:
    table = StateTable(states)
    assert not table.by_model
    check_equal(table, list(states), data.draw(st.lists(calls(5), min_size=1, max_size=25)), 5, seed)


@settings(max_examples=60)
@given(st.data(), st.lists(st.one_of(lively_states, timed(lively_states)), min_size=1, max_size=3), seeds64)
def test_nothing_of_an_episode_or_a_step_is_left_in_the_next(
    data: st.DataObject, links: list[LinkStates], seed: int
) -> None:
    table = StateTable(links)
    assert not table.by_model
    check_equal(table, links, data.draw(st.lists(calls(5), min_size=10, max_size=40)), 5, seed)


@settings(max_examples=100)
@given(st.data(), st.lists(st.one_of(prepared_states, modelled_states), min_size=1, max_size=4), seeds64)
def test_any_link_fares_as_a_fresh_model(data: st.DataObject, states: list[QdiscState], seed: int) -> None:
    states = [state.replace(latency_ns=min(state.latency_ns, 2**60)) for state in states]
    check_equal(StateTable(states), list(states), data.draw(st.lists(calls(4), min_size=1, max_size=20)), 4, seed)


@settings(max_examples=100)
@given(
    st.data(),
    st.lists(st.one_of(timed(prepared_states), prepared_states, timed(modelled_states)), min_size=1, max_size=3),
    seeds64,
    st.booleans(),
)
def test_schedules_are_kept_to(
    data: st.DataObject, links: list[LinkStates], seed: int, packet_by_packet: bool
) -> None:
    table = StateTable(links, packet_by_packet=packet_by_packet)
    assert len(table.by_model) == len(links) or not packet_by_packet
    check_equal(table, links, data.draw(st.lists(calls(4), min_size=1, max_size=25)), 4, seed)


@pytest.mark.parametrize(
    "name", ["ethernet-clean", "wifi-normal", "wifi-degraded@oneway", "measured", "wifi-home"]
)
def test_a_preset_is_prepared_ahead_and_equal(name: str) -> None:
    pair = parse_preset(name)
    links: list[LinkStates] = [link_states(pair.forward), link_states(pair.back)]
    table = StateTable(links)
    assert not table.by_model
    made = [
        Call(
            restarts=tuple(number % 60 == 3 * lane for lane in range(6)),
            rows=(0, 1, 0, 1, 0, 1),
            wait_ns=20 * MS,
            backwards=number % 2 == 0,
            who=tuple((number + lane) % 7 > 0 for lane in range(6)),
            part=slice(None),
            length_bytes=200,
            lengths_differ=False,
        )
        for number in range(400)
    ]
    check_equal(table, links, made, 6, 5)


def test_both_directions_in_one_object_are_two_objects() -> None:
    pair = PRESETS["wifi-degraded"]
    table = StateTable.of_links([pair.forward, pair.back])
    n = 40
    both, there, back = EpisodeLinks(table, 2 * n), EpisodeLinks(table, n), EpisodeLinks(table, n)
    seeds = [link_seeds(3, "robot", direction, range(n)) for direction in ("forward", "back")]
    lanes = np.arange(n)
    both.restart(np.arange(2 * n), np.repeat([0, 1], n), np.concatenate(seeds))
    there.restart(lanes, lanes * 0, seeds[0])
    back.restart(lanes, lanes * 0 + 1, seeds[1])
    lost = 0
    for tick in range(200):
        now = np.full(n, tick * 20 * MS)
        forward = both.send(now, part=slice(0, n))
        assert (forward == there.send(now)).all()
        answered = forward < now + 20 * MS
        later = np.where(answered, forward, 0)
        answers = both.send(later, answered, part=slice(n, 2 * n))
        assert (answers == back.send(later, answered)).all()
        lost += int((answers[answered] == NEVER).sum())
    assert lost


@pytest.mark.parametrize("packet_by_packet", [False, True])
def test_seeds_of_steps_may_be_the_callers(packet_by_packet: bool) -> None:
    state = QdiscState(loss=U32 // 2)
    table = StateTable(
        [TimedStates(times_in_ns((0, 50 * MS), 80 * MS), (state, state))], packet_by_packet=packet_by_packet
    )
    asked: list[tuple[int, int]] = []

    def seed_of_step(lane: int, step: int) -> int:
        asked.append((lane, step))
        return link_seed(lane, "mine", "back", step)

    links = EpisodeLinks(table, 3, seed_of_step)
    links.restart(np.arange(3), np.zeros(3, dtype=np.int64), link_seeds(1, "a", "forward", range(3)), 7)
    who = np.array([False, True, True])
    model = LinkModel(state.replace(seed=link_seed(1, "a", "forward", 2)))
    for packet in range(40):
        now = 7 + packet * 10 * MS
        if packet * 10 % 80 in (0, 50) and packet:
            step = packet * 10 // 80 * 2 + (packet * 10 % 80 == 50)
            model.apply(state.replace(seed=link_seed(2, "mine", "back", step)))
        assert (links.send(np.full(3, now), who)[2] == NEVER) == model.enqueue(now, 0).lost
    assert {lane for lane, _ in asked} == {1, 2} and {step for _, step in asked} == set(range(1, 10))


def test_a_link_that_comes_again_takes_no_rows() -> None:
    normal, measured = PRESETS["wifi-normal"].forward, PRESETS["measured"].forward
    table = StateTable.of_links([normal, measured, normal, measured, LinkProfile(cell_bytes=48, rate_bps=1e6)] * 2)
    assert len(table) == 10 and table.numbers.shape[1] == 1 + 600 + 1
    assert table.first_row.tolist() == [0, 1, 0, 1, 601] * 2
    assert table.is_timed.tolist() == [False, True, False, True, False] * 2
    assert table.needs_model.tolist() == [False, False, False, False, True] * 2


def test_what_is_prepared_ahead_and_what_is_not() -> None:
    links: list[LinkStates] = [
        QdiscState(latency_ns=5, jitter_ns=3, loss=9, corrupt=7, rate_bytes_per_s=1000),
        QdiscState(limit_packets=1),  # nobody stays in it
        QdiscState(latency_ns=1, limit_packets=255),
        QdiscState(duplicate=1),
        QdiscState(gap=1),
        QdiscState(delay_correlation=1),
        QdiscState(loss_model=FourStateState(p13=1, p31=1, p32=0, p14=0, p23=0)),
        QdiscState(cell_size_bytes=48),
        QdiscState(packet_overhead_bytes=1),
        TimedStates(times_in_ns((0, 5)), (QdiscState(latency_ns=9), QdiscState(jitter_ns=3))),
        TimedStates(times_in_ns((0, 5)), (QdiscState(jitter_ns=2, delay_table=(1, 2)), QdiscState(jitter_ns=3))),
    ]
    table = StateTable(links)
    assert sorted(table.by_model) == [2, 3, 4, 5, 6, 7, 8, 10]
    assert sorted(table.timed) == [9]
    assert len(table) == len(links)


def test_links_that_share_a_law_share_a_table() -> None:
    profiles = [LinkProfile(delay_s=0.2, jitter_s=jitter_s) for jitter_s in (0.01, 0.02, 0.03)]
    assert StateTable.of_links(profiles).entries.size == 1 + 16384


def test_a_queue_that_could_be_full_is_refused_and_modelled_where_asked_for() -> None:
    state = QdiscState(latency_ns=500 * MS, limit_packets=300)
    one, zero = np.array([0]), np.zeros(1, dtype=np.uint64)
    links = EpisodeLinks(StateTable([state]), 2)
    links.restart(np.arange(2), np.zeros(2, dtype=np.int64), np.zeros(2, dtype=np.uint64))
    with pytest.raises(ProfileError, match=r"link 1: \d+ packets may be in flight") as caught:
        for packet in range(1000):
            links.send(np.array([packet * MS]), part=slice(1, 2))
    assert "below 256 packets" in caught.value.hint
    assert StateTable([state.replace(limit_packets=255)]).by_model  # what the hint says
    assert packet <= 300  # before it could have been full
    modelled = EpisodeLinks(StateTable([state], packet_by_packet=True), 1)
    modelled.restart(one, one * 0, zero)
    arrive = [int(modelled.send(np.array([packet * MS]))[0]) for packet in range(600)]
    assert [packet for packet, at in enumerate(arrive) if at == NEVER] == list(range(300, 500))


@pytest.mark.parametrize("rate", [0, 12_500_000_000])
def test_a_queue_that_is_far_from_full_is_never_refused(rate: int) -> None:
    state = QdiscState(latency_ns=100 * MS, jitter_ns=50 * MS, limit_packets=300, rate_bytes_per_s=rate)
    links = EpisodeLinks(StateTable([state]), 3)
    links.restart(np.arange(3), np.zeros(3, dtype=np.int64), link_seeds(1, "a", "forward", range(3)))
    model = LinkModel(state.replace(seed=link_seed(1, "a", "forward", 2)))
    for packet in range(3000):
        # One lane each time, one now and then, one seldom: looks meet those that are sending.
        who = np.array([True, packet % 5 == 0, packet % 97 == 0])
        now = packet * 5 * MS
        arrive = links.send(np.full(3, now), who, 100)
        if who[2]:
            fate = model.enqueue(now, 100)
            assert arrive[2] == fate.copies[0].leave_ns


def test_marks_of_a_watch_move_once_all_before_them_have_left() -> None:
    watch = LimitWatch(1, 80)
    watch.begin_anew(np.array([0]))
    who, link = np.array([True]), np.array([0])
    for packet in range(200):
        if watch.looks:
            watch.look(link, np.array([packet]), np.array([packet + 20]), np.array([80]))
        watch.count(who)
    with pytest.raises(ProfileError, match="packets may be in flight"):
        for packet in range(200, 400):
            if watch.looks:
                watch.look(link, np.array([packet]), np.array([packet + 120]), np.array([80]))
            watch.count(who)


def test_what_was_in_flight_in_an_ended_episode_is_not_in_the_next() -> None:
    watch, who, link, most = LimitWatch(1, 304), np.array([True]), np.array([0]), 150

    def play(packets: int) -> None:
        watch.begin_anew(link)
        for packet in range(packets):
            if watch.looks:  # nothing leaves within the episode
                watch.look(link, np.array([packet]), np.array([10**6]), np.array([304]))
            watch.count(who)

    for _ in range(10):
        play(most)
    with pytest.raises(ProfileError, match="packets may be in flight"):
        play(2 * most)


def test_what_is_no_table_and_no_lanes_is_refused() -> None:
    with pytest.raises(ProfileError, match="links is empty"):
        StateTable([])
    with pytest.raises(ProfileError, match="lanes = 0"):
        EpisodeLinks(StateTable([QdiscState()]), 0)
    for starts_s, pass_s in (((), 1.0), ((1.0,), None), ((0.0, 0.0), None), ((0.0, 3.0), 3.0), ((0.0,), 1e-300)):
        with pytest.raises(ProfileError, match="starts_s"):
            StepTimes(starts_s, pass_s)
    with pytest.raises(ProfileError, match="2 starts of 1 states"):
        TimedStates(StepTimes((0.0, 1.0)), (QdiscState(),))


def test_steps_of_a_schedule_in_time() -> None:
    states = (QdiscState(), QdiscState(latency_ns=1))
    loop, once = TimedStates(times_in_ns((0, 30), 40), states), TimedStates(times_in_ns((0, 30)), states)
    assert [loop.step_at(at) for at in (0, 29, 30, 39, 40, 70, 79, 80)] == [0, 0, 1, 1, 2, 3, 3, 4]
    assert [once.step_at(at) for at in (0, 29, 30, 40, 1000)] == [0, 0, 1, 1, 1]
    assert [loop.start_ns(step) for step in range(5)] == [0, 30, 40, 70, 80]
    assert [once.start_ns(step) for step in range(3)] == [0, 30, NO_CHANGE_NS]


@given(st.integers(1, 4), st.sampled_from([1 / 60, 0.1, 1 / 3, 1e-6]), st.integers(0, 10**5), st.integers(-1, 1))
def test_a_step_of_a_loop_begins_where_it_holds(count: int, pass_s: float, step: int, beside_ns: int) -> None:
    times = StepTimes(tuple(index * pass_s / count for index in range(count)), pass_s)
    begins_ns = times.start_ns(step)
    assert begins_ns is not None
    found = times.step_at(begins_ns + beside_ns if step else 0)
    assert found == (step - 1 if beside_ns < 0 and step else step)


def test_passes_of_no_whole_nanoseconds_are_rounded_once() -> None:
    assert [StepTimes((0.0,), 1 / 60).start_ns(passes) for passes in (1, 3, 6)] == [16666667, 50000000, 100000000]
    assert StepTimes((0.0,), 1e10).start_ns(1) is None  # in three centuries
    assert StepTimes((0.0, 1e300)).step_at(2**62) == 0


@given(st.lists(st.one_of(seeds64, st.integers(0, 300)), min_size=1, max_size=20))
def test_words_of_many_seeds_are_those_of_each(seeds: list[int]) -> None:
    assert start_words_of(np.array(seeds, dtype=np.uint64)).tolist() == [list(start_words(seed)) for seed in seeds]


@given(seeds64, st.text(max_size=5), st.lists(st.integers(0, 2**63 - 1), max_size=5))
def test_seeds_of_many_steps_are_those_of_each(run: int, link: str, steps: list[int]) -> None:
    seeds = link_seeds(run, link, "back", steps)
    assert seeds.dtype == np.uint64
    assert seeds.tolist() == [link_seed(run, link, "back", step) for step in steps]


def test_seeds_of_steps_within_an_episode() -> None:
    # printf '[7,3]' | sha256sum | cut -c1-16
    assert step_seed(7, 0) == 7
    assert step_seed(7, 3) == 0x05747E5599433382
    assert len({step_seed(seed, step) for seed in (7, 8) for step in range(50)}) == 100
    for arguments, words in (((-1, 1), "episode_seed = -1"), ((0, -1), "step = -1")):
        with pytest.raises(ProfileError, match=words):
            step_seed(*arguments)
    with pytest.raises(ProfileError, match="step = -1"):
        link_seeds(0, "a", "forward", [-1])


def test_a_chain_drawn_ahead_moves_once_a_packet() -> None:
    state = QdiscState(loss_model=GilbertElliottState(p=U32 // 3, r=U32 // 3, h=0, k1=0))
    links = EpisodeLinks(StateTable([state]), 2)
    seeds = link_seeds(9, "a", "forward", range(2))
    links.restart(np.arange(2), np.zeros(2, dtype=np.int64), seeds)
    model = LinkModel(state.replace(seed=int(seeds[1])))
    for packet in range(100):
        links.send(np.zeros(2, dtype=np.int64), np.array([True, False]))  # the other lane prepares and prepares
        arrive = links.send(np.zeros(2, dtype=np.int64), np.array([False, packet % 2 == 0]))
        if packet % 2 == 0:
            assert (arrive[1] == NEVER) == model.enqueue(0, 0).lost
