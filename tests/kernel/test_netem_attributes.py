"""Every attribute of netem, alone, together and after one another, read back from a real kernel."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st
from netem_states import netem_states

from netlab.bench.netem_rig import INTERFACE, NetemRig, netem_rig
from netlab.errors import KernelError
from netlab.namespaces.features import kernel_features
from netlab.namespaces.kernel_objects import ROOT
from netlab.namespaces.netem_codec import encode_netem
from netlab.namespaces.netem_compare import compare_netem
from netlab.namespaces.netem_qdisc import DEFAULT_HANDLE
from netlab.traces.qdisc_state import FourStateState, GilbertElliottState, QdiscState, SlotState

U32 = 2**32 - 1


@pytest.fixture
def rig() -> Iterator[NetemRig]:
    with netem_rig(QdiscState()) as rig:
        yield rig


def shown_otherwise(asked: QdiscState, read: QdiscState) -> list[str]:
    """Return the fields that the kernel shows otherwise; a seed that it has no place for is none of them."""
    return compare_netem(asked, read, kernel_features())


ALONE: dict[str, dict[str, Any]] = {
    "defaults": {},
    "latency": {"latency_ns": 123_456_789},
    "latency beyond the old field": {"latency_ns": 2**40 + 1},
    "latency below a tick": {"latency_ns": 1},
    "jitter": {"latency_ns": 10**7, "jitter_ns": 1_234_567},
    "jitter, greatest": {"jitter_ns": 2**31 - 1},
    "delay correlation": {"jitter_ns": 10**6, "delay_correlation": 2**30},
    "delay table": {"jitter_ns": 10**6, "delay_table": (-8192, 0, 8192)},
    "delay table of one entry": {"jitter_ns": 10**6, "delay_table": (5,)},
    "delay table, longest": {"jitter_ns": 10**6, "delay_table": tuple(range(-8192, 8192))},
    "limit": {"limit_packets": 77},
    "limit 0": {"limit_packets": 0},
    "limit, greatest": {"limit_packets": U32},
    "loss": {"loss": 2**31},
    "loss, certain": {"loss": U32},
    "loss correlation": {"loss": 2**31, "loss_correlation": 2**30},
    "Gilbert-Elliott": {"loss_model": GilbertElliottState(p=1, r=2, h=3, k1=4)},
    "4-state": {"loss_model": FourStateState(p13=1, p31=2, p32=3, p14=4, p23=5)},
    "loss under a chain": {"loss": 9, "loss_model": GilbertElliottState(p=U32, r=U32, h=U32, k1=U32)},
    "duplicate": {"duplicate": 2**29},
    "duplicate correlation": {"duplicate": 2**29, "duplicate_correlation": 2**28},
    "reorder": {"gap": 5, "reorder": 2**30},
    "reorder correlation": {"gap": 5, "reorder": 2**30, "reorder_correlation": 2**29},
    "gap with reorder 0": {"gap": 5, "reorder": 0},
    "corrupt": {"corrupt": 2**27},
    "corrupt correlation": {"corrupt": 2**27, "corrupt_correlation": 2**26},
    "rate": {"rate_bytes_per_s": 125_000},
    "rate, greatest of 32 bits": {"rate_bytes_per_s": U32},
    "rate, least of 64 bits": {"rate_bytes_per_s": 2**32},
    "rate, greatest": {"rate_bytes_per_s": 2**64 - 1},
    "packet overhead": {"rate_bytes_per_s": 1000, "packet_overhead_bytes": 20},
    "packet overhead, negative": {"rate_bytes_per_s": 1000, "packet_overhead_bytes": -14},
    "cells": {"rate_bytes_per_s": 1000, "cell_size_bytes": 53, "cell_overhead_bytes": -5},
    "cell overhead without cells": {"rate_bytes_per_s": 1000, "cell_overhead_bytes": 5},
    "ecn": {"loss": 2**30, "ecn": True},
    "slots": {"slot": SlotState(min_delay_ns=10, max_delay_ns=20, max_packets=3, max_bytes=4000)},
    "slots without bounds": {"slot": SlotState(min_delay_ns=10, max_delay_ns=10)},
    "slot table": {"slot": SlotState(dist_delay_ns=10**6, dist_jitter_ns=10**5), "slot_table": (-8192, 8192)},
    "seed": {"seed": 0x0123456789ABCDEF},
    "seed 0": {"seed": 0},
    "seed, greatest": {"seed": 2**64 - 1},
}


@pytest.mark.parametrize("name", ALONE)
def test_each_attribute_alone(rig: NetemRig, name: str) -> None:
    state = QdiscState(**ALONE[name])
    rig.qdisc.apply(state)
    read = rig.qdisc.read()
    assert shown_otherwise(state, read) == []
    assert (read.seed is not None) == kernel_features().seed
    rig.qdisc.apply_fast(state.replace(seed=1))
    rig.qdisc.verify()


@pytest.mark.parametrize("name", ALONE)
def test_added_in_each_state(name: str) -> None:
    with netem_rig() as rig:
        rig.qdisc.add(QdiscState(**ALONE[name]))


def test_each_attribute_after_each_other() -> None:
    """Every ordered pair, on one qdisc: nothing of the first is left in the second."""
    pairs = 0
    with netem_rig(QdiscState()) as rig:
        for first, second in itertools.permutations(ALONE.values(), 2):
            rig.qdisc.apply_fast(QdiscState(**first))
            rig.qdisc.apply(QdiscState(**second))
            pairs += 1
    assert pairs == len(ALONE) * (len(ALONE) - 1)


FULL = QdiscState(
    latency_ns=10**7, jitter_ns=10**6, delay_correlation=1, delay_table=(1, 2), limit_packets=5, loss=6,
    loss_correlation=7, loss_model=FourStateState(p13=1, p31=2, p32=3, p14=4, p23=5), duplicate=8,
    duplicate_correlation=9, gap=10, reorder=11, reorder_correlation=12, corrupt=13, corrupt_correlation=14,
    rate_bytes_per_s=2**33, packet_overhead_bytes=-15, cell_size_bytes=16, cell_overhead_bytes=-17, ecn=True,
    slot=SlotState(min_delay_ns=1, max_delay_ns=2, max_packets=3, max_bytes=4, dist_delay_ns=5,
                   dist_jitter_ns=6),
    slot_table=(3, 4), seed=18,
)  # fmt: skip


def test_everything_at_once_then_nothing_leaves_no_trace(rig: NetemRig) -> None:
    rig.qdisc.apply(QdiscState(seed=1))
    before = rig.qdisc.counters().options
    rig.qdisc.apply(FULL)
    assert shown_otherwise(FULL, rig.qdisc.read()) == []
    rig.qdisc.apply(QdiscState(seed=1))
    assert rig.qdisc.counters().options == before


def test_a_field_left_out_of_a_message_would_have_stayed(rig: NetemRig) -> None:
    """The reason for full-state changes: the same change without its zeros leaves what was there."""
    rig.qdisc.apply(FULL)
    qopt_alone = encode_netem(QdiscState())[:24]
    rig.route.qdisc_change(INTERFACE, DEFAULT_HANDLE, ROOT, "netem", qopt_alone)
    read = rig.qdisc.read()
    for field in ("delay_correlation", "loss_correlation", "reorder", "corrupt", "rate_bytes_per_s", "ecn",
                  "slot", "seed"):  # fmt: skip
        if field != "seed" or kernel_features().seed:
            assert getattr(read, field) == getattr(FULL, field), field
    for field in ("latency_ns", "jitter_ns", "limit_packets", "loss", "loss_model", "duplicate", "gap"):
        assert getattr(read, field) == getattr(QdiscState(), field), field


@seed(20_261)
@settings(
    max_examples=300, deadline=None, database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)  # fmt: skip
@given(first=netem_states(), second=netem_states(), ways=st.tuples(st.booleans(), st.booleans()))
def test_random_states_after_one_another(
    rig: NetemRig, first: QdiscState, second: QdiscState, ways: tuple[bool, bool]
) -> None:
    for state, fast in zip((first, second), ways, strict=True):
        if fast:
            rig.qdisc.apply_fast(state)
            rig.qdisc.verify()
        else:
            rig.qdisc.apply(state)
        sent = rig.qdisc.asked
        assert sent is not None
        assert shown_otherwise(sent, rig.qdisc.read()) == []


@pytest.mark.parametrize(
    ("state", "words"),
    [
        (QdiscState(latency_ns=-1), "negative latency"),
        (QdiscState(slot=SlotState(min_delay_ns=2, max_delay_ns=1)), "slot min delay greater than max delay"),
        (QdiscState(slot=SlotState(min_delay_ns=-2)), "negative slot delay"),
        (QdiscState(slot=SlotState(min_delay_ns=1, max_delay_ns=1, max_packets=-1)), "negative slot limit"),
    ],
)
def test_the_kernels_own_words_reach_the_error(rig: NetemRig, state: QdiscState, words: str) -> None:
    """Newer kernels refuse these in words; older ones take them, and then they must read back."""
    before = QdiscState(latency_ns=5, seed=1)
    for apply in (rig.qdisc.apply, rig.qdisc.apply_fast):
        rig.qdisc.apply(before)
        try:
            apply(state)
        except KernelError as error:
            assert words in str(error)
            assert shown_otherwise(before, rig.qdisc.read()) == [], "a refused change changes nothing"
            rig.qdisc.verify()
