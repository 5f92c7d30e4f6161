"""The trace file: a trace as plain text: ``#`` lines about it, then CSV.

::

    # netlab-trace: 1                      always the first line: this format, and its version
    # path: round-trip                     round-trip, forward or back
    # clocks: one-clock
    # n: 2                                 so many rows, so that a file cut short is seen
    # source: ping.txt, ping               optional, as are the next three
    # sha256: 9f86d081...                  of the file it was imported from
    # bin_s: 0.1                           how long each rate holds
    # losses: spread                       it is known how many were lost, not which; else counted
    t_s,delay_s,lost,copies,rate_bps
    0.0,0.0213,0,1,
    1.0,,1,0,                              empty where unknown; a lost packet has no delay

Read strictly: what is not said here is refused, with its line. A number is a decimal one however it is spelled
(``.5``, ``+01.0``, ``1E3``); what is written is the shortest text that reads back as the same number, so that a
file that netlab wrote comes out of reading and writing byte for byte. Two directions are two files.
"""

from __future__ import annotations

import gzip
import os
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import BinaryIO

import msgspec
import numpy as np
from numpy.typing import NDArray

from netlab.errors import TraceError
from netlab.traces.number_columns import NumberError, read_columns, whole_numbers
from netlab.traces.trace import UNKNOWN, RowError, Trace
from netlab.traces.trace_header import COLUMNS, HINT, header_bytes, read_header
from netlab.traces.trace_source import TraceSource
from netlab.whole_file import whole_file

__all__ = [
    "format_trace",
    "parse_trace",
    "read_trace",
    "write_trace",
    "write_traces",
]

_MAX_COPIES = 2**31 - 1
_BLOCK_ROWS = 1 << 16


def read_trace(path: str | os.PathLike[str]) -> Trace:
    """Return the trace in a trace file, which may be compressed by gzip.

    Raises:
        TraceError: The file cannot be read, is too large or breaks a rule of the format; names the line.
    """
    return parse_trace(TraceSource(path))


def write_trace(trace: Trace, path: str | os.PathLike[str]) -> None:
    """Write a trace file: whole or not at all; compressed by gzip where its name ends in ``.gz``.

    Raises:
        TraceError: The trace has too many rows or a source that is not one line, or the file cannot be written.
    """
    write_traces({Path(path): trace})


def write_traces(traces: Mapping[Path, Trace]) -> None:
    """Write several trace files: all of them, or none.

    All are written aside and to the disk before the first one gets its name, so that a full disk leaves nothing;
    what could part them then is a rename alone that the system refuses.

    Raises:
        TraceError: As ``write_trace``.
    """
    headers = {path: header_bytes(trace, path) for path, trace in traces.items()}
    path = Path()
    try:
        with ExitStack() as names:
            for path, trace in traces.items():
                file = names.enter_context(whole_file(path))
                _write(file, path, headers[path], trace)
                file.flush()
                os.fsync(file.fileno())
    except OSError as error:
        hint = "name a file in a folder that is there, has room, and that you may write to"
        raise TraceError(f"cannot be written: {error.strerror}", path, hint=hint) from error


def _write(file: BinaryIO, path: Path, header: bytes, trace: Trace) -> None:
    if path.suffix != ".gz":
        file.write(header)
        file.writelines(_rows(trace))
        return
    # Neither a name nor a time within: the same trace gives the same bytes.
    with gzip.GzipFile(filename="", mode="wb", compresslevel=6, fileobj=file, mtime=0) as packed:
        packed.write(header)
        packed.writelines(_rows(trace))


def format_trace(trace: Trace) -> bytes:
    """Return a trace as a trace file has it.

    Raises:
        TraceError: It has too many rows, or a source that is not one line.
    """
    return b"".join([header_bytes(trace, "trace"), *_rows(trace)])


def parse_trace(source: TraceSource) -> Trace:
    """Return the trace in an opened trace file.

    Raises:
        TraceError: As ``read_trace``.
    """
    data = source.data()
    header, begin, lines = read_header(source, data)
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
            lost=whole_numbers(lost, "lost", 1).astype(np.int8),
            copies=whole_numbers(copies, "copies", _MAX_COPIES),
            rate_bps=rate_bps,
            **header,
        )
    except NumberError as error:
        hint = "lines end in \\n alone" if b"\r" in data[begin : begin + 1000] else HINT
        raise source.refuse(str(error), lines + error.row + 1, hint) from None
    except RowError as error:
        raise source.refuse(error.rule, lines + error.row + 1, HINT) from None


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
