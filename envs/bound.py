"""Bounds of numbers given to environments in Python: each refusal names the key, the value and the rule.

Numbers may be numpy's; what is handed back is Python's own, which documents and messages can hold. The bounds of a
profile are ``netlab.traces.bound``'s.
"""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from msgspec import Struct, ValidationError, convert, structs

from netlab.errors import SpecError
from netlab.messages import MAX_RATE_HZ, MIN_RATE_HZ
from netlab.traces.quantity import shown
from netlab.whole_number import whole_number

__all__ = ["check_types", "number_within", "rate_within", "take_numpy_numbers", "whole_within"]

Number = TypeVar("Number", bound=float)


def whole_within(key: str, value: object, low: int, high: int, hint: str = "") -> int:
    """Return a whole number within ``low .. high``.

    Raises:
        SpecError: It is none, or outside the bounds.
    """
    number = whole_number(value)
    if number is None or not low <= number <= high:
        raise SpecError(f"{shown(value)}: must be a whole number, {low} .. {high}", key=key, hint=hint)
    return number


def number_within(key: str, value: Number, low: float, high: float, hint: str = "") -> Number:
    """Return a number within ``low .. high``.

    Raises:
        SpecError: It is none, or outside the bounds.
    """
    number = value.item() if isinstance(value, np.generic) else value
    is_number = isinstance(number, int | float) and not isinstance(number, bool)
    if not is_number or not low <= number <= high:  # which NaN is not either, and an int that no float holds
        raise SpecError(f"{shown(value)}: must be {low:g} .. {high:g}", key=key, hint=hint)
    return number


def rate_within(rate_hz: float) -> float:
    """Return a rate in ticks a second that control can run at.

    Raises:
        SpecError: It is none.
    """
    return number_within("rate_hz", rate_hz, MIN_RATE_HZ, MAX_RATE_HZ, hint="ticks a second, for example 50.0")


def take_numpy_numbers(struct: Struct) -> None:
    """Make Python's own of the numbers of numpy that a new struct was given."""
    for name in struct.__struct_fields__:
        value = getattr(struct, name)
        if isinstance(value, np.generic):
            structs.force_setattr(struct, name, value.item())


def check_types(struct: Struct, key: str, hint: str) -> None:
    """Refuse a struct with a value that a file could not have in its place: made in Python, none is looked at.

    Raises:
        SpecError: Names the field.
    """
    try:
        convert(structs.asdict(struct), type(struct))
    except ValidationError as error:
        raise SpecError(str(error), key=key, hint=hint) from error
