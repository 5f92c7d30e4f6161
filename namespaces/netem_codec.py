"""netem's options as bytes: encode a QdiscState in full, decode what the kernel shows, name what differs.

Pure functions; knows no socket. pyroute2 and tc both leave attributes out; here every attribute is sent
every time, because the kernel keeps what a change does not mention (docs/netem-codec.md).

::

    TCA_OPTIONS = struct tc_netem_qopt | LATENCY64 JITTER64 [PRNG_SEED] RATE64 RATE | the rest | tables
                  `------------------- hot: what a link changes often ------------'

Source: ``include/uapi/linux/pkt_sched.h``; behaviour measured on Linux 6.12 and 7.2.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

from netlab.errors import KernelError, ProfileError
from netlab.traces.qdisc_state import FourStateState, GilbertElliottState, QdiscState, SlotState

__all__ = [
    "HOT",
    "HOT_SEEDLESS",
    "MAX_OPTIONS_BYTES",
    "decode_netem",
    "encode_netem",
    "hot_values",
]

TCA_NETEM_CORR, TCA_NETEM_DELAY_DIST, TCA_NETEM_REORDER, TCA_NETEM_CORRUPT = 1, 2, 3, 4
TCA_NETEM_LOSS, TCA_NETEM_RATE, TCA_NETEM_ECN, TCA_NETEM_RATE64 = 5, 6, 7, 8
TCA_NETEM_LATENCY64, TCA_NETEM_JITTER64, TCA_NETEM_SLOT = 10, 11, 12
TCA_NETEM_SLOT_DIST, TCA_NETEM_PRNG_SEED = 13, 14
_NETEM_LOSS_GI, _NETEM_LOSS_GE = 1, 2
_ATTRIBUTE_TYPE_MASK = 0x3FFF
_NLA_F_NESTED = 0x8000

U32_MAX = 2**32 - 1
TICK_SHIFT = 6
"""The old latency and jitter fields count ticks of 64 ns."""
MAX_TABLE_ENTRIES = 16384
MAX_OPTIONS_BYTES = 65_528
"""An attribute's length is 16 bits, its own header and padding included."""

_QOPT = struct.Struct("=6I")
_CORR = struct.Struct("=3I")
_PAIR = struct.Struct("=2I")
_RATE = struct.Struct("=IiIi")
_SLOT = struct.Struct("=qqiiqq")
_GE = struct.Struct("=4I")
_GI = struct.Struct("=5I")
_U32 = struct.Struct("=I")
_S64 = struct.Struct("=q")
_U64 = struct.Struct("=Q")

_SIZES = {
    TCA_NETEM_CORR: _CORR.size,
    TCA_NETEM_REORDER: _PAIR.size,
    TCA_NETEM_CORRUPT: _PAIR.size,
    TCA_NETEM_RATE: _RATE.size,
    TCA_NETEM_ECN: _U32.size,
    TCA_NETEM_RATE64: _U64.size,
    TCA_NETEM_LATENCY64: _S64.size,
    TCA_NETEM_JITTER64: _S64.size,
    TCA_NETEM_SLOT: _SLOT.size,
    TCA_NETEM_PRNG_SEED: _U64.size,
}


def _head(kind: int, payload_bytes: int) -> int:
    """Return an attribute's header, length and type, as one u32 of this little-endian machine."""
    return int.from_bytes(struct.pack("=HH", 4 + payload_bytes, kind), "little")


H_LATENCY64 = _head(TCA_NETEM_LATENCY64, 8)
H_JITTER64 = _head(TCA_NETEM_JITTER64, 8)
H_SEED = _head(TCA_NETEM_PRNG_SEED, 8)
H_RATE64 = _head(TCA_NETEM_RATE64, 8)
H_RATE = _head(TCA_NETEM_RATE, _RATE.size)

HOT = struct.Struct("=6IIqIqIQIQII")
"""The start of the options: qopt, LATENCY64, JITTER64, PRNG_SEED, RATE64, and RATE up to its first field."""
HOT_SEEDLESS = struct.Struct("=6IIqIqIQII")
"""The same where the seed is left to the kernel."""


