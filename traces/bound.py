"""Bounds of numbers in a profile: each refusal names the field, the value and the rule.

Knows no field; the nouns that have fields call it. A Struct made in Python is not type-checked by msgspec,
so ``LinkProfile(delay_s="30ms")`` has to be caught here.
"""

from __future__ import annotations

import math
import sys

from netlab.errors import ProfileError
from netlab.traces.quantity import shown

__all__ = ["bounded_count", "bounded_duration_s", "bounded_number", "bounded_ratio"]

MAX_DURATION_S = 3600.0
"""The longest delay, jitter or slot: an hour. A Schedule may last longer."""

LEAST_DURATION_S = 1e-9
"""The kernel counts in nanoseconds; anything shorter would silently become zero."""


def bounded_number(name: str, value: object, low: float, high: float) -> float:
    """Return ``value`` as a float within ``low .. high``.

    Raises:
        ProfileError: Not a finite number, or outside the bounds.
    """
    # Compared: math.isfinite has no answer for an int that no float holds.
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= sys.float_info.max:
        raise ProfileError(
            f"{name} = {shown(value)}: must be a finite number",
            hint='in Python give SI units as numbers: 0.03 for 30 ms; in a file, text: "30ms"',
        )
    if not low <= value <= high:
        raise ProfileError(f"{name} = {shown(value)}: must be within {low:g} .. {high:g}")
    return float(value)


def bounded_ratio(name: str, value: object) -> float:
    """Return a ratio 0 .. 1.

    Raises:
        ProfileError: Not a number within 0 .. 1.
    """
    try:
        return bounded_number(name, value, 0.0, 1.0)
    except ProfileError as error:
        raise ProfileError(error.message, hint="a ratio, 0.02 meaning 2 %") from None


def bounded_duration_s(name: str, value: object) -> float:
    """Return a duration in seconds that a kernel counting nanoseconds can keep.

    Raises:
        ProfileError: Negative, longer than an hour, or shorter than a nanosecond without being zero.
    """
    duration_s = bounded_number(name, value, -math.inf, math.inf)
    if duration_s < 0.0:
        raise ProfileError(f"{name} = {shown(value)}: is negative; a link cannot deliver before it was asked to")
    if duration_s > MAX_DURATION_S:
        raise ProfileError(f"{name} = {shown(value)}: is longer than {MAX_DURATION_S:g} s", hint="at most 1h")
    if 0.0 < duration_s < LEAST_DURATION_S:
        raise ProfileError(f"{name} = {shown(value)}: is shorter than a nanosecond, the kernel's unit")
    return duration_s


def bounded_count(name: str, value: object, low: int, high: int) -> int:
    """Return a whole number within ``low .. high``.

    Raises:
        ProfileError: Not an int, or outside the bounds.
    """
    if isinstance(value, bool) or not isinstance(value, int):
        raise ProfileError(f"{name} = {shown(value)}: must be a whole number")
    if not low <= value <= high:
        raise ProfileError(f"{name} = {shown(value)}: must be within {low} .. {high}")
    return value
