"""One netlink message: what it replaces, what it leaves, and that a state sent in full is one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from netem_states import netem_states, tables, u32

from netlab.errors import ProfileError
from netlab.traces.model.qdisc_change import Correlations, Likelihood, QdiscChange, Rate
from netlab.traces.qdisc_state import GilbertElliottState, QdiscState, SlotState

REPLACED = {"latency_ns", "jitter_ns", "limit_packets", "loss", "duplicate", "gap", "loss_model"}
CHAIN = GilbertElliottState(p=1, r=2, h=3, k1=4)


def differing(one: QdiscState, other: QdiscState) -> set[str]:
    return {name for name in one.__struct_fields__ if getattr(one, name) != getattr(other, name)}


@given(netem_states(), netem_states())
def test_a_state_in_full_leaves_nothing_behind_but_what_cannot_be_sent(
    before: QdiscState, state: QdiscState
) -> None:
    after = QdiscChange.in_full(state).merge(before)
    stays = {name for name in ("delay_table", "slot_table", "seed") if getattr(state, name) is None}
    assert differing(after, state) <= stays
    assert all(getattr(after, name) == getattr(before, name) for name in stays)


@given(netem_states(), netem_states())
def test_the_same_message_twice_changes_nothing_more(before: QdiscState, state: QdiscState) -> None:
    once = QdiscChange.in_full(state).merge(before)
    assert QdiscChange.in_full(state).merge(once) == once


@given(netem_states())
def test_an_empty_message_replaces_the_fixed_part_and_nothing_else(before: QdiscState) -> None:
    after = QdiscChange().merge(before)
    assert differing(after, before) <= REPLACED
    assert all(getattr(after, name) == getattr(QdiscState(), name) for name in REPLACED)


@pytest.mark.parametrize(
    ("change", "fields"),
    [
        ({"correlations": Correlations(delay=1, loss=2, duplicate=3)},
         {"delay_correlation": 1, "loss_correlation": 2, "duplicate_correlation": 3}),
        ({"reorder": Likelihood(probability=4, correlation=5)}, {"reorder": 4, "reorder_correlation": 5}),
        ({"corrupt": Likelihood(probability=6, correlation=7)}, {"corrupt": 6, "corrupt_correlation": 7}),
        ({"rate": Rate(bytes_per_s=8, packet_overhead_bytes=-9, cell_size_bytes=10, cell_overhead_bytes=11)},
         {"rate_bytes_per_s": 8, "packet_overhead_bytes": -9, "cell_size_bytes": 10, "cell_overhead_bytes": 11}),
        ({"ecn": True}, {"ecn": True}),
        ({"slot": SlotState(min_delay_ns=5)}, {"slot": SlotState(min_delay_ns=5)}),
        ({"delay_table": (1, 2)}, {"delay_table": (1, 2)}),
        ({"slot_table": (3,)}, {"slot_table": (3,)}),
        ({"seed": 12}, {"seed": 12}),
    ],
)  # fmt: skip
def test_each_attribute_arrives_alone_and_sticks(change: dict[str, object], fields: dict[str, object]) -> None:
    after = QdiscChange(**change).merge(QdiscState())
    assert after == QdiscState(**fields)
    assert QdiscChange(latency_ns=5, loss_model=CHAIN).merge(after) == after.replace(
        latency_ns=5, loss_model=CHAIN
    )
    # Zero has to be sent as zero.
    assert QdiscChange.in_full(QdiscState()).merge(after) == QdiscState(
        delay_table=after.delay_table, slot_table=after.slot_table, seed=after.seed
    )


@given(u32, u32, u32)
def test_a_gap_without_a_likelihood_means_always(gap: int, reorder: int, correlation: int) -> None:
    before = QdiscState(gap=1, reorder=reorder, reorder_correlation=correlation)
    after = QdiscChange(gap=gap).merge(before)
    assert after.reorder == (2**32 - 1 if gap else reorder)
    assert after.reorder_correlation == correlation
    assert QdiscChange(gap=gap, reorder=Likelihood(probability=7)).merge(before).reorder == 7


@given(st.lists(st.tuples(tables, st.one_of(st.none(), st.integers(0, 2**64 - 1))), min_size=1, max_size=6))
def test_of_a_row_of_states_the_last_table_and_seed_that_were_sent_hold(sent: list[tuple[object, object]]) -> None:
    state = QdiscState()
    for table, seed in sent:
        state = QdiscChange.in_full(QdiscState(delay_table=table, seed=seed)).merge(state)
    assert state.delay_table == next((table for table, _ in reversed(sent) if table is not None), None)
    assert state.seed == next((seed for _, seed in reversed(sent) if seed is not None), None)


def test_what_no_qdisc_can_be_is_refused() -> None:
    with pytest.raises(ProfileError, match="seed"):
        QdiscChange(seed=2**64).merge(QdiscState())
    with pytest.raises(ProfileError, match="delay_table is empty"):
        QdiscChange(delay_table=()).merge(QdiscState())
