"""What counts as a difference between the state asked for and the state shown."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from netem_states import netem_states

from netlab.namespaces.features import KernelFeatures
from netlab.namespaces.netem_compare import compare_netem
from netlab.traces.qdisc_state import GilbertElliottState, QdiscState, SlotState

EVERYTHING = KernelFeatures(
    release="test", netem=True, seed=True, nanoseconds=True, rate64=True, slots=True, loss_models=True,
    veth=True, redirect=True, tun=True, user_namespaces=True,
)  # fmt: skip


@settings(max_examples=100, deadline=None)
@given(netem_states())
def test_a_state_equals_itself_without_its_tables(state: QdiscState) -> None:
    assert compare_netem(state, state.replace(delay_table=None, slot_table=None), EVERYTHING) == []


CHANGES: dict[str, Any] = {
    "latency_ns": 1, "jitter_ns": 1, "delay_correlation": 1, "limit_packets": 1, "loss": 1,
    "loss_correlation": 1, "loss_model": GilbertElliottState(p=1, r=1, h=1, k1=1), "duplicate": 1,
    "duplicate_correlation": 1, "gap": 1, "reorder": 1, "reorder_correlation": 1, "corrupt": 1,
    "corrupt_correlation": 1, "rate_bytes_per_s": 1, "packet_overhead_bytes": 1, "cell_size_bytes": 1,
    "cell_overhead_bytes": 1, "ecn": True, "slot": SlotState(min_delay_ns=1), "seed": 1,
}  # fmt: skip


def test_the_list_of_changes_is_complete() -> None:
    assert set(CHANGES) | {"delay_table", "slot_table"} == set(QdiscState.__struct_fields__)


@pytest.mark.parametrize("field", CHANGES)
def test_each_field_is_compared_and_named(field: str) -> None:
    before = QdiscState(seed=0)
    after = before.replace(**{field: CHANGES[field]})
    for asked, read in ((before, after), (after, before)):
        (difference,) = compare_netem(asked, read)
        assert difference.startswith(f"{field}: asked ")


def test_a_seed_that_was_not_asked_for_is_no_difference() -> None:
    assert compare_netem(QdiscState(), QdiscState(seed=5)) == []


def test_a_seed_that_the_kernel_ignores_is_one_unless_it_is_known_to() -> None:
    asked, read = QdiscState(seed=5), QdiscState()
    assert compare_netem(asked, read) == ["seed: asked 5, the kernel shows None"]
    without = KernelFeatures(
        **{**{f: getattr(EVERYTHING, f) for f in EVERYTHING.__struct_fields__}, "seed": False}
    )
    assert compare_netem(asked, read, without) == []


@pytest.mark.parametrize(
    ("asked", "shown"),
    [
        (SlotState(), None),
        (SlotState(max_packets=3), None),
        (SlotState(dist_delay_ns=3), None),
        (SlotState(min_delay_ns=1, max_packets=2**31 - 1, max_bytes=2**31 - 1), SlotState(min_delay_ns=1)),
        (SlotState(dist_jitter_ns=2**40), SlotState(dist_jitter_ns=2**31 - 1)),
    ],
)
def test_slots_are_compared_as_the_kernel_shows_them(asked: SlotState, shown: SlotState | None) -> None:
    assert compare_netem(QdiscState(slot=asked), QdiscState(slot=shown)) == []
