"""The vectorised link models against the scalar one, bit for bit."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from link_recordings import RECORDINGS, Recording
from modelled_states import dialects, modelled_states, plain_states, steps

from netlab.errors import ProfileError
from netlab.traces.model.dialect import Dialect
from netlab.traces.model.link_model import LinkModel
from netlab.traces.model.link_models import LinkModels
from netlab.traces.model.qdisc_change import Correlations, Likelihood, QdiscChange
from netlab.traces.presets import PRESETS
from netlab.traces.qdisc_state import QdiscState
from netlab.traces.seed import link_seed

MS = 1_000_000
U32 = 2**32 - 1


def wifi(links: int, *, ordered: bool) -> list[QdiscState]:
    profile = PRESETS["wifi-normal"].forward.replace(ordered=ordered)
    return [profile.to_qdisc_state(link_seed(1, f"link{link}", "forward", 0)) for link in range(links)]


@settings(max_examples=150)
@given(st.data(), st.lists(modelled_states, min_size=1, max_size=4), dialects, st.integers(0, U32))
def test_every_packet_fares_as_in_a_model_of_its_own(
    data: st.DataObject, states: list[QdiscState], dialect: Dialect, unseeded: int
) -> None:
    links = len(states)
    alone = [LinkModel(state, dialect, unseeded_seed=unseeded, unseeded_last=unseeded) for state in states]
    together = LinkModels(states, dialect, unseeded_seed=unseeded, unseeded_last=unseeded)
    now_ns = 0
    for step in data.draw(st.lists(steps(links), min_size=1, max_size=25)):
        copy_now_ns = now_ns + step.wait_ns
        now_ns = copy_now_ns + step.clock_moves_ns
        fates = together.enqueue(
            now_ns,
            step.length_bytes,
            active=None if all(step.active) else np.array(step.active),
            ect=np.array(step.ect),
            copy_now_ns=copy_now_ns,
        )
        for link in range(links):
            if not step.active[link]:
                assert not fates.fate_at(link).copies and not fates.lost[link] and not fates.over_limit[link]
                continue
            fate = alone[link].enqueue(now_ns, step.length_bytes, ect=step.ect[link], copy_now_ns=copy_now_ns)
            assert fates.fate_at(link) == fate
            assert fates.lost[link] == fate.lost
        if data.draw(st.integers(0, 7)) == 0:
            link, state = data.draw(st.integers(0, links - 1)), data.draw(modelled_states)
            together.apply(link, state)
            alone[link].apply(state)
    assert together.states == tuple(model.state for model in alone)
    backlogs = together.backlog_packets(now_ns)
    assert backlogs.tolist() == [model.backlog_packets(now_ns) for model in alone]


@settings(max_examples=60)
@given(modelled_states, st.lists(st.builds(
    QdiscChange,
    latency_ns=st.integers(0, 10 * MS),
    jitter_ns=st.integers(0, 10 * MS),
    loss=st.integers(0, U32 // 2),
    gap=st.integers(0, 3),
    correlations=st.builds(Correlations, delay=st.integers(0, U32), loss=st.integers(0, U32)),
    reorder=st.builds(Likelihood, probability=st.integers(0, U32), correlation=st.integers(0, U32)),
) | st.builds(QdiscChange, gap=st.integers(0, 3), jitter_ns=st.integers(0, 10 * MS)), max_size=4))  # fmt: skip
def test_messages_that_carry_little_do_the_same_to_both(state: QdiscState, changes: list[QdiscChange]) -> None:
    alone, together = LinkModel(state), LinkModels([state, state])
    for turn, change in enumerate([QdiscChange.in_full(state), *changes]):
        alone.change(change)
        together.change(1, change)
        for packet in range(12):
            now_ns = (12 * turn + packet) * MS
            assert together.enqueue(now_ns, 100).fate_at(1) == alone.enqueue(now_ns, 100)


@settings(max_examples=100)
@given(
    st.one_of(st.lists(states, min_size=1, max_size=3) for states in (modelled_states, plain_states)),
    st.lists(st.integers(0, 30 * MS), min_size=1, max_size=120),
    st.booleans(),
)
def test_a_batch_is_its_packets_one_after_another(
    states: list[QdiscState], waits_ns: list[int], ect: bool
) -> None:
    now_ns = np.cumsum(waits_ns)
    alone, together = [LinkModel(state) for state in states], LinkModels(states)
    half = len(now_ns) // 2
    for part in (now_ns[:half], now_ns[half:]):
        if not len(part):
            continue
        fates = together.enqueue_batch(part, 174, ect=ect)
        for packet, now in enumerate(part.tolist()):
            for link, model in enumerate(alone):
                assert fates.fate_at(packet, link) == model.enqueue(now, 174, ect=ect)


@pytest.mark.parametrize("ordered", [False, True])
def test_wifi_in_a_batch_is_wifi_packet_by_packet(ordered: bool) -> None:
    states = wifi(7, ordered=ordered)
    states[3] = states[3].replace(loss=0)
    clock = np.arange(400)[:, np.newaxis] * 5 * MS + np.arange(7) * 1000
    fates = LinkModels(states).enqueue_batch(clock, 200)
    for link, state in enumerate(states):
        model = LinkModel(state)
        for packet in range(400):
            assert fates.fate_at(packet, link) == model.enqueue(int(clock[packet, link]), 200)
    assert 0 < fates.lost.sum() < 200


@pytest.mark.parametrize("name", RECORDINGS)
def test_every_recorded_packet_fares_as_on_the_kernel(name: str) -> None:
    recording = Recording(name)
    models = LinkModels([QdiscState(latency_ns=5), recording.state])
    for number, sent in enumerate(recording.packets()):
        fates = models.enqueue(sent.now_ns, sent.length_bytes, ect=sent.ect, copy_now_ns=sent.copy_now_ns)
        assert not recording.difference(sent, fates.fate_at(1)), number


def test_each_link_has_its_own_clock_and_lengths() -> None:
    state = QdiscState(rate_bytes_per_s=1000, latency_ns=MS)
    fates = LinkModels([state, state]).enqueue(np.array([0, 50 * MS]), np.array([1, 3]))
    assert fates.original.leave_ns.tolist() == [2 * MS, 54 * MS]


def test_full_queues_look_at_who_has_left() -> None:
    states = [QdiscState(latency_ns=50 * MS, limit_packets=limit) for limit in (10, 40, 1000)]
    alone, together = [LinkModel(state) for state in states], LinkModels(states)
    for number in range(1500):
        fates = together.enqueue(number * MS, 60)
        for link, model in enumerate(alone):
            assert fates.fate_at(link) == model.enqueue(number * MS, 60)
    assert together.backlog_packets(1500 * MS).tolist() == [9, 39, 49]


def test_a_batch_takes_room_as_its_packets_do() -> None:
    models = LinkModels([QdiscState(latency_ns=50 * MS, limit_packets=limit) for limit in (10, 40)])
    assert not models.enqueue_batch(np.arange(6) * MS, 60).over_limit.any()
    assert models.backlog_packets(6 * MS).tolist() == [6, 6]
    turned_away = [models.enqueue(6 * MS, 60).over_limit.tolist() for _ in range(6)]
    assert turned_away == [[False, False]] * 4 + [[True, False]] * 2
    second = models.enqueue_batch(np.array([7, 51]) * MS, 60)  # two of the first have left by the last
    assert second.over_limit.tolist() == [[True, False], [False, False]]
    assert models.backlog_packets(51 * MS).tolist() == [9, 12]


def test_links_share_a_table_without_sharing_draws() -> None:
    states = wifi(3, ordered=False)
    fates = LinkModels(states).enqueue_batch(np.arange(50) * 20 * MS, 200)
    delays = fates.original.delay_ns
    assert not (delays[:, 0] == delays[:, 1]).all()
    assert (delays > 0).all()


def test_what_is_refused_changes_nothing() -> None:
    models = LinkModels([QdiscState(latency_ns=MS)] * 2)
    for link in (-1, 2):
        with pytest.raises(ProfileError, match=f"link = {link}"):
            models.apply(link, QdiscState())
    with pytest.raises(ProfileError, match="latency_ns"):
        models.apply(0, QdiscState(latency_ns=2**62))
    assert models.states == (QdiscState(latency_ns=MS, seed=0),) * 2
    with pytest.raises(ProfileError, match="states is empty"):
        LinkModels([])
    with pytest.raises(ProfileError, match="now_ns is empty"):
        models.enqueue_batch(np.zeros(0, dtype=np.int64), 60)


def test_fates_stay_as_they_were_returned() -> None:
    models = LinkModels([QdiscState(latency_ns=5 * MS)] * 2)
    active = np.array([True, False])
    fates = models.enqueue(0, 60, active=active)
    models.apply(0, QdiscState(latency_ns=9 * MS))
    active[:] = [False, True]
    models.enqueue(MS, 60, active=active)
    assert fates.original.delay_ns.tolist() == [5 * MS, 5 * MS]
    assert fates.entered.tolist() == fates.original.queued.tolist() == [True, False]
    assert fates.lost.tolist() == [False, False]


def test_columns_that_are_shared_refuse_to_be_written() -> None:
    models = LinkModels([QdiscState(latency_ns=5 * MS)] * 2)
    fates = models.enqueue(0, 60)
    for column in (fates.entered, fates.over_limit, fates.original.marked, fates.original.delay_ns):
        with pytest.raises(ValueError, match="read-only"):
            column[0] = 1
    fates.original.leave_ns[:] = 0  # not shared: the backlog has its own
    assert models.backlog_packets(MS).tolist() == [1, 1]


@settings(max_examples=80)
@given(
    st.data(),
    st.lists(modelled_states, min_size=1, max_size=3),
    st.booleans(),
    st.lists(modelled_states, min_size=1, max_size=5),
    dialects,
)
def test_a_change_of_all_links_is_one_of_each(
    data: st.DataObject, firsts: list[QdiscState], alike: bool, states: list[QdiscState], dialect: Dialect
) -> None:
    """Bit for bit, whether they were alike before or not, with changes of one link in between."""
    if alike:
        firsts = [firsts[0].replace(seed=seed) for seed in range(1, 4)]
    together, each = (LinkModels(firsts, dialect, unseeded_seed=5, unseeded_last=9) for _ in range(2))
    now_ns = 0
    for state in states:
        change = QdiscChange.in_full(state if data.draw(st.booleans()) else state.replace(seed=None))
        together.change_all(change)
        for link in range(len(firsts)):
            each.change(link, change)
        if data.draw(st.integers(0, 3)) == 0:
            link, other = data.draw(st.integers(0, len(firsts) - 1)), data.draw(modelled_states)
            together.apply(link, other)
            each.apply(link, other)
        assert together.states == each.states
        for _ in range(6):
            now_ns += data.draw(st.integers(0, 5 * MS))
            one, other_fates = together.enqueue(now_ns, 300), each.enqueue(now_ns, 300)
            for link in range(len(firsts)):
                assert one.fate_at(link) == other_fates.fate_at(link)


def test_a_change_of_all_links_that_one_cannot_have_changes_none() -> None:
    models = LinkModels(wifi(3, ordered=True))
    before = models.states
    with pytest.raises(ProfileError, match="latency_ns"):
        models.change_all(QdiscChange(latency_ns=2**62))
    assert models.states == before
