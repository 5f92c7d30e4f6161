"""The provenance of a profile as TOML: the table ``[provenance]`` and its ``origins``.

::

    [provenance]
    netlab = "0.1.0"
    method = "quantile table of each direction"
    assumptions = ["..."]

    [[provenance.origin]]
    source = "ping.txt"
    path = "round-trip"

Knows the keys of that table alone; ``toml_profile.py`` has the rest of the file.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from netlab.errors import ProfileError
from netlab.traces.key import Key, read_fields, refuse_unknown
from netlab.traces.provenance import Origin, Provenance
from netlab.traces.quantity import COUNT, DURATION, NUMBER, WORD, Quantity, shown

__all__ = ["provenance_lines", "read_provenance"]


def _read_lines(value: object) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise ValueError(f'{shown(value)} is not a list of text (["..."])')
    return tuple(value)


def _write_lines(value: object) -> str:
    assert isinstance(value, tuple)
    return "[\n" + "".join(f"    {WORD.write(item)},\n" for item in value) + "]"


def _read_text(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{shown(value)} is not text")
    return value


_TEXT = Quantity("text", _read_text, WORD.write)
_LINES = Quantity("a list of text", _read_lines, _write_lines)
_KEYS = {
    "netlab": Key("netlab", "netlab", _TEXT),
    "method": Key("method", "method", _TEXT),
    "seed": Key("seed", "seed", COUNT),
    "packet_rate_hz": Key("packet_rate_hz", "packet_rate_hz", NUMBER),
    "assumptions": Key("assumptions", "assumptions", _LINES),
}
_ORIGIN_KEYS = {
    "source": Key("source", "source", _TEXT),
    "sha256": Key("sha256", "sha256", _TEXT),
    "path": Key("path", "path", _TEXT),
    "clocks": Key("clocks", "clocks", _TEXT),
    "n": Key("n", "n", COUNT),
    "predicted_ks": Key("predicted_ks", "predicted_ks", NUMBER),
    "predicted_w1": Key("predicted_w1", "predicted_w1_s", DURATION),
}


def read_provenance(table: object, where: str) -> Provenance:
    """Return what the table ``[provenance]`` says.

    Args:
        table: The table as TOML has it.
        where: What to put before a key in a message, for example ``wifi.toml: provenance``.

    Raises:
        ProfileError: An unknown or missing key, or a value that is not one.
    """
    if not isinstance(table, Mapping):
        raise ProfileError(f"{where}: {shown(table)} is not a table", hint="write it as a heading, [provenance]")
    for name in table:
        if name not in _KEYS and name != "origin":
            refuse_unknown(name, (*_KEYS, "origin"), f"{where}.")
    fields = _required(
        _KEYS, {name: value for name, value in table.items() if name in _KEYS}, where, ("method", "netlab")
    )
    origins = table.get("origin", [])
    if not isinstance(origins, list):
        raise ProfileError(f"{where}.origin: is not a list", hint="write [[provenance.origin]], in two brackets")
    read = tuple(_read_origin(origin, f"{where}.origin[{index + 1}]") for index, origin in enumerate(origins))
    try:
        return Provenance(origins=read, **fields)
    except ProfileError as error:
        raise ProfileError(f"{where}.{error.message}", hint=error.hint) from None


def provenance_lines(provenance: Provenance) -> list[str]:
    """Return the lines of the table, its heading first; ``read_provenance`` undoes them."""
    lines = ["", "[provenance]", *_assignments(provenance, _KEYS)]
    for origin in provenance.origins:
        lines += ["", "[[provenance.origin]]", *_assignments(origin, _ORIGIN_KEYS)]
    return lines


def _read_origin(table: object, where: str) -> Origin:
    if not isinstance(table, Mapping):
        raise ProfileError(f"{where}: {shown(table)} is not a table")
    fields = _required(_ORIGIN_KEYS, table, where, ("source", "path", "clocks"))
    try:
        return Origin(**fields)
    except ProfileError as error:
        raise ProfileError(f"{where}.{error.message}", hint=error.hint) from None


def _required(
    keys: Mapping[str, Key], table: Mapping[str, object], where: str, needed: tuple[str, ...]
) -> dict[str, Any]:
    fields = read_fields(keys, table, f"{where}.")
    for name in needed:
        if name not in fields:
            raise ProfileError(f"{where}.{name}: is missing", hint=f"needed: {', '.join(needed)}")
    return fields


def _assignments(struct: Struct, keys: Mapping[str, Key]) -> list[str]:
    """Return ``key = value`` for each field that says something."""
    values = [(key, getattr(struct, key.field)) for key in keys.values()]
    return [f"{key.name} = {key.quantity.write(value)}" for key, value in values if value not in (None, "", ())]
