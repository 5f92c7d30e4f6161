"""LinkProfile: what it compiles to, what it refuses and why, what it warns about."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from link_strategies import profiles, refused

from netlab.namespaces.netem_codec import decode_netem, encode_netem
from netlab.namespaces.netem_compare import compare_netem
from netlab.traces.loss import FourState, GilbertElliott
from netlab.traces.profile import LinkProfile
from netlab.traces.qdisc_state import U32_MAX, QdiscState, SlotState
from netlab.traces.slot import Slot

GBIT_100 = 12_500_000_000  # bytes a second


def test_a_clean_ordered_link_is_a_queue_through_a_huge_rate():
    assert LinkProfile().to_qdisc_state(seed=None) == QdiscState(limit_packets=1000, rate_bytes_per_s=GBIT_100)


def test_an_unordered_link_has_no_rate():
    assert LinkProfile(delay_s=0.03, ordered=False).to_qdisc_state(None).rate_bytes_per_s == 0


def test_every_impairment_reaches_the_kernels_units():
    profile = LinkProfile(
        delay_s=0.020,
        jitter_s=0.005,
        law="uniform",
        loss=0.5,
        duplicate_ratio=0.25,
        corrupt_ratio=1.0,
        reorder_ratio=0.125,
        reorder_gap=5,
        rate_bps=10e6,
        overhead_bytes=-4,
        cell_bytes=48,
        cell_overhead_bytes=5,
        limit_packets=77,
        slot=Slot(delay_s=0.010, jitter_s=0.002, law="uniform", max_packets=3, max_bytes=4000),
        ecn=True,
    )
    assert profile.to_qdisc_state(seed=42) == QdiscState(
        latency_ns=20_000_000,
        jitter_ns=5_000_000,
        limit_packets=77,
        loss=round(0.5 * U32_MAX),
        duplicate=round(0.25 * U32_MAX),
        gap=5,
        reorder=round(0.125 * U32_MAX),
        corrupt=U32_MAX,
        rate_bytes_per_s=1_250_000,
        packet_overhead_bytes=-4,
        cell_size_bytes=48,
        cell_overhead_bytes=5,
        ecn=True,
        slot=SlotState(min_delay_ns=8_000_000, max_delay_ns=12_000_000, max_packets=3, max_bytes=4000),
        seed=42,
    )


def test_a_loss_chain_takes_the_place_of_the_ratio():
    chain = GilbertElliott(p=0.01, r=0.2)
    state = LinkProfile(loss=chain).to_qdisc_state(None)
    assert (state.loss, state.loss_model) == (0, chain.to_kernel())
    four = FourState(p13=0.1, p31=0.3)
    assert LinkProfile(loss=four).to_qdisc_state(None).loss_model == four.to_kernel()


def test_reorder_considers_every_packet_unless_a_gap_is_given():
    assert LinkProfile(delay_s=0.01, reorder_ratio=0.5).to_qdisc_state(None).gap == 1


def test_within_a_schedule_no_uniform_law_is_left_to_the_kernel():
    # A table of an earlier step stays in the qdisc: nothing removes it.
    profile = LinkProfile(
        delay_s=0.02, jitter_s=0.01, law="uniform", slot=Slot(delay_s=0.01, jitter_s=0.002, law="uniform")
    )
    alone, within = profile.to_qdisc_state(1), profile.to_qdisc_state(1, within_schedule=True)
    assert alone.delay_table is None and alone.slot_table is None
    assert len(within.delay_table) == 4096 and len(within.slot_table) == 4096
    assert (within.slot.min_delay_ns, within.slot.max_delay_ns) == (0, 0)
    assert within.slot.dist_delay_ns == 10_000_000


def test_constant_slots_within_a_schedule_are_a_table_of_one_zero():
    state = LinkProfile(slot=Slot(delay_s=0.01)).to_qdisc_state(None, within_schedule=True)
    assert (state.slot_table, state.slot.dist_delay_ns, state.slot.dist_jitter_ns) == ((0,), 10_000_000, 1)


def test_both_tables_fit_one_netlink_attribute():
    table = tuple(0.01 + i * 1e-6 for i in range(16384))
    slot = Slot(law="table", delay_table_s=table[:8192])
    state = LinkProfile(law="table", delay_table_s=table, slot=slot).to_qdisc_state(None)
    assert 2 * (len(state.delay_table) + len(state.slot_table)) < 65535 - 1000
    assert "8192" in str(refused(Slot, law="table", delay_table_s=table))


@pytest.mark.parametrize(
    ("profile", "limit"),
    [
        (LinkProfile(), 1000),
        # 10 Mbit/s x (100 + 4 x 10 ms) = 175 kB = 117 full packets
        (LinkProfile(delay_s=0.1, jitter_s=0.01, rate_bps=10e6), 117 + 1000),
        # without a rate 10 Gbit/s are reckoned with
        (LinkProfile(delay_s=0.03), 25_000 + 1000),
        (LinkProfile(law="table", delay_table_s=(0.01, 0.12), rate_bps=10e6), 100 + 1000),
        (LinkProfile(delay_s=3600.0, rate_bps=1e15), U32_MAX),
        (LinkProfile(delay_s=0.1, limit_packets=5), 5),
    ],
)
def test_the_limit_is_rate_times_delay_and_a_queue(profile, limit):
    assert profile.to_qdisc_state(None).limit_packets == limit


def test_normal_jitter_is_a_deviation_and_uniform_jitter_a_half_width():
    normal = LinkProfile(delay_s=0.1, jitter_s=0.01)
    uniform = LinkProfile(delay_s=0.1, jitter_s=0.01, law="uniform")
    assert normal.delay_sd_s == pytest.approx(0.01, rel=1e-6)
    assert uniform.delay_sd_s == pytest.approx(0.01 / math.sqrt(3), rel=1e-9)
    assert normal.delay_mean_s == pytest.approx(0.1, abs=1e-8)


def test_loss_ratio_mean():
    assert LinkProfile(loss=0.02).loss_ratio_mean == 0.02
    assert LinkProfile(loss=GilbertElliott.from_mean(0.1, 4.0)).loss_ratio_mean == pytest.approx(0.1)


def test_reordered_ratio_counts_the_gap():
    # Four packets pass, then each is reordered with 1/2: on average one in 4 + 2.
    assert LinkProfile(delay_s=0.01, reorder_ratio=0.5, reorder_gap=5).reordered_ratio == pytest.approx(1 / 6)
    assert LinkProfile(delay_s=0.01, reorder_ratio=0.25).reordered_ratio == pytest.approx(0.25)


@settings(deadline=None)
@given(profiles())
def test_every_profile_compiles_to_a_state_the_kernel_can_hold(profile):
    for within in (False, True):
        state = profile.to_qdisc_state(7, within_schedule=within)
        shown = state.replace(delay_table=None, slot_table=None)  # the kernel shows no tables
        assert compare_netem(shown, decode_netem(encode_netem(shown))) == []
        assert state.rate_bytes_per_s or not profile.ordered
        assert (state.delay_correlation, state.loss_correlation, state.reorder_correlation) == (0, 0, 0)
        assert bool(state.gap) == bool(state.reorder)
        assert state.jitter_ns or state.delay_table is None
    assert profile.delay_mean_s >= 0.0 and profile.delay_sd_s >= 0.0
    assert 0.0 <= profile.loss_ratio_mean <= 1.0
    assert profile == profile.replace() and hash(profile) == hash(profile.replace())


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"delay_s": -0.01}, "delay_s = -0.01: is negative"),
        ({"delay_s": "30ms"}, "delay_s = '30ms': must be a finite number"),
        ({"delay_s": True}, "delay_s = True"),
        ({"delay_s": float("nan")}, "delay_s = nan"),
        ({"delay_s": float("inf")}, "delay_s = inf"),
        ({"delay_s": 4000.0}, "delay_s = 4000.0: is longer than 3600 s"),
        ({"delay_s": 1e-10}, "delay_s = 1e-10: is shorter than a nanosecond"),
        ({"jitter_s": 0.01}, "jitter_s = 0.01 without a delay"),
        ({"delay_s": 0.1, "jitter_s": -0.01}, "jitter_s = -0.01"),
        ({"delay_s": 0.1, "jitter_s": 0.3, "law": "pareto"}, "jitter_s = 0.3 with law = 'pareto'"),
        ({"law": "gauss"}, "law = 'gauss': must be one of uniform, normal"),
        ({"law": "table"}, "0 entries"),
        ({"law": "table", "delay_table_s": (0.1, 0.2), "delay_s": 0.1}, "the table holds whole delays"),
        ({"law": "table", "delay_table_s": (0.2, 0.1)}, "delay_table_s[1] = 0.1 is below the entry before"),
        ({"law": "table", "delay_table_s": (-0.1, 0.1)}, "delay_table_s[0] = -0.1: is negative"),
        ({"law": "table", "delay_table_s": (0.1,) * 16385}, "16385 entries"),
        ({"delay_table_s": (0.1, 0.2)}, "only the law 'table' has a table"),
        ({"loss": 1.5}, "loss = 1.5: must be within 0 .. 1"),
        ({"loss": "2%"}, "loss = '2%'"),
        ({"duplicate_ratio": -0.1}, "duplicate_ratio = -0.1"),
        ({"corrupt_ratio": 2}, "corrupt_ratio = 2"),
        ({"reorder_ratio": 0.1}, "reorder_ratio = 0.1 without a delay"),
        ({"reorder_gap": 5, "delay_s": 0.1}, "reorder_gap = 5 without reorder"),
        ({"reorder_gap": -1}, "reorder_gap = -1"),
        ({"rate_bps": 0.0}, "rate_bps = 0.0"),
        ({"rate_bps": 1e6, "ordered": False}, "ordered = false with rate_bps = 1000000.0"),
        ({"overhead_bytes": 10}, "without a rate"),
        ({"rate_bps": 1e6, "cell_overhead_bytes": 5}, "without a cell size"),
        ({"rate_bps": 1e6, "cell_bytes": 5, "cell_overhead_bytes": -5}, "leaves nothing of a cell"),
        ({"limit_packets": 0}, "limit_packets = 0"),
        ({"limit_packets": 2**32}, "limit_packets = 4294967296"),
        ({"limit_packets": 10.5}, "limit_packets = 10.5: must be a whole number"),
        ({"ordered": 1}, "ordered = 1: must be true or false"),
        ({"ecn": "yes"}, "ecn = 'yes'"),
        ({"slot": 0.01}, "slot = 0.01: must be a Slot"),
    ],
)
def test_what_no_link_can_be_is_refused_by_name_and_value(fields, words):
    error = refused(LinkProfile, **fields)
    assert words in str(error)
    assert error.exit_code == 2


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({}, "slot.delay_s = 0"),
        ({"delay_s": 0.01, "max_packets": -1}, "slot.max_packets = -1"),
        ({"delay_s": -0.01}, "slot.delay_s = -0.01"),
        ({"delay_s": 0.01, "law": "even"}, "slot.law = 'even'"),
    ],
)
def test_what_no_slot_can_be_is_refused(fields, words):
    assert words in str(refused(Slot, **fields))


def test_lists_are_taken_for_tables():
    assert LinkProfile(law="table", delay_table_s=[0.1, 0.2]).delay_table_s == (0.1, 0.2)


def only_warning(profile: LinkProfile) -> str:
    (warning,) = profile.warnings()
    return warning


def test_a_plain_profile_warns_of_nothing():
    assert LinkProfile(delay_s=0.03, loss=0.02, rate_bps=1e7).warnings() == []


def test_clipping_is_warned_of_with_its_share_and_what_becomes_of_the_law():
    warning = only_warning(LinkProfile(delay_s=0.04, jitter_s=0.02, ordered=False))
    assert warning == "delay 40 ms +- 20 ms (normal): 2.28% below zero, clipped; leaves 40.17 ms +- 19.6 ms"


@pytest.mark.parametrize("law", ["normal", "uniform", "pareto", "paretonormal"])
def test_a_clipping_warning_is_one_short_line(law):
    link = LinkProfile(delay_s=0.04, jitter_s=0.1 if law.startswith("pareto") else 0.0666, law=law, ordered=False)
    assert len(only_warning(link)) < 100


def test_clipping_is_warned_of_from_half_a_percent_on():
    # A normal law's share below zero: 0.13 % at 3 deviations, 0.49 % at 2.583, 0.51 % at 2.569.
    for deviations, warned in ((3.0, False), (2.583, False), (2.569, True)):
        link = LinkProfile(delay_s=0.01 * deviations, jitter_s=0.01, ordered=False)
        assert link.delay_law.clipped_ratio > 0.0
        assert bool(link.warnings()) is warned


def test_a_delay_that_is_too_long_is_told_the_longest():
    error = refused(LinkProfile, delay_s=7200.0)
    assert "longer than 3600 s" in str(error)
    assert error.hint == "at most 1h"


def test_keeping_the_order_is_warned_of_where_it_costs():
    warning = only_warning(LinkProfile(delay_s=0.2, jitter_s=0.04))
    assert "packets keep their order" in warning and "at 50 packets/s" in warning
    assert LinkProfile(delay_s=0.2, jitter_s=0.004).warnings() == []


def test_a_chain_is_warned_of_because_it_counts_packets():
    warning = only_warning(LinkProfile(loss=GilbertElliott(p=0.01, r=0.1)))
    assert "a mean burst of 10 packets lasts 100 ms at 100 packets/s and 500 ms at 20" in warning


def test_a_small_limit_is_warned_of_with_what_it_lets_through():
    warning = only_warning(LinkProfile(delay_s=0.05, limit_packets=10))
    assert "limit 10 packets" in warning and "at most about 200 packets/s" in warning
    assert LinkProfile(delay_s=0.05, rate_bps=1e6, limit_packets=5).warnings() == []  # 4.2 packets


def test_ecn_without_loss_and_reordering_in_an_ordered_link_are_warned_of():
    assert "nothing is marked" in only_warning(LinkProfile(ecn=True))
    assert "overtake" in only_warning(LinkProfile(delay_s=0.05, reorder_ratio=0.1))
    assert LinkProfile(ecn=True, loss=0.1).warnings() == []
    assert LinkProfile(delay_s=0.05, reorder_ratio=0.1, ordered=False).warnings() == []
