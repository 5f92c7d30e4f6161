"""A table of numbers below one line of column names, separated by commas. Knows no name."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from netlab.traces.number_columns import NumberError, read_columns
from netlab.traces.trace_source import TraceSource

__all__ = ["FIRST_ROW", "read_table"]

FIRST_ROW = 2
"""The line of a table's first row."""


def read_table(
    source: TraceSource, width: int, wanted: Sequence[int], what: str, hint: str
) -> list[NDArray[np.float64]]:
    """Return some columns of a file's table, NaN where a field is empty; at least one row.

    Args:
        source: The file.
        width: Fields a line, exactly.
        wanted: Which of them, counted from 0.
        what: What a row is, for a person.
        hint: What rows look like.

    Raises:
        TraceError: A line is no such row, or there is none.
    """
    data = source.data().replace(b"\r\n", b"\n")
    if not data.endswith(b"\n"):
        data += b"\n"
    try:
        columns = read_columns(data, width, wanted, begin=data.index(b"\n") + 1)
    except NumberError as error:
        raise source.refuse(str(error), error.row + FIRST_ROW, hint) from None
    if not columns[0].size:
        raise source.refuse(f"holds no {what} below its header", hint=hint)
    return columns
