"""What no seed fixes, within bounds that chance would pass less than once in a million runs."""

from __future__ import annotations

import itertools
import statistics

import pytest
from duet_check import check, pace_s

from netlab.bench.netem_duet import NetemDuet
from netlab.bench.netem_rig import FRAME_BYTES, NetemRig
from netlab.clock_name import in_virtual_time
from netlab.traces.model.correlated_draw import draws_to_forget
from netlab.traces.qdisc_state import U32_MAX, QdiscState, SlotState

MS = 1_000_000
SLOW = QdiscState(latency_ns=100 * MS, limit_packets=10_000)


def test_a_flipped_bit_is_anywhere(fresh_rig: NetemRig) -> None:
    """n = 3,200 frames, 16 groups of bits, 200 each expected: chi-square, 15 degrees, over 60 once in 10^6."""
    fresh_rig.begin(QdiscState(corrupt=U32_MAX, seed=1, limit_packets=10_000))
    fresh_rig.send(range(3_200))
    arrivals = fresh_rig.receive(3.0, count=3_200)
    flipped = [arrival.flipped_bit for arrival in arrivals if arrival.flipped_bit is not None]
    assert len(flipped) == 3_200
    groups = [0] * 16
    for bit in flipped:
        groups[bit * 16 // (8 * FRAME_BYTES)] += 1
    chi_square = sum((count - 200) ** 2 / 200 for count in groups)
    print(f"chi-square {chi_square:.1f} of 15 degrees, n = 3200")
    assert chi_square < 60


@pytest.mark.parametrize("percent", [10, 25, 50])
def test_correlated_losses_once_the_beginning_is_forgotten(seeded_rig: NetemRig, percent: int) -> None:
    """Exact from there on, but for a draw within a few units of the probability: once in 10^6 runs."""
    correlation = U32_MAX * percent // 100
    state = QdiscState(
        latency_ns=100 * MS,
        limit_packets=10_000,
        loss=U32_MAX // 3,
        loss_correlation=correlation,
        seed=99 + percent,
    )
    duet = NetemDuet(seeded_rig, state)
    duet.send(600, period_s=pace_s())
    compared = duet.finish(skip=draws_to_forget(correlation))
    assert 0 < compared.copies < compared.packets
    check(compared)


def test_correlated_duplicates_once_the_beginning_is_forgotten(seeded_rig: NetemRig) -> None:
    correlation = U32_MAX // 4
    state = QdiscState(
        latency_ns=100 * MS,
        limit_packets=10_000,
        duplicate=U32_MAX // 3,
        duplicate_correlation=correlation,
        seed=98,
    )
    duet = NetemDuet(seeded_rig, state)
    duet.send(600, period_s=pace_s())
    check(duet.finish(skip=draws_to_forget(correlation)))


def slots_ns(rig: NetemRig, slot: SlotState, packets: int) -> list[list[int]]:
    """Return the arrivals of each slot: those of one come together, those of two are half a spacing apart."""
    rig.begin(QdiscState(slot=slot, seed=1, limit_packets=10_000))
    rig.send(range(packets))
    slots: list[list[int]] = []
    for arrival in rig.receive(3.0, count=packets):
        if not slots or arrival.at_ns - slots[-1][-1] > slot.min_delay_ns // 2:
            slots.append([])
        slots[-1].append(arrival.at_ns)
    assert sum(len(slot) for slot in slots) == packets
    return slots


def spacings_ms(slots: list[list[int]]) -> list[float]:
    return [(after[0] - before[0]) / MS for before, after in itertools.pairwise(slots)]


@pytest.mark.virtual_time("slots run together where timers are late by more than their spacing")
def test_slots_are_spaced_uniformly_and_hold_so_many(fresh_rig: NetemRig) -> None:
    """n = 299 spacings, 10 .. 30 ms: mean 20, its standard error 0.33; five of them allowed."""
    slot = SlotState(min_delay_ns=10 * MS, max_delay_ns=30 * MS, max_packets=4)
    slots = slots_ns(fresh_rig, slot, 1_200)
    assert {len(slot) for slot in slots} == {4}
    found_ms = spacings_ms(slots)
    print(f"mean {statistics.fmean(found_ms):.2f} ms, {min(found_ms):.2f} .. {max(found_ms):.2f}, {len(found_ms)}")
    assert min(found_ms) >= 10
    assert max(found_ms) <= 30.01
    assert abs(statistics.fmean(found_ms) - 20) < 5 * 0.334


def test_slots_hold_so_many_and_keep_their_distance(fresh_rig: NetemRig) -> None:
    """By either clock: 20 slots of 5 packets, 40 ms apart; in real time 20 ms of that may be a late timer's."""
    slot = SlotState(min_delay_ns=40 * MS, max_delay_ns=40 * MS, max_packets=5)
    slots = slots_ns(fresh_rig, slot, 100)
    assert [len(slot) for slot in slots] == 20 * [5]
    assert not in_virtual_time() or {round(ms, 2) for ms in spacings_ms(slots)} == {40}
