"""Decoder words: what msgspec says of a value that does not fit, in the words of a file's writer. Pure."""

from __future__ import annotations

import re
import typing
from collections.abc import Sequence

__all__ = ["choices_of", "plain_rule"]

_KINDS = {
    "int": "a whole number",
    "float": "a number",
    "str": "a text in quotes",
    "bool": "true or false",
    "array": "a list",
    "object": "a table",
    "null": "left out",
}
_COMPARED = {">=": "{} or more", "<=": "at most {}", ">": "above {}", "<": "below {}"}
_MISSING = re.compile(r"Object missing required field `(\w+)`")
_LENGTH = re.compile(r"Expected `array` of length (<=|>=)? ?(\d+)")
_BOUND = re.compile(r"Expected `(\w+)` (>=|<=|>|<) (\S+)")
_KIND = re.compile(r"Expected `([\w |]+)`(?:, got `(\w+)`)?")


def plain_rule(rule: str, choices: Sequence[str] = ()) -> str:
    """Return a decoder's rule in plain words; as it is where it is not known.

    Args:
        rule: What the decoder says, without the place.
        choices: All that the value may be, where it must be one of a few.
    """
    if choices:
        return f"must be one of {', '.join(choices)}"
    if found := _MISSING.match(rule):
        return f"the key {found[1]!r} is missing"
    if found := _LENGTH.match(rule):
        return f"must be a list of {_COMPARED.get(found[1] or '', '{}').format(found[2])}"
    if found := _BOUND.match(rule):
        return f"must be {_KINDS.get(found[1], found[1])}, {_COMPARED[found[2]].format(found[3])}"
    if found := _KIND.match(rule):
        wanted = " or ".join(_KINDS.get(kind.strip(), kind.strip()) for kind in found[1].split("|"))
        is_there = f", not {_KINDS.get(found[2], found[2])}" if found[2] else ""
        return f"must be {wanted}{is_there}"
    return f"{rule[:1].lower()}{rule[1:]}"


def choices_of(kind: type, field: str) -> tuple[str, ...]:
    """Return the words that a field of a struct may be; nothing where it may be others."""
    hint = typing.get_type_hints(kind).get(field)
    is_literal = typing.get_origin(hint) is typing.Literal
    return tuple(str(choice) for choice in typing.get_args(hint)) if is_literal else ()
