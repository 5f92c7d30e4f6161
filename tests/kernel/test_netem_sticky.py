"""What a message leaves unsaid: the kernel and LinkModel keep the same things and begin the same ones anew."""

from __future__ import annotations

from duet_check import check, pace_s
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from modelled_links import modelled_links, partial_changes
from netem_message import encode_change

from netlab.bench.netem_duet import NetemDuet
from netlab.bench.netem_rig import NetemRig
from netlab.namespaces.netem_compare import compare_netem
from netlab.traces.model.qdisc_change import Likelihood, QdiscChange
from netlab.traces.qdisc_state import U32_MAX, GilbertElliottState, QdiscState

MS = 1_000_000
SLOW = QdiscState(latency_ns=300 * MS, limit_packets=1000, seed=0xFEED_BEEF)


def change(duet: NetemDuet, message: QdiscChange) -> None:
    duet.change(message, encode_change(message))


@settings(
    max_examples=60, deadline=None, database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)  # fmt: skip
@given(state=modelled_links, messages=st.lists(partial_changes(), min_size=1, max_size=3))
def test_any_messages_one_after_another(
    seeded_rig: NetemRig, state: QdiscState, messages: list[QdiscChange]
) -> None:
    duet = NetemDuet(seeded_rig, state)
    duet.send(10, period_s=pace_s())
    for message in messages:
        change(duet, message)
        assert compare_netem(duet.model_state, seeded_rig.qdisc.read()) == []
        duet.send(10, period_s=pace_s(), ect=True)
    check(duet.finish())


def test_a_table_stays(fresh_rig: NetemRig) -> None:
    """Every entry of the table is one jitter up: a uniform law would be anywhere within it."""
    duet = NetemDuet(fresh_rig, SLOW.replace(jitter_ns=50 * MS, delay_table=(8192,)))
    change(duet, QdiscChange(latency_ns=300 * MS, jitter_ns=60 * MS))
    duet.send(20, period_s=pace_s())
    check(duet.finish())
    assert {fate.copies[0].delay_ns for fate in duet.fates} == {360 * MS}


def test_the_generator_goes_on_where_it_is(seeded_rig: NetemRig) -> None:
    """60 packets at 50 %: two streams are alike by chance once in 10^18."""
    state = SLOW.replace(loss=U32_MAX // 2)
    duet = NetemDuet(seeded_rig, state)
    duet.send(60, period_s=pace_s())
    change(duet, QdiscChange(latency_ns=300 * MS, loss=U32_MAX // 2))
    duet.send(60, period_s=pace_s())
    duet.apply(state)
    duet.send(60, period_s=pace_s())
    check(duet.finish())
    lost = [fate.lost for fate in duet.fates]
    assert lost[:60] == lost[120:] != lost[60:120]


def test_a_chain_begins_anew_with_every_message(fresh_rig: NetemRig) -> None:
    """The first packet finds the chain good and turns it bad for good: it alone arrives."""
    chain = GilbertElliottState(p=U32_MAX, r=0, h=0, k1=0)
    duet = NetemDuet(fresh_rig, SLOW.replace(loss_model=chain))
    duet.send(5, period_s=pace_s())
    change(duet, QdiscChange(latency_ns=300 * MS, loss_model=chain))
    duet.send(5, period_s=pace_s())
    check(duet.finish())
    assert [not fate.lost for fate in duet.fates] == 2 * [True, False, False, False, False]


def test_the_count_to_the_next_gap_begins_anew_with_every_message(fresh_rig: NetemRig) -> None:
    duet = NetemDuet(fresh_rig, SLOW.replace(gap=3, reorder=U32_MAX))
    duet.send(2, period_s=pace_s())
    change(duet, QdiscChange(latency_ns=300 * MS, gap=3, reorder=Likelihood(probability=U32_MAX)))
    duet.send(4, period_s=pace_s())
    check(duet.finish())
    assert [fate.copies[0].head for fate in duet.fates] == [False, False, False, False, True, False]


def test_a_gap_alone_reorders_always(fresh_rig: NetemRig) -> None:
    duet = NetemDuet(fresh_rig, SLOW)
    change(duet, QdiscChange(latency_ns=300 * MS, gap=2))
    assert fresh_rig.qdisc.read().reorder == U32_MAX
    duet.send(6, period_s=pace_s())
    check(duet.finish())
    assert [arrival.number for arrival in duet.arrivals] == [1, 3, 5, 0, 2, 4]


def test_rate_and_corruption_stay_and_loss_goes(fresh_rig: NetemRig) -> None:
    rated = SLOW.replace(rate_bytes_per_s=1_000_000, corrupt=U32_MAX, loss=U32_MAX)
    duet = NetemDuet(fresh_rig, rated)
    change(duet, QdiscChange(latency_ns=100 * MS))
    duet.send(20)
    check(duet.finish())
    assert fresh_rig.qdisc.read().rate_bytes_per_s == 1_000_000
    assert all(arrival.corrupted for arrival in duet.arrivals)
    leaves_ns = [fate.copies[0].leave_ns for fate in duet.fates]
    assert leaves_ns[-1] - leaves_ns[0] >= 19 * 100_000, "and none of them has come earlier than that"
