"""The netem codec against recorded bytes, against itself, and against bytes that are none of netem's."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from netem_states import netem_states

from netlab.errors import KernelError, ProfileError
from netlab.namespaces.netem_codec import HOT, HOT_SEEDLESS, decode_netem, encode_netem, hot_values
from netlab.traces.qdisc_state import FourStateState, GilbertElliottState, QdiscState, SlotState

GOLDEN = json.loads((Path(__file__).parents[1] / "golden/netem/linux-7.2.7.json").read_text())
TINY = tuple(GOLDEN["tiny"])
RECORDED = {recording["tc"]: recording for recording in GOLDEN["recordings"]}
MS = 1_000_000


def share(percent: float) -> int:
    """What tc makes of a percentage: rounded on the scale of 2^32 - 1."""
    return round(percent / 100 * (2**32 - 1))


# What each command line means, worked out by hand from tc-netem(8) and the kernel's header.
GEMODEL = GilbertElliottState(p=share(1), r=share(10), h=2**32 - 1 - share(70), k1=share(0.1))
SLOT = SlotState(min_delay_ns=10 * MS, max_delay_ns=20 * MS, max_packets=5, max_bytes=3000)
MEANING: dict[str, dict[str, Any]] = {
    "delay 100ms": {"latency_ns": 100 * MS},
    "delay 100ms 20ms": {"latency_ns": 100 * MS, "jitter_ns": 20 * MS},
    "delay 100ms 20ms 25%": {
        "latency_ns": 100 * MS, "jitter_ns": 20 * MS, "delay_correlation": share(25),
    },
    "delay 100ms 20ms distribution tiny": {
        "latency_ns": 100 * MS, "jitter_ns": 20 * MS, "delay_table": TINY,
    },
    "delay 270s": {"latency_ns": 270_000 * MS},
    "limit 5000": {"limit_packets": 5000},
    "loss random 10%": {"loss": share(10)},
    "loss random 10% 25%": {"loss": share(10), "loss_correlation": share(25)},
    "loss 5% ecn": {"loss": share(5), "ecn": True},
    "loss state 1% 20% 30% 2% 5%": {
        "loss_model": FourStateState(p13=share(1), p31=share(20), p32=share(30), p23=share(2), p14=share(5)),
    },
    "loss state 1%": {
        "loss_model": FourStateState(p13=share(1), p31=share(99), p32=0, p23=share(100), p14=0),
    },
    "loss gemodel 1% 10% 70% 0.1%": {"loss_model": GEMODEL},
    "loss gemodel 1%": {"loss_model": GilbertElliottState(p=share(1), r=share(99), h=0, k1=0)},
    # This tc forgets the correlation unless delay or loss is correlated too.
    "duplicate 2% 5%": {"duplicate": share(2)},
    "corrupt 3% 10%": {"corrupt": share(3), "corrupt_correlation": share(10)},
    "delay 10ms reorder 25% 50% gap 5": {
        "latency_ns": 10 * MS, "gap": 5, "reorder": share(25), "reorder_correlation": share(50),
    },
    "delay 10ms reorder 25%": {"latency_ns": 10 * MS, "gap": 1, "reorder": share(25)},
    "rate 1mbit": {"rate_bytes_per_s": 125_000},
    "rate 1mbit 20 53 5": {
        "rate_bytes_per_s": 125_000, "packet_overhead_bytes": 20, "cell_size_bytes": 53,
        "cell_overhead_bytes": 5,
    },
    "rate 1mbit -14 53 -5": {
        "rate_bytes_per_s": 125_000, "packet_overhead_bytes": -14, "cell_size_bytes": 53,
        "cell_overhead_bytes": -5,
    },
    "rate 40gbit": {"rate_bytes_per_s": 5_000_000_000},
    "slot 10ms 20ms packets 5 bytes 3000": {"slot": SLOT},
    "slot 10ms": {"slot": SlotState(min_delay_ns=10 * MS, max_delay_ns=10 * MS)},
    "slot distribution tiny 10ms 2ms": {
        "slot": SlotState(dist_delay_ns=10 * MS, dist_jitter_ns=2 * MS), "slot_table": TINY,
    },
    "limit 777 delay 30ms 10ms 5% distribution tiny loss gemodel 1% 10% 70% 0.1% ecn duplicate 2% 5% "
    "corrupt 3% 10% reorder 25% 50% gap 5 rate 40gbit 20 53 5 slot 10ms 20ms packets 5 bytes 3000": {
        "limit_packets": 777, "latency_ns": 30 * MS, "jitter_ns": 10 * MS, "delay_correlation": share(5),
        "delay_table": TINY, "loss_model": GEMODEL, "ecn": True, "duplicate": share(2),
        "duplicate_correlation": share(5), "corrupt": share(3), "corrupt_correlation": share(10),
        "reorder": share(25), "reorder_correlation": share(50), "gap": 5,
        "rate_bytes_per_s": 5_000_000_000, "packet_overhead_bytes": 20, "cell_size_bytes": 53,
        "cell_overhead_bytes": 5, "slot": SLOT,
    },
}  # fmt: skip


def attributes(options: bytes) -> dict[int, bytes]:
    """Cut options into attributes, independently of the codec under test."""
    found, offset = {}, 24
    while offset < len(options):
        length, kind = struct.unpack_from("=HH", options, offset)
        found[kind & 0x3FFF] = options[offset + 4 : offset + length]
        offset += (length + 3) // 4 * 4
    return found


def test_every_recording_has_a_meaning() -> None:
    assert set(RECORDED) == set(MEANING)
    assert len(RECORDED) >= 20


@pytest.mark.parametrize("line", RECORDED)
def test_decodes_what_tc_sends(line: str) -> None:
    assert decode_netem(bytes.fromhex(RECORDED[line]["sent"])) == QdiscState(**MEANING[line])


@pytest.mark.parametrize("line", RECORDED)
def test_decodes_what_the_kernel_shows(line: str) -> None:
    shown = decode_netem(bytes.fromhex(RECORDED[line]["shown"]))
    assert shown.seed is not None
    expected = dict(MEANING[line], seed=shown.seed, delay_table=None, slot_table=None)
    assert shown == QdiscState(**expected)


@pytest.mark.parametrize("line", RECORDED)
def test_encodes_what_tc_sends_byte_for_byte_and_what_tc_leaves_out(line: str) -> None:
    recorded = bytes.fromhex(RECORDED[line]["sent"])
    ours = encode_netem(QdiscState(**MEANING[line]))
    assert ours[:24] == recorded[:24]
    sent = attributes(recorded)
    assert {kind: attributes(ours)[kind] for kind in sent} == sent
    assert set(attributes(ours)) >= {1, 3, 4, 6, 7, 8, 10, 11, 12}


def in_dump_form(state: QdiscState) -> QdiscState:
    return state.replace(slot=None) if state.slot == SlotState() else state


@settings(max_examples=400, deadline=None)
@given(netem_states())
def test_decode_inverts_encode(state: QdiscState) -> None:
    assert decode_netem(encode_netem(state)) == in_dump_form(state)


@settings(max_examples=100, deadline=None)
@given(netem_states())
def test_every_attribute_every_time(state: QdiscState) -> None:
    expected = {1, 3, 4, 6, 7, 8, 10, 11, 12}
    expected |= {5} if state.loss_model is not None else set()
    expected |= {2} if state.delay_table is not None else set()
    expected |= {13} if state.slot_table is not None else set()
    expected |= {14} if state.seed is not None else set()
    options = encode_netem(state)
    assert set(attributes(options)) == expected
    assert len(options) % 4 == 0


@settings(max_examples=100, deadline=None)
@given(netem_states())
def test_the_hot_part_comes_first_and_whole(state: QdiscState) -> None:
    layout = HOT_SEEDLESS if state.seed is None else HOT
    assert encode_netem(state)[: layout.size] == layout.pack(*hot_values(state))


def test_the_old_delay_fields_saturate_beyond_their_range() -> None:
    options = encode_netem(QdiscState(latency_ns=2**40, jitter_ns=2**31 - 1))
    latency, *_, jitter = struct.unpack_from("=6I", options)
    assert (latency, jitter) == (2**32 - 1, (2**31 - 1) // 64)


@settings(max_examples=1000, deadline=None)
@given(st.binary(max_size=300))
def test_any_bytes_decode_or_are_refused(data: bytes) -> None:
    decode_or_refuse(data)


@settings(max_examples=1000, deadline=None)
@given(netem_states(), st.data())
def test_mutated_options_decode_or_are_refused(state: QdiscState, data: st.DataObject) -> None:
    options = bytearray(encode_netem(state)[:600])
    for _ in range(data.draw(st.integers(1, 4))):
        options[data.draw(st.integers(0, len(options) - 1))] = data.draw(st.integers(0, 255))
    decode_or_refuse(bytes(options[: data.draw(st.integers(0, len(options)))]))


def decode_or_refuse(data: bytes) -> None:
    try:
        state = decode_netem(data)
    except KernelError as error:
        assert "malformed" in str(error)
        assert error.hint
    else:
        assert isinstance(state, QdiscState)


DEFAULT = encode_netem(QdiscState())


@pytest.mark.parametrize(
    ("data", "rule"),
    [
        (b"", "0 bytes, at least 24"),
        (bytes(23), "23 bytes, at least 24"),
        (bytes(70_000), "70000 bytes, at most"),
        (bytes(24) + b"\x08\x00", "no room for an attribute"),
        (bytes(24) + struct.pack("=HH", 3, 7), "claims 3 bytes"),
        (bytes(24) + struct.pack("=HH", 9, 7) + bytes(4), "claims 9 bytes of 8"),
        (bytes(24) + struct.pack("=HH", 6, 7) + bytes(4), "attribute 7 has 2 bytes, not 4"),
        (DEFAULT + struct.pack("=HHI", 8, 7, 1), "attribute 7 twice"),
        (bytes(24) + struct.pack("=HHq", 12, 11, 2**31), "jitter 2147483648 ns"),
        (bytes(24) + struct.pack("=HH", 4, 2), "a table of 0 bytes"),
        (bytes(24) + struct.pack("=HHHH", 7, 2, 1, 1), "a table of 3 bytes"),
        (bytes(24) + struct.pack("=HH", 4 + 32770, 2) + bytes(32772), "a table of 32770 bytes"),
        (bytes(24) + struct.pack("=HH", 4, 5), "loss model of kinds []"),
        (bytes(24) + struct.pack("=HHHHI", 12, 5, 8, 2, 1), "loss model of kinds [2]"),
    ],
)
def test_refuses_and_names_the_rule(data: bytes, rule: str) -> None:
    with pytest.raises(KernelError, match="malformed") as caught:
        decode_netem(data)
    assert rule in str(caught.value)


def test_passes_over_attributes_of_newer_kernels() -> None:
    options = encode_netem(QdiscState(latency_ns=5)) + struct.pack("=HHQ", 12, 15, 7)
    assert decode_netem(options) == QdiscState(latency_ns=5)


def test_refuses_tables_that_do_not_fit_together() -> None:
    full = tuple(range(-8192, 8192))
    encode_netem(QdiscState(delay_table=full, slot_table=full[:16_200]))
    with pytest.raises(ProfileError, match="32768 entries together") as caught:
        encode_netem(QdiscState(delay_table=full, slot_table=full))
    assert "smaller" in caught.value.hint
