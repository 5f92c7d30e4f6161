"""The keys of a link as people type them, in a file and on the command line: one table for both.

A key is a field of LinkProfile without the unit in its name, because here the value has the unit. What
cannot be read is refused with its place, key, value and rule; what does not exist, with what does.

::

    {"delay": "30ms", "loss": {"mean": "2%", "burst": 5}}  <-- read_link / write_link -->  LinkProfile
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any, NamedTuple, NoReturn

import msgspec
from msgspec import Struct

from netlab.did_you_mean import closest
from netlab.errors import ProfileError
from netlab.traces.loss import FourState, GilbertElliott
from netlab.traces.profile import LinkProfile
from netlab.traces.quantity import (
    COUNT,
    DURATION,
    DURATIONS,
    NUMBER,
    RATE,
    RATIO,
    SIZE,
    SWITCH,
    WORD,
    Quantity,
    shown,
)
from netlab.traces.slot import Slot

__all__ = ["LINK_KEYS", "Key", "read_fields", "read_link", "refuse_unknown", "write_link"]


class Key(NamedTuple):
    """A key, the field it fills, and the kind of value it takes."""

    name: str
    field: str
    quantity: Quantity


def _keys(*keys: Key) -> dict[str, Key]:
    return {key.name: key for key in keys}


_LAW_KEYS = (
    Key("delay", "delay_s", DURATION),
    Key("jitter", "jitter_s", DURATION),
    Key("law", "law", WORD),
    Key("delay_table", "delay_table_s", DURATIONS),
)
SLOT_KEYS = _keys(*_LAW_KEYS, Key("max_packets", "max_packets", COUNT), Key("max_bytes", "max_bytes", COUNT))
_STATE_KEYS = (Key("loss_in_bad", "loss_in_bad", RATIO), Key("loss_in_good", "loss_in_good", RATIO))
CHAIN_KEYS = _keys(Key("p", "p", RATIO), Key("r", "r", RATIO), *_STATE_KEYS)
MEAN_KEYS = _keys(Key("mean", "loss_ratio", RATIO), Key("burst", "burst_packets", NUMBER), *_STATE_KEYS)
FOUR_STATE_KEYS = _keys(*(Key(name, name, RATIO) for name in ("p13", "p31", "p32", "p14", "p23")))

_OTHER_NAMES = {
    "latency": "delay", "delay_s": "delay", "delay_ms": "delay", "jitter_s": "jitter", "jitter_ms": "jitter",
    "distribution": "law", "table": "delay_table", "loss_ratio": "loss", "loss_percent": "loss",
    "gemodel": "loss", "duplication": "duplicate", "corruption": "corrupt", "reordering": "reorder",
    "gap": "reorder_gap", "bandwidth": "rate", "rate_bps": "rate", "limit_packets": "limit", "queue": "limit",
    "fifo": "ordered",
}  # fmt: skip
_NO_CORRELATION = {
    "loss": (
        "netem's loss correlation changes how much is lost: 10 % at 25 % correlation lost 1.2 .. 1.7 %",
        "for losses in bursts write loss = { mean = \"10%\", burst = 5 } (Gilbert-Elliott)",
    ),
    "delay": (
        "netem's delay correlation does nothing: at 50 % the delays of successive packets were unrelated",
        "for delays that hold for a while write a schedule: [[forward.step]] with at and delay",
    ),
    "": (
        "netem's correlations do not do what they say, so a profile has none",
        "for losses in bursts use a loss chain (mean, burst), for delays that last a schedule of steps",
    ),
}  # fmt: skip


def read_link(mapping: Mapping[str, object], where: str = "") -> LinkProfile:
    """Return the profile that keys and values describe.

    Args:
        mapping: Keys as typed; values as text or as TOML has them.
        where: What to put before a key in a message, for example ``wifi.toml: forward.``.

    Raises:
        ProfileError: A key or value is wrong, or they contradict one another.
    """
    fields = read_fields(LINK_KEYS, mapping, where)
    try:
        return LinkProfile(**fields)
    except ProfileError as error:
        raise ProfileError(f"{where}{_as_typed(error.message, fields, mapping)}", hint=error.hint) from None


def write_link(profile: LinkProfile) -> list[str]:
    """Return a profile as lines of TOML, without what is at its default; ``read_link`` undoes it."""
    return _assignments(profile, LINK_KEYS)


def read_fields(keys: Mapping[str, Key], mapping: Mapping[str, object], where: str) -> dict[str, Any]:
    """Return the fields that keys and values fill.

    Raises:
        ProfileError: An unknown key, or a value of the wrong kind.
    """
    fields: dict[str, Any] = {}
    for name, value in mapping.items():
        if name not in keys:
            refuse_unknown(name, keys, where)
        try:
            fields[keys[name].field] = keys[name].quantity.read(value)
        except ValueError as error:
            raise ProfileError(
                f"{where}{name}: {error}", hint=f"{name} takes {keys[name].quantity.what}"
            ) from None
        except ProfileError as error:  # from a table within, which has named its own key
            raise ProfileError(f"{where}{error.message}", hint=error.hint) from None
    return fields


def refuse_unknown(name: str, keys: Iterable[str], where: str) -> NoReturn:
    """Raise the error of an unknown key, with what was probably meant.

    Raises:
        ProfileError: Always.
    """
    known = list(keys)
    shown = f"{where}{name[:60]}"
    if name.endswith("correlation") or name in ("corr", "rho"):
        reason, hint = _NO_CORRELATION.get(name.removesuffix("correlation").rstrip("_"), _NO_CORRELATION[""])
        raise ProfileError(f"{shown}: there is no such key: {reason}", hint=hint)
    other = _OTHER_NAMES.get(name.lower(), "")
    close = other if other in known else closest(name.lower(), known)
    meant = f"; did you mean {close!r}?" if close else ""
    raise ProfileError(f"{shown}: unknown key{meant}", hint=f"known keys: {', '.join(known)}")


def _as_typed(message: str, fields: Mapping[str, object], mapping: Mapping[str, object]) -> str:
    """Return a message that begins with ``field = value`` with the key and the value that were typed."""
    for name, typed in mapping.items():
        field = LINK_KEYS[name].field
        begin = f"{field} = {fields[field]!r}"
        if message.startswith(begin):
            return f"{name}: {shown(typed)}{message.removeprefix(begin)}"
    return message


def _assignments(struct: Struct, keys: Mapping[str, Key]) -> list[str]:
    """Return ``key = value`` for each field that is not at its default."""
    defaults = _defaults(type(struct))
    texts = []
    for key in keys.values():
        value = getattr(struct, key.field)
        # A law is always named beside a jitter, the default too: tools differ in theirs.
        named_law = key.field == "law" and getattr(struct, "jitter_s", 0) != 0
        if named_law or value != defaults[key.field]:
            texts.append(f"{key.name} = {key.quantity.write(value)}")
    return texts


@cache
def _defaults(kind: type[Struct]) -> dict[str, Any]:
    """Return the default of each field; to ask is slow, and a schedule asks for each of its steps."""
    return {field.name: field.default for field in msgspec.structs.fields(kind)}


def _inline_table(struct: Struct, keys: Mapping[str, Key]) -> str:
    return f"{{ {', '.join(_assignments(struct, keys))} }}"


def _require(table: Mapping[str, object], names: tuple[str, ...]) -> None:
    for name in names:
        if name not in table:
            raise ProfileError(
                f"loss.{name}: is missing beside {', '.join(table)}", hint=f"needed: {', '.join(names)}"
            )


def _read_loss(value: object) -> object:
    """Return a ratio, or the chain that a table's keys belong to."""
    if not isinstance(value, Mapping):
        return RATIO.read(value)
    if any(name in FOUR_STATE_KEYS for name in value):
        fields = read_fields(FOUR_STATE_KEYS, value, "loss.")
        _require(value, ("p13", "p31"))
        return FourState(**fields)
    if "mean" in value or "burst" in value:
        fields = read_fields(MEAN_KEYS, value, "loss.")
        _require(value, ("mean", "burst"))
        return GilbertElliott.from_mean(**fields)
    fields = read_fields(CHAIN_KEYS, value, "loss.")
    _require(value, ("p", "r"))
    return GilbertElliott(**fields)


