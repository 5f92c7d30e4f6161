"""A QdiscChange as netem's options: what it does not mention is not in the bytes, so that it sticks."""

from __future__ import annotations

import struct

from msgspec import UNSET

from netlab.namespaces import netem_codec as codec
from netlab.namespaces.netem_codec import encode_netem
from netlab.traces.model.qdisc_change import QdiscChange
from netlab.traces.qdisc_state import QdiscState

QOPT_BYTES = 24
FIELD_OF = {
    codec.TCA_NETEM_CORR: "correlations",
    codec.TCA_NETEM_REORDER: "reorder",
    codec.TCA_NETEM_CORRUPT: "corrupt",
    codec.TCA_NETEM_RATE: "rate",
    codec.TCA_NETEM_RATE64: "rate",
    codec.TCA_NETEM_ECN: "ecn",
    codec.TCA_NETEM_SLOT: "slot",
    codec.TCA_NETEM_DELAY_DIST: "delay_table",
    codec.TCA_NETEM_SLOT_DIST: "slot_table",
    codec.TCA_NETEM_PRNG_SEED: "seed",
}


def encode_change(change: QdiscChange) -> bytes:
    """Return the options that say what the change says and no more."""
    full = encode_netem(change.merge(QdiscState()))
    parts, at = [full[:QOPT_BYTES]], QOPT_BYTES
    while at < len(full):
        length, kind = struct.unpack_from("=HH", full, at)
        end = at + (length + 3 & ~3)
        field = FIELD_OF.get(kind & 0x3FFF)
        if field is None or getattr(change, field) is not UNSET:
            parts.append(full[at:end])
        at = end
    return b"".join(parts)
