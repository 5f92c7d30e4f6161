"""TraceHeader: the ``#`` lines of a trace file and the line of column names: how they are read, and written.

::

    # netlab-trace: 1 ... # n: 2 ... t_s,delay_s,lost,copies,rate_bps  <-->  what a Trace has beside its columns

Each key is told once, by its rule. Knows nothing of the rows below; ``trace_file.py`` does.
"""

from __future__ import annotations

import os
import re
from typing import Any

from netlab.errors import TraceError
from netlab.traces.trace import BIN_RULE, MAX_ROWS, MAX_TIME_S, ClockVerdict, LossTimes, Trace, TracedPath
from netlab.traces.trace_source import TraceSource

__all__ = ["COLUMNS", "HINT", "SIGNATURE", "VERSION", "header_bytes", "read_header"]

VERSION = 1
SIGNATURE = b"# netlab-trace: "
COLUMNS = ("t_s", "delay_s", "lost", "copies", "rate_bps")
MAX_SOURCE = 1000

_COLUMN_LINE = ",".join(COLUMNS)
_REQUIRED, _OPTIONAL = ("path", "clocks", "n"), ("source", "sha256", "bin_s", "losses")
_MAX_HEADER_BYTES = 1 << 16
_HEADER_LINE = re.compile(r"# ([a-z0-9_-]+): (.+)\Z")
_SHA256 = re.compile(r"[0-9a-f]{64}\Z")
_COUNT = re.compile(r"(?:0|[1-9][0-9]{0,11})\Z")
_NUMBER = re.compile(r"[0-9]+(?:\.[0-9]+)?(?:e[+-]?[0-9]{1,3})?\Z")
HINT = "docs/traces.md has the format; `netlab trace import` writes it"


def read_header(source: TraceSource, data: bytes) -> tuple[dict[str, Any], int, int]:
    """Return what the header says, where the rows begin, and how many lines come before them.

    Args:
        source: The file, for errors.
        data: Its bytes.

    Returns:
        Arguments of ``Trace`` and the number of rows, ``n``; a place in ``data``; a number of lines.

    Raises:
        TraceError: A line breaks a rule of the format, or one is missing.
    """
    texts: dict[str, str] = {}
    begin = number = 0
    while True:
        number += 1
        end = data.find(b"\n", begin, _MAX_HEADER_BYTES)
        if end < 0:
            problem = f"no line {_COLUMN_LINE!r} ends the header" if texts else "is no netlab trace file"
            raise source.refuse(problem, number if texts else 0, HINT)
        line = _text(source, data[begin:end], number)
        begin = end + 1
        if not line.startswith("#"):
            break
        match = _HEADER_LINE.match(line)
        if match is None:
            raise source.refuse(f"{line[:60]!r}: a header line is '# key: value'", number, HINT)
        key, value = match.groups()
        _refuse_key(source, key, value, texts, number)
        texts[key] = value
        if key in _READERS:
            _read_value(source, key, value, number)
    if not texts:
        raise source.refuse("is no netlab trace file", 1, HINT)
    if missing := [key for key in _REQUIRED if key not in texts]:
        raise source.refuse(f"the header says no {', no '.join(missing)}", number, HINT)
    if line != _COLUMN_LINE:
        raise source.refuse(f"the columns are {line[:60]!r}: must be {_COLUMN_LINE!r}", number, HINT)
    values = {key: _read_value(source, key, text, number) for key, text in texts.items() if key in _READERS}
    if "sha256" in values:
        values["source_sha256"] = values.pop("sha256")
    return values, begin, number


def _refuse_key(source: TraceSource, key: str, value: str, before: dict[str, str], number: int) -> None:
    if not before:
        if key != "netlab-trace":
            raise source.refuse(
                f"begins with {key!r}: the first line is '# netlab-trace: {VERSION}'", number, HINT
            )
        if value != str(VERSION):
            hint = "import the original again, or use the netlab that wrote it"
            raise source.refuse(f"is version {value[:20]!r} of the format: {VERSION} is read", number, hint)
    elif key in before:
        raise source.refuse(f"{key!r} is said twice", number, HINT)
    elif key not in _READERS:
        known = ", ".join((*_REQUIRED, *_OPTIONAL))
        raise source.refuse(f"the key {key[:40]!r} is not known: there are {known}", number, HINT)


def _text(source: TraceSource, line: bytes, number: int) -> str:
    if line.endswith(b"\r"):
        raise source.refuse("the line ends in \\r\\n: lines end in \\n alone", number, "convert it (dos2unix)")
    try:
        return line.decode()
    except UnicodeDecodeError:
        raise source.refuse("the header is not UTF-8 text", number, HINT) from None


def _read_value(source: TraceSource, key: str, text: str, number: int) -> Any:
    rule, read = _READERS[key]
    try:
        return read(text)
    except ValueError:
        raise source.refuse(f"{key}: {text[:80]!r}: must be {rule}", number, HINT) from None


def _read_count(text: str) -> int:
    if not _COUNT.match(text) or int(text) > MAX_ROWS:
        raise ValueError(text)
    return int(text)


def _read_sha256(text: str) -> str:
    if not _SHA256.match(text):
        raise ValueError(text)
    return text


def _read_bin_s(text: str) -> float:
    if not _NUMBER.match(text) or not 0.0 < float(text) <= MAX_TIME_S:
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
    "bin_s": (f"a number, {BIN_RULE}", _read_bin_s),
    "losses": (f"one of {', '.join(LossTimes)}", LossTimes),
}


def header_bytes(trace: Trace, path: str | os.PathLike[str]) -> bytes:
    """Return the lines of a trace's header.

    Raises:
        TraceError: It has too many rows, or a source that is not one line; names ``path``.
    """
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
        "losses": "" if trace.losses is LossTimes.COUNTED else trace.losses.value,
    }
    lines = [f"# {key}: {value}" for key, value in said.items() if value != ""]
    return "\n".join([*lines, _COLUMN_LINE, ""]).encode()
