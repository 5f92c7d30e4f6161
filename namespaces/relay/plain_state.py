"""A QdiscState as plain values, for the socket between a lab and its relay, and back. Pure.

msgspec cannot tell untagged structs in a union apart, so the two loss chains are told by their fields.
"""

from __future__ import annotations

from typing import Any

import msgspec

from netlab.traces.qdisc_state import FourStateState, GilbertElliottState, QdiscState, SlotState

__all__ = ["PlainState", "from_plain", "to_plain"]

PlainState = dict[str, Any]
_TABLES = ("delay_table", "slot_table")


def to_plain(state: QdiscState) -> PlainState:
    """Return a state as values that msgpack can say; fields of their default are left out."""
    blank = QdiscState()
    fields = {field: getattr(state, field) for field in state.__struct_fields__}
    plain: PlainState = msgspec.to_builtins(
        {field: value for field, value in fields.items() if value != getattr(blank, field)}
    )
    return plain


def from_plain(plain: PlainState) -> QdiscState:
    """Return the state that ``to_plain`` was given.

    Raises:
        TypeError: It holds what is no field.
        msgspec.ValidationError: A part of it is none.
        ProfileError: A field is outside the kernel's range.
    """
    fields = dict(plain)
    for table in _TABLES:
        if table in fields:
            fields[table] = tuple(fields[table])
    if "slot" in fields:
        fields["slot"] = msgspec.convert(fields["slot"], SlotState)
    chain = fields.get("loss_model")
    if chain is not None:
        fields["loss_model"] = msgspec.convert(chain, FourStateState if "p13" in chain else GilbertElliottState)
    return QdiscState(**fields)
