"""Quantities as people type them, to SI units and back: ``30ms``, ``2%``, ``10mbit``, ``1500B``.

Ground: standard library only. A quantity without a unit is refused where a unit is needed, since a bare
``30`` has been seconds in one tool and milliseconds in the next; zero alone needs none.

Parsing is exact: the decimal number typed is scaled in decimal and rounded once, so ``59ms`` is 0.059 bit
for bit (59 * 1e-3 in binary is not). Formatting writes the shortest text that parses to the same number.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal

__all__ = [
    "format_duration",
    "format_rate",
    "format_ratio",
    "format_size",
    "parse_duration_s",
    "parse_rate_bps",
    "parse_ratio",
    "parse_size_bytes",
]

MAX_TEXT = 64
"""The longest quantity that is read; no number people type is longer."""

_DURATIONS_S = {
    "ns": Decimal("1e-9"), "us": Decimal("1e-6"), "µs": Decimal("1e-6"), "μs": Decimal("1e-6"),
    "ms": Decimal("1e-3"), "s": Decimal(1), "min": Decimal(60), "h": Decimal(3600),
}  # fmt: skip
_RATES_BPS = {
    prefix + suffix: Decimal(10) ** power
    for suffix in ("bit", "bps", "bit/s")
    for prefix, power in {"": 0, "k": 3, "m": 6, "g": 9, "t": 12}.items()
}
_SIZES_BYTES = {
    unit: Decimal(factor)
    for unit, factor in {
        "b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "kib": 2**10, "mib": 2**20, "gib": 2**30,
        "k": 2**10, "m": 2**20, "g": 2**30,
    }.items()
}  # fmt: skip
_PERCENT = Decimal("0.01")
_NUMBER = r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,4})?"
_QUANTITY = re.compile(rf"\s*({_NUMBER})\s*([a-zA-Zµμ%/]*)\s*\Z")
# Wide enough that no product of a text of MAX_TEXT and a unit is rounded before it becomes a float.
_EXACT = Context(prec=2 * MAX_TEXT, Emax=MAX_EMAX, Emin=MIN_EMIN)


def parse_duration_s(text: str) -> float:
    """Return the seconds that a duration such as ``30ms`` means.

    Raises:
        ValueError: Not a number with one of the units ns, us, ms, s, min, h.
    """
    return _as_float(text, _parse(text, _DURATIONS_S, "a duration such as 30ms or 1.5s (ns, us, ms, s, min, h)"))


def parse_rate_bps(text: str) -> float:
    """Return the bits a second that a rate such as ``10mbit`` means.

    Raises:
        ValueError: Not a number with one of the units bit, kbit, mbit, gbit, tbit (``bps`` forms too: bits,
            where tc's ``bps`` means bytes).
    """
    return _as_float(text, _parse(text, _RATES_BPS, "a rate such as 10mbit or 250kbit (bit, kbit, mbit, gbit)"))


def parse_size_bytes(text: str) -> int:
    """Return the bytes that a size such as ``1500B`` or ``1GiB`` means.

    Raises:
        ValueError: Not a whole number of bytes.
    """
    size = _parse(text, _SIZES_BYTES, "a size such as 1500B or 1GiB (B, kB, MB, KiB, MiB)")
    if _EXACT.abs(size) >= 2**63:
        raise ValueError(f"{text!r} is more bytes than 64 bits count")
    if size != int(size):
        raise ValueError(f"{text!r} is not a whole number of bytes")
    return int(size)


def parse_ratio(text: str) -> float:
    """Return the ratio 0 .. 1 that ``2%`` or ``0.02`` means.

    Raises:
        ValueError: Not a number, or outside 0 .. 1.
    """
    match = _match(text)
    if match is None or match[2] not in ("", "%"):
        raise ValueError(f"{_shown(text)} is not a ratio such as 2% or 0.02")
    ratio = _EXACT.multiply(Decimal(match[1]), _PERCENT if match[2] else Decimal(1))
    if not 0 <= ratio <= 1:
        raise ValueError(f"{text!r} is outside 0% .. 100%")
    return float(ratio)


def format_duration(duration_s: float) -> str:
    """Return a duration as people type it; ``parse_duration_s`` gives the same value back."""
    return _format(duration_s, ("s", "ms", "us", "ns"), _DURATIONS_S)


def format_rate(rate_bps: float) -> str:
    """Return a rate as people type it; ``parse_rate_bps`` gives the same value back."""
    return _format(rate_bps, ("gbit", "mbit", "kbit", "bit"), _RATES_BPS)


def format_size(size_bytes: int) -> str:
    """Return a size in bytes; ``parse_size_bytes`` gives the same value back."""
    return f"{size_bytes}B"


def format_ratio(ratio: float) -> str:
    """Return a ratio in percent; ``parse_ratio`` gives the same value back."""
    return f"{_plain(_EXACT.divide(_decimal(ratio), _PERCENT))}%"


def _format(value: float, units: tuple[str, ...], factors: Mapping[str, Decimal]) -> str:
    """Write ``value`` in the first unit that it is at least one of, else in the last; zero in the plain one."""
    exact = _decimal(value)
    if not exact:
        return f"0{next(unit for unit in units if factors[unit] == 1)}"
    for unit in units:
        scaled = _EXACT.divide(exact, factors[unit])
        if abs(scaled) >= 1 or unit == units[-1]:
            break
    return f"{_plain(scaled)}{unit}"


def _decimal(value: float) -> Decimal:
    """Return the shortest decimal that reads back as ``value``."""
    if not math.isfinite(value):
        raise ValueError(f"{value!r} is not a finite number")
    return Decimal(repr(float(value)))


def _plain(number: Decimal) -> str:
    """Write a decimal without exponent and trailing zeros, unless that would be too long to read."""
    text = f"{number:f}"
    if "." in text:
        text = text.rstrip("0").rstrip(".")
    return (text if text != "-0" else "0") if len(text) <= MAX_TEXT // 2 else f"{number.normalize(_EXACT):e}"


def _match(text: str) -> re.Match[str] | None:
    return _QUANTITY.match(text) if len(text) <= MAX_TEXT else None


def _shown(text: str) -> str:
    """Return the text for an error message, not longer than a line."""
    return repr(text) if len(text) <= MAX_TEXT else f"{text[:MAX_TEXT]!r}..."


def _parse(text: str, factors: Mapping[str, Decimal], what: str) -> Decimal:
    match = _match(text)
    if match is None:
        raise ValueError(f"{_shown(text)} is not {what}")
    number, unit = Decimal(match[1]), match[2].lower()
    if not unit and not number:
        return Decimal(0)
    if unit not in factors:
        problem = f"has the unknown unit {match[2]!r}" if unit else "has no unit"
        raise ValueError(f"{text!r} {problem}; write {what}")
    return _EXACT.multiply(number, factors[unit])


def _as_float(text: str, value: Decimal) -> float:
    number = float(value)
    if not math.isfinite(number):
        raise ValueError(f"{text!r} is not a finite number")
    return number