def _write_loss(value: object) -> str:
    if isinstance(value, GilbertElliott):
        return _inline_table(value, CHAIN_KEYS)
    if isinstance(value, FourState):
        return _inline_table(value, FOUR_STATE_KEYS)
    return RATIO.write(value)


def _read_slot(value: object) -> Slot:
    if not isinstance(value, Mapping):
        raise ValueError(f'{value!r} is not a table of slot keys such as {{ delay = "10ms" }}')
    return Slot(**read_fields(SLOT_KEYS, value, "slot."))


def _write_slot(value: object) -> str:
    return _inline_table(value, SLOT_KEYS) if isinstance(value, Slot) else "{}"


LINK_KEYS = _keys(
    *_LAW_KEYS,
    Key("loss", "loss", Quantity("a ratio: 2%, or a table of a chain's keys", _read_loss, _write_loss)),
    Key("duplicate", "duplicate_ratio", RATIO),
    Key("corrupt", "corrupt_ratio", RATIO),
    Key("reorder", "reorder_ratio", RATIO),
    Key("reorder_gap", "reorder_gap", COUNT),
    Key("rate", "rate_bps", RATE),
    Key("overhead", "overhead_bytes", SIZE),
    Key("cell", "cell_bytes", SIZE),
    Key("cell_overhead", "cell_overhead_bytes", SIZE),
    Key("limit", "limit_packets", COUNT),
    Key("slot", "slot", Quantity("a table of slot keys", _read_slot, _write_slot)),
    Key("ecn", "ecn", SWITCH),
    Key("ordered", "ordered", SWITCH),
)
"""Every key of a link."""
