"""The trace file: a trace as plain text: ``#`` lines about it, then CSV.

::

    # netlab-trace: 1                      always the first line: this format, and its version
    # path: round-trip                     round-trip, forward or back
    # clocks: one-clock
    # n: 2                                 so many rows, so that a file cut short is seen
    # source: ping.txt, ping               optional, as are the next two
    # sha256: 9f86d081...                  of the file it was imported from
    # bin_s: 0.1                           how long each rate holds
    t_s,delay_s,lost,copies,rate_bps
    0.0,0.0213,0,1,
    1.0,,1,0,                              empty where unknown; a lost packet has no delay

Read strictly: whatever the writer cannot have written is refused, with its line. Floats are the shortest text
that reads back as the same number. Two directions are two files.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from netlab.errors import TraceError
from netlab.traces.importers.source import TraceSource
from netlab.traces.number_columns import NumberError, read_columns
from netlab.traces.trace import UNKNOWN, ClockVerdict, RowError, Trace, TracedPath
from netlab.whole_file import whole_file

__all__ = [
    "COLUMNS",
    "MAX_ROWS",
    "SIGNATURE",
    "VERSION",
    "format_trace",
    "parse_trace",
    "read_trace",
    "write_trace",
]

VERSION = 1
SIGNATURE = b"# netlab-trace: "
COLUMNS = ("t_s", "delay_s", "lost", "copies", "rate_bps")
MAX_ROWS = 20_000_000
"""The most rows a trace file may have: nine days at 25 packets a second, and 600 MB in memory."""

MAX_SOURCE = 1000

_COLUMN_LINE = ",".join(COLUMNS)
_REQUIRED, _OPTIONAL = ("path", "clocks", "n"), ("source", "sha256", "bin_s")
_MAX_HEADER_BYTES = 1 << 16
_MAX_COPIES = 2**31 - 1
_BLOCK_ROWS = 1 << 16
_HEADER_LINE = re.compile(r"# ([a-z0-9_-]+): (.+)\Z")
_SHA256 = re.compile(r"[0-9a-f]{64}\Z")
_COUNT = re.compile(r"(?:0|[1-9][0-9]{0,11})\Z")
_NUMBER = re.compile(r"[0-9]+(?:\.[0-9]+)?(?:e[+-]?[0-9]{1,3})?\Z")
_HINT = "docs/traces.md has the format; `netlab trace import` writes it"


def read_trace(path: str | os.PathLike[str]) -> Trace:
    """Return the trace in a trace file, which may be compressed by gzip.

    Raises:
        TraceError: The file cannot be read, is too large or breaks a rule of the format; names the line.
    """
    return parse_trace(TraceSource(path))


def write_trace(trace: Trace, path: str | os.PathLike[str]) -> None:
    """Write a trace file: whole or not at all.

    Raises:
        TraceError: The trace has too many rows or a source that is not one line, or the file cannot be written.
    """
    header = _header(trace, path)
    try:
        with whole_file(path) as file:
            file.write(header)
            file.writelines(_rows(trace))
    except OSError as error:
        hint = "name a file in a folder that is there, has room, and that you may write to"
        raise TraceError(f"cannot be written: {error.strerror}", path, hint=hint) from error


def format_trace(trace: Trace) -> bytes:
    """Return a trace as a trace file has it.

    Raises:
        TraceError: It has too many rows, or a source that is not one line.
    """
    return b"".join([_header(trace, "trace"), *_rows(trace)])


def parse_trace(source: TraceSource) -> Trace:
    """Return the trace in an opened trace file.

    Raises:
        TraceError: As ``read_trace``.
    """
    data = source.data()
    header, begin, lines = _parse_header(source, data)
    n = header["n"]
    if not data.endswith(b"\n"):
        # A last number cut within its digits would be another number.
        last = data.count(b"\n") + 1
        raise source.refuse("the last line has no end: the file is cut short", last, "import or copy it again")
    if (rows := data.count(b"\n", begin)) != n:
        raise source.refuse(f"has {rows} rows where its header says n: {n}", hint="it is cut short or was edited")
    try:
        t_s, delay_s, lost, copies, rate_bps = read_columns(data, len(COLUMNS), range(len(COLUMNS)), begin=begin)
        del header["n"]
        return Trace(
            t_s=t_s,
            delay_s=delay_s,
            lost=_whole(lost, "lost", 1).astype(np.int8),
            copies=_whole(copies, "copies", _MAX_COPIES).astype(np.int32),
            rate_bps=rate_bps,
            **header,
        )
    except NumberError as error:
        hint = "lines end in \\n alone" if b"\r" in data[begin : begin + 1000] else _HINT
        raise source.refuse(str(error), lines + error.row + 1, hint) from None
    except RowError as error:
        raise source.refuse(error.rule, lines + error.row + 1, _HINT) from None


def _whole(column: NDArray[np.float64], name: str, most: int) -> NDArray[np.float64]:
    """Return a column of whole numbers, ``UNKNOWN`` where it is empty."""
    unknown = np.isnan(column)
    broken = ~unknown & ((column < 0) | (column > most) | (column != np.floor(column)))
    if broken.any():
        row = int(np.argmax(broken))
        raise RowError(row, f"{name} = {column[row]:g}: must be a whole number, 0 .. {most}, or empty", "")
    return np.where(unknown, UNKNOWN, column)


def _parse_header(source: TraceSource, data: bytes) -> tuple[dict[str, Any], int, int]:
    """Return what the header says, where the rows begin, and how many lines come before them."""
    texts: dict[str, str] = {}
    begin = number = 0
    while True:
        number += 1
        end = data.find(b"\n", begin, _MAX_HEADER_BYTES)
        if end < 0:
            problem = f"no line {_COLUMN_LINE!r} ends the header" if texts else "is no netlab trace file"
            raise source.refuse(problem, number if texts else 0, _HINT)
        line = _text(source, data[begin:end], number)
        begin = end + 1
        if not line.startswith("#"):
            break
        match = _HEADER_LINE.match(line)
        if match is None:
            raise source.refuse(f"{line[:60]!r}: a header line is '# key: value'", number, _HINT)
        key, value = match.groups()
        _refuse_key(source, key, value, texts, number)
        texts[key] = value
        if key in _READERS:
            _read_value(source, key, value, number)
    if not texts:
        raise source.refuse("is no netlab trace file", 1, _HINT)
    if missing := [key for key in _REQUIRED if key not in texts]:
        raise source.refuse(f"the header says no {', no '.join(missing)}", number, _HINT)
    if line != _COLUMN_LINE:
        raise source.refuse(f"the columns are {line[:60]!r}: must be {_COLUMN_LINE!r}", number, _HINT)
    values = {key: _read_value(source, key, text, number) for key, text in texts.items() if key in _READERS}
    if "sha256" in values:
        values["source_sha256"] = values.pop("sha256")
    return values, begin, number


def _refuse_key(source: TraceSource, key: str, value: str, before: dict[str, str], number: int) -> None:
    if not before:
        if key != "netlab-trace":
            raise source.refuse(
                f"begins with {key!r}: the first line is '# netlab-trace: {VERSION}'", number, _HINT
            )
        if value != str(VERSION):
            hint = "import the original again, or use the netlab that wrote it"
            raise source.refuse(f"is version {value[:20]!r} of the format: {VERSION} is read", number, hint)
    elif key in before:
        raise source.refuse(f"{key!r} is said twice", number, _HINT)
    elif key not in _READERS:
        known = ", ".join((*_REQUIRED, *_OPTIONAL))
        raise source.refuse(f"the key {key[:40]!r} is not known: there are {known}", number, _HINT)


def _text(source: TraceSource, line: bytes, number: int) -> str:
    if line.endswith(b"\r"):
        raise source.refuse("the line ends in \\r\\n: lines end in \\n alone", number, "convert it (dos2unix)")
    try:
        return line.decode()
    except UnicodeDecodeError:
        raise source.refuse("the header is not UTF-8 text", number, _HINT) from None


def _read_value(source: TraceSource, key: str, text: str, number: int) -> Any:
    rule, read = _READERS[key]
    try:
        return read(text)
    except ValueError:
        raise source.refuse(f"{key}: {text[:80]!r}: must be {rule}", number, _HINT) from None


def _read_count(text: str) -> int:
    if not _COUNT.match(text) or int(text) > MAX_ROWS:
        raise ValueError(text)
    return int(text)


def _read_sha256(text: str) -> str:
    if not _SHA256.match(text):
        raise ValueError(text)
    return text


def _read_bin_s(text: str) -> float:
    if not _NUMBER.match(text) or not 0.0 < float(text) <= 1e10:
        raise ValueError(text)
    return float(text)


def _read_source(text: str) -> str:
    if not _is_source(text):
        raise ValueError(text)
    return text


def _is_source(text: str) -> bool:
    return text.isprintable() and len(text) <= MAX_SOURCE


_READERS: dict[str, tuple[str, Any]] = {
    "path": (f"one of {', '.join(TracedPath)}", TracedPath),
    "clocks": (f"one of {', '.join(ClockVerdict)}", ClockVerdict),
    "n": (f"a whole number, at most {MAX_ROWS}", _read_count),
    "source": (f"printable, at most {MAX_SOURCE} characters", _read_source),
    "sha256": ("64 hexadecimal digits, lower case", _read_sha256),
    "bin_s": ("a number of seconds above 0", _read_bin_s),
}


def _header(trace: Trace, path: str | os.PathLike[str]) -> bytes:
    if trace.n > MAX_ROWS:
        raise TraceError(f"{trace.n} rows: at most {MAX_ROWS}", path, hint="cut the measurement into parts")
    if not _is_source(trace.source):
        rule = f"must be printable, at most {MAX_SOURCE} characters"
        raise TraceError(f"source = {trace.source[:80]!r}: {rule}", path)
    if trace.source_sha256 and not _SHA256.match(trace.source_sha256):
        raise TraceError(f"source_sha256 = {trace.source_sha256[:80]!r}: must be 64 hexadecimal digits", path)
    said = {
        "netlab-trace": VERSION,
        "path": trace.path.value,
        "clocks": trace.clocks.value,
        "n": trace.n,
        "source": trace.source,
        "sha256": trace.source_sha256,
        "bin_s": "" if trace.bin_s is None else repr(float(trace.bin_s)),
    }
    lines = [f"# {key}: {value}" for key, value in said.items() if value != ""]
    return "\n".join([*lines, _COLUMN_LINE, ""]).encode()


def _rows(trace: Trace) -> Iterator[bytes]:
    for begin in range(0, trace.n, _BLOCK_ROWS):
        rows = slice(begin, min(begin + _BLOCK_ROWS, trace.n))
        texts = (
            _float_texts(trace.t_s[rows]),
            _float_texts(trace.delay_s[rows]),
            _count_texts(trace.lost[rows]),
            _count_texts(trace.copies[rows]),
            _float_texts(trace.rate_bps[rows]),
        )
        yield ("\n".join(map(",".join, zip(*texts, strict=True))) + "\n").encode()


def _float_texts(column: NDArray[np.float64]) -> list[str]:
    """Return the shortest text of each number, empty for NaN."""
    if np.isnan(column).all():
        return [""] * column.size
    # A JSON list of them is exact, too, six times as fast as repr, and has null for NaN.
    return msgspec.json.encode(column.tolist())[1:-1].decode().replace("null", "").split(",")


def _count_texts(column: NDArray[np.int8] | NDArray[np.int32]) -> list[str]:
    """Return the text of each number, empty for ``UNKNOWN``."""
    most = int(column.max())
    if most > _BLOCK_ROWS:
        return ["" if value == UNKNOWN else str(value) for value in column.tolist()]
    texts = np.array(["", *map(str, range(most + 1))], dtype=object)
    rows: list[str] = texts[column.astype(np.int64) - UNKNOWN].tolist()
    return rows
