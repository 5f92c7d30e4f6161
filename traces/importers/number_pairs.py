r"""Pairs of numbers: text with a time and a value a line, between spaces, tabs or a comma. Knows no unit.

::

    0.55\t4.79\r\n  0.88 4.49\n   -->  [0.55, 0.88], [4.79, 4.49]
"""

from __future__ import annotations

import re

import numpy as np
from numpy.typing import NDArray

from netlab.traces.number_columns import NumberError, count_rows, read_columns
from netlab.traces.trace_source import TraceSource

__all__ = ["head_pairs", "read_pairs"]

_ENDS = re.compile(rb"[ \t\r]*\n[ \t]*")
_BETWEEN = re.compile(rb"[ \t]*,[ \t]*|[ \t]+")

Floats = NDArray[np.float64]


def head_pairs(source: TraceSource) -> tuple[Floats, Floats] | None:
    """Return the pairs at a file's beginning; None where it does not consist of pairs at times that rise."""
    lines = source.head_lines
    if not lines:
        return None
    try:
        times, values = read_columns(_plain(b"\n".join(lines)), 2, (0, 1))
    except NumberError:
        return None
    if not times.size or np.isnan(times).any() or np.isnan(values).any():
        return None
    if times[0] < 0.0 or (values < 0.0).any() or (np.diff(times) < 0.0).any():
        return None
    return times, values


def read_pairs(source: TraceSource, most_time: float, most_value: float, hint: str) -> tuple[Floats, Floats]:
    """Return a file's times, which do not go back, and values, none negative.

    Args:
        source: The file.
        most_time: No time is later, in the file's own unit.
        most_value: No value is larger.
        hint: What its lines look like.

    Raises:
        TraceError: A line is no such pair; names it.
    """
    try:
        count_rows(source.data())  # before a pattern is tried on each of them
        times, values = read_columns(_plain(source.data()), 2, (0, 1))
    except NumberError as error:
        raise source.refuse(str(error), error.row + 1, hint) from None
    if not times.size:
        raise source.refuse("holds no pair of numbers", hint=hint)
    for broken, rule in (
        (np.isnan(times) | np.isnan(values), "a line needs a time and a value"),
        (~((times >= 0.0) & (times <= most_time)), f"the time must be within 0 .. {most_time:g}"),
        (np.diff(times, prepend=0.0) < 0.0, "the time must not be before the line above"),
        (~((values >= 0.0) & (values <= most_value)), f"the value must be within 0 .. {most_value:g}"),
    ):
        source.refuse_first(broken, rule, hint=hint)
    return times, values


def _plain(text: bytes) -> bytes:
    """Return lines with one comma between fields and none but that; blank lines at the end do not count."""
    text = text.strip(b" \t\r\n\f\v")
    return _BETWEEN.sub(b",", _ENDS.sub(b"\n", text)) + b"\n" if text else b""