def encode_netem(state: QdiscState) -> bytes:
    """Return the value of TCA_OPTIONS that puts a netem qdisc in this state, whatever it was before.

    Two things no message can undo: a seed of None leaves the generator as it is, and a table of None leaves
    a table that is there (``NetemQdisc`` sends a linear one instead).

    Raises:
        ProfileError: The two tables together are longer than one attribute can be.
    """
    hot = HOT if state.seed is not None else HOT_SEEDLESS
    slot = state.slot or SlotState()
    parts = [
        hot.pack(*hot_values(state)),
        _RATE.pack(0, state.packet_overhead_bytes, state.cell_size_bytes, state.cell_overhead_bytes)[4:],
        _attribute(
            TCA_NETEM_CORR,
            _CORR.pack(state.delay_correlation, state.loss_correlation, state.duplicate_correlation),
        ),
        _attribute(TCA_NETEM_REORDER, _PAIR.pack(state.reorder, state.reorder_correlation)),
        _attribute(TCA_NETEM_CORRUPT, _PAIR.pack(state.corrupt, state.corrupt_correlation)),
        _attribute(TCA_NETEM_ECN, _U32.pack(state.ecn)),
        _attribute(
            TCA_NETEM_SLOT,
            _SLOT.pack(
                slot.min_delay_ns, slot.max_delay_ns, slot.max_packets, slot.max_bytes,
                slot.dist_delay_ns, slot.dist_jitter_ns,
            ),
        ),
    ]  # fmt: skip
    # Without TCA_NETEM_LOSS the kernel goes back to independent loss: nothing has to be sent as zero.
    if state.loss_model is not None:
        parts.append(_attribute(TCA_NETEM_LOSS | _NLA_F_NESTED, _encode_loss(state.loss_model)))
    if state.delay_table is not None:
        parts.append(_attribute(TCA_NETEM_DELAY_DIST, _encode_table(state.delay_table)))
    if state.slot_table is not None:
        parts.append(_attribute(TCA_NETEM_SLOT_DIST, _encode_table(state.slot_table)))
    options = b"".join(parts)
    if len(options) > MAX_OPTIONS_BYTES:
        entries = len(state.delay_table or ()) + len(state.slot_table or ())
        raise ProfileError(
            f"delay_table and slot_table have {entries} entries together: one netlink attribute holds 65535 "
            "bytes, two bytes an entry",
            "use smaller tables: 4096 entries place a quantile to 0.03 %",
        )
    return options


def hot_values(state: QdiscState) -> tuple[int, ...]:
    """Return the values that ``HOT`` (or, without a seed, ``HOT_SEEDLESS``) packs."""
    latency_ns, jitter_ns, rate = state.latency_ns, state.jitter_ns, state.rate_bytes_per_s
    old = (
        min(max(latency_ns, 0) >> TICK_SHIFT, U32_MAX), state.limit_packets, state.loss, state.gap,
        state.duplicate, min(jitter_ns >> TICK_SHIFT, U32_MAX),
    )  # fmt: skip
    seed = () if state.seed is None else (H_SEED, state.seed)
    # The kernel takes the greater of RATE and RATE64, so both are sent.
    rates = (H_RATE64, rate, H_RATE, min(rate, U32_MAX))
    return (*old, H_LATENCY64, latency_ns, H_JITTER64, jitter_ns, *seed, *rates)


def decode_netem(options: bytes) -> QdiscState:
    """Return the state that the value of a netem qdisc's TCA_OPTIONS describes.

    A dump never holds a table, nor attributes that are zero: those are None or 0. Attributes of kernels newer
    than this file are passed over.

    Raises:
        KernelError: The bytes are no netem options: too short, an attribute cut off, repeated or of a wrong
            size, a value that no netem can have.
    """
    if len(options) > MAX_OPTIONS_BYTES + 8:
        raise _malformed(f"{len(options)} bytes, at most {MAX_OPTIONS_BYTES}")
    if len(options) < _QOPT.size:
        raise _malformed(f"{len(options)} bytes, at least {_QOPT.size}")
    latency, limit, loss, gap, duplicate, jitter = _QOPT.unpack_from(options)
    found = dict(_attributes(options, _QOPT.size))
    for kind, size in _SIZES.items():
        if kind in found and len(found[kind]) != size:
            raise _malformed(f"attribute {kind} has {len(found[kind])} bytes, not {size}")

    def read(kind: int, form: struct.Struct) -> tuple[int, ...]:
        return form.unpack(found[kind] if kind in found else bytes(form.size))

    corr, reorder = read(TCA_NETEM_CORR, _CORR), read(TCA_NETEM_REORDER, _PAIR)
    corrupt, rate = read(TCA_NETEM_CORRUPT, _PAIR), read(TCA_NETEM_RATE, _RATE)
    has_ns = TCA_NETEM_LATENCY64 in found, TCA_NETEM_JITTER64 in found
    jitter_ns = read(TCA_NETEM_JITTER64, _S64)[0] if has_ns[1] else jitter << TICK_SHIFT
    if not -(2**31) < jitter_ns < 2**31 and has_ns[1]:
        raise _malformed(f"jitter {jitter_ns} ns, at most 2147483647")
    return QdiscState(
        latency_ns=read(TCA_NETEM_LATENCY64, _S64)[0] if has_ns[0] else latency << TICK_SHIFT,
        jitter_ns=min(abs(jitter_ns), 2**31 - 1),
        delay_correlation=corr[0],
        delay_table=_decode_table(found.get(TCA_NETEM_DELAY_DIST)),
        limit_packets=limit,
        loss=loss,
        loss_correlation=corr[1],
        loss_model=_decode_loss(found.get(TCA_NETEM_LOSS)),
        duplicate=duplicate,
        duplicate_correlation=corr[2],
        gap=gap,
        reorder=reorder[0],
        reorder_correlation=reorder[1],
        corrupt=corrupt[0],
        corrupt_correlation=corrupt[1],
        rate_bytes_per_s=max(rate[0], read(TCA_NETEM_RATE64, _U64)[0]),
        packet_overhead_bytes=rate[1],
        cell_size_bytes=rate[2],
        cell_overhead_bytes=rate[3],
        ecn=bool(read(TCA_NETEM_ECN, _U32)[0]),
        slot=_decode_slot(read(TCA_NETEM_SLOT, _SLOT)),
        slot_table=_decode_table(found.get(TCA_NETEM_SLOT_DIST)),
        seed=read(TCA_NETEM_PRNG_SEED, _U64)[0] if TCA_NETEM_PRNG_SEED in found else None,
    )


