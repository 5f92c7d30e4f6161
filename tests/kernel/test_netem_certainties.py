"""Fates that hang on no draw, so on no seed: what any kernel can be asked, one without seeds as well.

Each probability is 0 or 1 (a draw misses that once in 2^32). What is left is order: which state of a chain
decides, where a duplicate enters, who takes the last place in a queue. LinkModel says what is due;
``test_netem_agreement`` shows the rest, on kernels with seeds.
"""

from __future__ import annotations

import pytest
from duet_check import check, pace_s

from netlab.bench.netem_duet import NetemDuet
from netlab.bench.netem_rig import NetemRig
from netlab.traces.qdisc_state import U32_MAX, FourStateState, GilbertElliottState, QdiscState

MS = 1_000_000
ALWAYS = U32_MAX
SLOW = QdiscState(latency_ns=600 * MS, limit_packets=1000)
PACKETS = 30


def four(p13: int = 0, p31: int = 0, p32: int = 0, p14: int = 0, p23: int = 0) -> FourStateState:
    return FourStateState(p13=p13, p31=p31, p32=p32, p14=p14, p23=p23)


STATES = {
    "nothing": SLOW,
    "loss": SLOW.replace(loss=ALWAYS),
    "marks": SLOW.replace(loss=ALWAYS, ecn=True),
    "Gilbert-Elliott, by turns": SLOW.replace(loss_model=GilbertElliottState(p=ALWAYS, r=ALWAYS, h=0, k1=0)),
    "Gilbert-Elliott, bad for good": SLOW.replace(loss_model=GilbertElliottState(p=ALWAYS, r=0, h=0, k1=0)),
    "Gilbert-Elliott, lost while good": SLOW.replace(
        loss_model=GilbertElliottState(p=ALWAYS, r=ALWAYS, h=ALWAYS, k1=ALWAYS)
    ),
    "Gilbert-Elliott under duplicates": SLOW.replace(
        loss_model=GilbertElliottState(p=ALWAYS, r=ALWAYS, h=0, k1=0), duplicate=ALWAYS
    ),
    "4-state, bursts of one": SLOW.replace(loss_model=four(p13=ALWAYS, p31=ALWAYS)),
    "4-state, lost by itself": SLOW.replace(loss_model=four(p14=ALWAYS)),
    "4-state, a burst that comes through at times": SLOW.replace(
        loss_model=four(p13=ALWAYS, p32=ALWAYS, p23=ALWAYS)
    ),
    "4-state, lost for good": SLOW.replace(loss_model=four(p13=ALWAYS)),
    "duplicates": SLOW.replace(duplicate=ALWAYS),
    "duplicates, one of each two lost": SLOW.replace(duplicate=ALWAYS, loss=ALWAYS),
    "duplicates, marked": SLOW.replace(duplicate=ALWAYS, loss=ALWAYS, ecn=True),
    "duplicates, corrupted": SLOW.replace(duplicate=ALWAYS, corrupt=ALWAYS),
    "duplicates and every third first": SLOW.replace(duplicate=ALWAYS, gap=3, reorder=ALWAYS),
    "duplicates, room for an odd number": SLOW.replace(duplicate=ALWAYS, limit_packets=5),
    "duplicates, room for an even number": SLOW.replace(duplicate=ALWAYS, limit_packets=6),
    "duplicates, corrupted, room for an odd number": SLOW.replace(
        duplicate=ALWAYS, corrupt=ALWAYS, limit_packets=7
    ),
    "room for none": SLOW.replace(limit_packets=0),
    "room for some": SLOW.replace(limit_packets=11),
    "corrupted": SLOW.replace(corrupt=ALWAYS),
    "every third first": SLOW.replace(gap=3, reorder=ALWAYS),
    "every third first, room for some": SLOW.replace(gap=3, reorder=ALWAYS, limit_packets=11),
    "table of one entry": SLOW.replace(jitter_ns=20 * MS + 12_345, delay_table=(-7_777,)),
    "jitter over several times 8192": SLOW.replace(jitter_ns=81_919, delay_table=(32_767,)),
    "rate": SLOW.replace(rate_bytes_per_s=1_234_567, packet_overhead_bytes=-7),
    "rate in cells": SLOW.replace(rate_bytes_per_s=1_000_000, cell_size_bytes=48, cell_overhead_bytes=5),
    "rate and duplicates": SLOW.replace(rate_bytes_per_s=1_000_000, duplicate=ALWAYS),
    "rate and every third first": SLOW.replace(rate_bytes_per_s=1_000_000, gap=3, reorder=ALWAYS),
}


@pytest.mark.parametrize("name", STATES)
def test_what_no_draw_decides(fresh_rig: NetemRig, name: str) -> None:
    duet = NetemDuet(fresh_rig, STATES[name])
    for length_bytes, ect in ((100, True), (777, False)):
        duet.send(PACKETS // 2, period_s=pace_s(), length_bytes=length_bytes, ect=ect)
    check(duet.finish())


def test_a_chain_begins_anew_with_every_state(fresh_rig: NetemRig) -> None:
    """Three packets lead a chain of two states into the second; the change back into the first."""
    state = STATES["Gilbert-Elliott, by turns"]
    duet = NetemDuet(fresh_rig, state)
    for _ in range(3):
        duet.send(3, period_s=pace_s())
        duet.apply(state)
    check(duet.finish())
    assert [fate.lost for fate in duet.fates] == 3 * [False, True, False]
