"""Quantities of a profile as they stand in a file or on a command line: one object a kind of value.

A kind reads a value (text, or the number or switch that TOML has) and writes it back so that reading gives
the same bits. What is typed wrong raises ValueError; the key that was typed is known one floor up.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import NamedTuple

from netlab.units import (
    format_duration,
    format_rate,
    format_ratio,
    format_size,
    parse_duration_s,
    parse_rate_bps,
    parse_ratio,
    parse_size_bytes,
)

__all__ = [
    "COUNT",
    "DURATION",
    "DURATIONS",
    "NUMBER",
    "RATE",
    "RATIO",
    "SIZE",
    "SWITCH",
    "WORD",
    "Quantity",
    "shown",
]

_ENTRIES_A_LINE = 8
MAX_SHOWN = 80


class Quantity(NamedTuple):
    """A kind of value.

    Attributes:
        what: What a person may write, for tables and messages.
        read: Value as written -> value in SI units; raises ValueError.
        write: Value in SI units -> TOML.
    """

    what: str
    read: Callable[[object], object]
    write: Callable[[object], str]


def shown(value: object) -> str:
    """Return a value for a message, not longer than a line whatever a file holds."""
    try:
        text = repr(value)
    except ValueError:  # an integer of more digits than Python writes
        return "a huge number"
    return text if len(text) <= MAX_SHOWN else f"{text[:MAX_SHOWN]}..."


def _text(value: object, what: str) -> str:
    """Return a value that has to be text; a bare zero needs no unit."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        if value == 0:
            return "0"
        raise ValueError(f"{shown(value)} has no unit; write {what} in quotes")
    if not isinstance(value, str):
        raise ValueError(f"{shown(value)} is not {what}")
    parts = value.split()
    if len(parts) > 1 and all(part[0].isdigit() for part in parts):
        raise ValueError(f"{shown(value)} are several values: a key takes one (jitter has a key of its own)")
    return value


def _read_duration(value: object) -> float:
    duration_s = parse_duration_s(_text(value, "a duration such as 30ms"))
    if duration_s < 0.0:
        raise ValueError(f"{shown(value)} is negative; a link cannot deliver before it was asked to")
    return duration_s


def _read_durations(value: object) -> tuple[float, ...]:
    if not isinstance(value, list):
        raise ValueError(f'{shown(value)} is not a list of durations (in a file: ["10ms", "12ms"])')
    return tuple(_read_duration(item) for item in value)


def _read_ratio(value: object) -> float:
    if isinstance(value, int | float) and not isinstance(value, bool):
        value = repr(value)
    text = _text(value, "a ratio such as 2% or 0.02")
    if "%" not in text and _at_least_one(text):
        # tc's "loss 1" is 1 %, a probability of 1 is 100 %: guessing would be wrong for somebody.
        raise ValueError(f"{text} could mean percent or a ratio; write {text}%, or 100% for always")
    return parse_ratio(text)


def _at_least_one(text: str) -> bool:
    try:
        return float(text) >= 1.0
    except ValueError:
        return False


def _read_rate(value: object) -> float:
    return parse_rate_bps(_text(value, "a rate such as 10mbit"))


def _read_size(value: object) -> int:
    return parse_size_bytes(_text(value, "a size such as 1500B"))


def _read_count(value: object) -> int:
    if isinstance(value, str) and value.strip().isascii() and value.strip().isdigit() and len(value) <= 20:
        return int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        raise ValueError(f"{shown(value)} is not a whole number")
    if abs(value) >= 2**64:
        raise ValueError(f"{shown(value)} is more than 64 bits hold")
    return value


def _read_number(value: object) -> float:
    try:
        number = math.nan if isinstance(value, bool) or not isinstance(value, int | float | str) else float(value)
    except (ValueError, OverflowError):
        number = math.nan
    if not math.isfinite(number):
        raise ValueError(f"{shown(value)} is not a number")
    return number


def _read_word(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{shown(value)} is not text")
    return value.strip()


def _read_switch(value: object) -> bool:
    if isinstance(value, str) and value.strip().lower() in ("true", "false"):
        return value.strip().lower() == "true"
    if not isinstance(value, bool):
        raise ValueError(f"{shown(value)} is neither true nor false")
    return value


def _quoted(format_value: Callable[..., str]) -> Callable[[object], str]:
    return lambda value: f'"{format_value(value)}"'


def _write_durations(value: object) -> str:
    if not isinstance(value, tuple):
        raise TypeError(f"{shown(value)} is not a tuple of durations")
    items = [f'"{format_duration(item)}"' for item in value]
    if len(items) <= _ENTRIES_A_LINE:
        return f"[{', '.join(items)}]"
    lines = [", ".join(items[i : i + _ENTRIES_A_LINE]) for i in range(0, len(items), _ENTRIES_A_LINE)]
    return "[\n    " + ",\n    ".join(lines) + ",\n]"


DURATION = Quantity("a duration: ns, us, ms, s, min, h", _read_duration, _quoted(format_duration))
DURATIONS = Quantity("a list of durations", _read_durations, _write_durations)
RATIO = Quantity("a ratio: 2% or 0.02", _read_ratio, _quoted(format_ratio))
RATE = Quantity("a rate: bit, kbit, mbit, gbit (a second)", _read_rate, _quoted(format_rate))
SIZE = Quantity("a size: B, kB, KiB", _read_size, _quoted(format_size))
COUNT = Quantity("a whole number", _read_count, str)
NUMBER = Quantity("a number", _read_number, repr)
WORD = Quantity("a word", _read_word, lambda value: json.dumps(value, ensure_ascii=False))
SWITCH = Quantity("true or false", _read_switch, lambda value: "true" if value else "false")