def _attribute(kind: int, payload: bytes) -> bytes:
    return struct.pack("=HH", 4 + len(payload), kind) + payload + bytes(-len(payload) % 4)


def _encode_table(table: tuple[int, ...]) -> bytes:
    return struct.pack(f"={len(table)}h", *table)


def _encode_loss(model: GilbertElliottState | FourStateState) -> bytes:
    if isinstance(model, GilbertElliottState):
        return _attribute(_NETEM_LOSS_GE, _GE.pack(model.p, model.r, model.h, model.k1))
    return _attribute(_NETEM_LOSS_GI, _GI.pack(model.p13, model.p31, model.p32, model.p14, model.p23))


def _attributes(data: bytes, offset: int) -> Iterator[tuple[int, bytes]]:
    """Yield (type, payload) of each attribute from ``offset`` to the end.

    Raises:
        KernelError: One is cut off, shorter than its header, or repeated.
    """
    seen = set()
    while offset < len(data):
        if len(data) - offset < 4:
            raise _malformed(f"{len(data) - offset} bytes left at {offset}: no room for an attribute")
        length, kind = struct.unpack_from("=HH", data, offset)
        kind &= _ATTRIBUTE_TYPE_MASK
        if not 4 <= length <= len(data) - offset:
            raise _malformed(f"attribute {kind} at {offset} claims {length} bytes of {len(data) - offset}")
        if kind in seen:
            raise _malformed(f"attribute {kind} twice")
        seen.add(kind)
        yield kind, data[offset + 4 : offset + length]
        offset += (length + 3) & ~3


def _decode_table(payload: bytes | None) -> tuple[int, ...] | None:
    if payload is None:
        return None
    if len(payload) % 2 or not 2 <= len(payload) <= 2 * MAX_TABLE_ENTRIES:
        raise _malformed(f"a table of {len(payload)} bytes, not 1 .. {MAX_TABLE_ENTRIES} numbers of two")
    return struct.unpack(f"={len(payload) // 2}h", payload)


def _decode_loss(payload: bytes | None) -> GilbertElliottState | FourStateState | None:
    if payload is None:
        return None
    models = dict(_attributes(payload, 0))
    if set(models) == {_NETEM_LOSS_GE} and len(models[_NETEM_LOSS_GE]) == _GE.size:
        p, r, h, k1 = _GE.unpack(models[_NETEM_LOSS_GE])
        return GilbertElliottState(p=p, r=r, h=h, k1=k1)
    if set(models) == {_NETEM_LOSS_GI} and len(models[_NETEM_LOSS_GI]) == _GI.size:
        p13, p31, p32, p14, p23 = _GI.unpack(models[_NETEM_LOSS_GI])
        return FourStateState(p13=p13, p31=p31, p32=p32, p14=p14, p23=p23)
    raise _malformed(f"loss model of kinds {sorted(models)}, not one Gilbert-Elliott or one 4-state model")


def _decode_slot(values: tuple[int, ...]) -> SlotState | None:
    if not any(values):
        return None
    return SlotState(
        min_delay_ns=values[0],
        max_delay_ns=values[1],
        max_packets=values[2],
        max_bytes=values[3],
        dist_delay_ns=values[4],
        dist_jitter_ns=values[5],
    )


def _malformed(rule: str) -> KernelError:
    return KernelError("read netem's options", 0, f"malformed: {rule}", "report the kernel's version to netlab")
