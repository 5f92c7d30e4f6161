"""A CSV's column of times: which it is where its name has no unit, and that it does not go back.

::

    time_s           by its name, csv_column_names.py
    timestamp        2024-01-31 12:00:00.5    a stamp: it needs no unit
    timestamp        1700000000123            seconds, milliseconds? refused: nobody may guess
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from netlab.traces.importers.csv_column_names import CsvColumn
from netlab.traces.number_columns import is_stamp
from netlab.traces.trace import RowError
from netlab.traces.trace_source import TraceSource

__all__ = ["refuse_back", "stamp_column"]

_WORDS = {
    "t", "ts", "time", "timestamp", "timestamps", "time_stamp", "date", "datetime", "date_time", "elapsed",
    "epoch", "unixtime", "unix_time", "time_utc", "timestamp_utc",
}  # fmt: skip


def stamp_column(
    source: TraceSource, names: list[str], columns: list[CsvColumn], fields: list[bytes], line: int
) -> CsvColumn | None:
    """Return the column of stamps that says when each row is; None where another does, or no column is of times.

    Args:
        source: The file, for errors.
        names: Its header.
        columns: Those of them that are known.
        fields: Of its first row.
        line: The header's line.

    Raises:
        TraceError: A column of times has neither a unit nor stamps, or two have stamps.
    """
    taken = {column.place for column in columns}
    words = [name.lower().replace(" ", "_") for name in names]
    places = [place for place, word in enumerate(words) if word in _WORDS and place not in taken]
    if not places or any(column.quantity == "t" for column in columns):
        return None
    stamps = [place for place in places if place < len(fields) and is_stamp(fields[place])]
    if len(stamps) == 1:
        return CsvColumn("t", None, 1.0, stamps[0], names[stamps[0]])
    name = names[places[0]][:60]
    problem = f"{name!r} is a time without a unit" if not stamps else "two columns are stamps of time"
    hint = f"say it by --column {name}=t_s (or t_ms, t_us, t_ns), or leave it out by --interval 1s"
    raise source.refuse(problem, line, hint)


def refuse_back(name: str, values: NDArray[np.float64]) -> None:
    """Refuse a column of times that goes back, in the file's own numbers.

    Raises:
        RowError: Names the first row that does.
    """
    with np.errstate(over="ignore", invalid="ignore"):  # infinities are for the trace to refuse
        back = np.diff(values, prepend=values[:1]) < 0.0
    if back.any():
        row = int(np.argmax(back))
        rule = f"{name} = {values[row]:.16g}: must not be before the row above, {values[row - 1]:.16g}"
        raise RowError(row, rule, "")
