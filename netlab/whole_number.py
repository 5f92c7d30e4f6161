"""Whole numbers as people hand them over in Python: Python's own, or numpy's. Ground."""

from __future__ import annotations

import operator

__all__ = ["whole_number"]


def whole_number(value: object) -> int | None:
    """Return a whole number as Python's own; None where it is none, as True, ``"4"`` and 1.0 are none."""
    if isinstance(value, bool):
        return None
    try:
        return operator.index(value)  # type: ignore[arg-type]  # it refuses what has no __index__
    except TypeError:
        return None
