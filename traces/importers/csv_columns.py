"""A plain CSV with a line of column names: what they say becomes a trace; other columns are left out.

::

    time_s;rtt_ms;note          rtt_ms -> delay_s, a round trip
    0;21,5;kitchen              0.0, 0.0215
    1;;                         1.0, unknown

Separated by comma, semicolon or tab, the one that the header has; with the last two a decimal comma is read.
A column with ``forward`` or ``back`` in its name goes into a trace of that direction; delays of both go through
``one_way_columns.py``, as two clocks may have measured them. Times are a number with its unit, or stamps
(``2024-01-31T12:00:00.5``); without a column of times the rows are evenly spread.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from netlab.traces.importers.csv_column_names import CsvColumn, find_columns, meaning, require_column
from netlab.traces.importers.csv_times import refuse_back, stamp_column
from netlab.traces.importers.importer import Importer, ImportOptions
from netlab.traces.importers.one_way_columns import OneWayDelays, one_way_delays
from netlab.traces.number_columns import NumberError, read_columns, read_stamps, whole_numbers
from netlab.traces.trace import ClockVerdict, RowError, Trace, TracedPath
from netlab.traces.trace_source import TraceSource

__all__ = ["IMPORTER"]

MAX_HEADER_BYTES = 1 << 14
MAX_COLUMNS = 1000
MAX_COPIES = 2**31 - 1

_DELIMITERS = (b",", b";", b"\t")
_EMPTY_WORDS = (b"nan", b"NaN", b"NA", b"null", b"None", b"-")
_HINT = "decimal numbers, empty (or nan, NA, null, -) where unknown; each line as many fields as the header"
_PATHS = (TracedPath.ROUND_TRIP, TracedPath.FORWARD, TracedPath.BACK)


def _recognises(source: TraceSource) -> bool:
    lines = [line for line in source.head_lines if not line.startswith(b"#")]
    if not lines or len(lines[0]) > MAX_HEADER_BYTES:
        return False
    columns = [meaning(name) for name in _names(lines[0], _delimiter(lines[0]))]
    return any(column is not None and column.quantity in ("delay", "rate") for column in columns)


def _read(source: TraceSource, options: ImportOptions) -> list[Trace]:
    data = source.data()
    if b"\r" in data:
        data = data.replace(b"\r\n", b"\n")
    begin = line = 0
    header = b"#"
    while header.startswith(b"#"):
        end = data.find(b"\n", begin, begin + MAX_HEADER_BYTES)
        if end < 0:
            raise source.refuse("has no line of column names and rows below it", line + 1, _HINT)
        header, begin, line = data[begin:end], end + 1, line + 1
    delimiter = _delimiter(header)
    names = _names(header, delimiter)
    if len(names) > MAX_COLUMNS:
        raise source.refuse(f"has {len(names)} columns: at most {MAX_COLUMNS}", line, _HINT)
    columns = find_columns(source, names, options.columns, line)
    require_column(source, columns, names, line)
    body = _plain(data[begin:], delimiter)
    if not body:
        raise source.refuse("has no row below its column names", line, _HINT)
    stamps = None
    if options.interval_s is None:
        fields = body[: body.index(b"\n")].split(delimiter)
        stamps = stamp_column(source, names, columns, fields, line)
    try:
        wanted = [column.place for column in columns]
        values = read_columns(body, len(names), wanted, delimiter=delimiter, unknown=_EMPTY_WORDS)
        if stamps is not None:
            columns.append(stamps)
            values.append(read_stamps(body, len(names), stamps.place, delimiter=delimiter))
        return _traces(source, line + 1, list(zip(columns, values, strict=True)), options)
    except NumberError as error:
        raise source.refuse(str(error), line + error.row + 1, _HINT) from None
    except RowError as error:
        raise source.refuse(error.rule, line + error.row + 1, _HINT) from None


def _delimiter(header: bytes) -> bytes:
    return max(_DELIMITERS, key=header.count)


def _names(header: bytes, delimiter: bytes) -> list[str]:
    text = header.decode("utf-8", "replace")
    return [name.strip().strip('"').strip() for name in text.split(delimiter.decode())]


def _plain(body: bytes, delimiter: bytes) -> bytes:
    """Return the rows as bare numbers between delimiters."""
    if b'"' in body:
        body = body.replace(b'"', b"")
    if delimiter != b"," and b"," in body:
        body = body.replace(b",", b".")
    if b" " in body:
        body = body.replace(delimiter + b" ", delimiter)
    body = body.rstrip(b"\n")
    return body + b"\n" if body else b""


def _traces(
    source: TraceSource,
    first_line: int,
    columns: list[tuple[CsvColumn, NDArray[np.float64]]],
    options: ImportOptions,
) -> list[Trace]:
    t_s = _times(columns, options)
    by_path: dict[TracedPath, dict[str, NDArray[np.float64]]] = {}
    for column, values in columns:
        if column.quantity != "t":
            path = column.path or _unsaid_path(columns)
            by_path.setdefault(path, {})[column.quantity] = _scaled(values, column.scale)
    ways = [by_path.get(path, {}) for path in (TracedPath.FORWARD, TracedPath.BACK)]
    delays = one_way_delays(source, first_line, t_s, ways[0].get("delay"), ways[1].get("delay"))
    for way, delay_s in zip(ways, (delays.forward_s, delays.back_s), strict=True):
        if delay_s is not None:
            way["delay"] = delay_s
    return [_trace(source, t_s, path, by_path[path], delays) for path in _PATHS if path in by_path]


def _unsaid_path(columns: list[tuple[CsvColumn, NDArray[np.float64]]]) -> TracedPath:
    """Return of which path a column is whose name says none: a delay is a round trip, a rate alone is forward."""
    unsaid = {column.quantity for column, _ in columns if column.path is None}
    return TracedPath.FORWARD if "rate" in unsaid and "delay" not in unsaid else TracedPath.ROUND_TRIP


def _trace(
    source: TraceSource,
    t_s: NDArray[np.float64],
    path: TracedPath,
    columns: dict[str, NDArray[np.float64]],
    one_way: OneWayDelays,
) -> Trace:
    clocks, words = ClockVerdict.ONE_CLOCK, f"{source.name}, csv"
    if path is not TracedPath.ROUND_TRIP:
        clocks = one_way.clocks if "delay" in columns else ClockVerdict.UNKNOWN
        words += f"; {one_way.words}" if one_way.words and "delay" in columns else ""
    lost, copies = columns.get("lost"), columns.get("copies")
    return Trace.of(
        t_s,
        path=path,
        clocks=clocks,
        delay_s=columns.get("delay"),
        lost=None if lost is None else whole_numbers(lost, "lost", 1).astype(np.int8),
        copies=None if copies is None else whole_numbers(copies, "copies", MAX_COPIES),
        rate_bps=columns.get("rate"),
        source=words,
        source_sha256=source.sha256,
    )


def _times(columns: list[tuple[CsvColumn, NDArray[np.float64]]], options: ImportOptions) -> NDArray[np.float64]:
    """Return when each row is, from the first on; evenly spread where no column says it."""
    for column, values in columns:
        if column.quantity == "t" and options.interval_s is None:
            if np.isnan(values).any():
                raise RowError(int(np.argmax(np.isnan(values))), "no time: each row must have one", "")
            refuse_back(column.name, values)
            # Before it is scaled: nanoseconds since 1970 have digits to spare only as differences.
            with np.errstate(over="ignore", invalid="ignore"):  # to what a trace refuses
                since_first = values - values[0] if values[0] else values
            return _scaled(since_first, column.scale)
    rows = columns[0][1].size
    return np.arange(rows, dtype=np.float64) * options.interval_or_default_s


def _scaled(values: NDArray[np.float64], scale: float) -> NDArray[np.float64]:
    """Scale to s or bit/s; to the picosecond, so that 2.93 ms is 0.00293 s."""
    with np.errstate(over="ignore"):  # to infinity, which a trace refuses
        scaled: NDArray[np.float64] = np.multiply(values, scale)
        if scale < 1.0:
            scaled = np.round(values / round(1.0 / scale), 12)
    return scaled


IMPORTER = Importer(
    "csv",
    "CSV with column names: t_s, rtt_ms, lost, rate_mbps, ... or --column",
    _recognises,
    _read,
    frozenset({"interval_s", "columns"}),
)
