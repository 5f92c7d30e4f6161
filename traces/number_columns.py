r"""Number columns: text in which each line holds so many numbers between delimiters, read a block at a time.

::

    0.0,0.021,0\n0.1,,1\n  --column 1-->  "0.021\n\n"  --one call-->  [0.021, nan]

No Python runs for a row of numbers, but for one of stamps. Only where a block does not add up are its lines looked
at one by one, for the one that is to blame. Knows no file and no header.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from netlab.traces.trace import MAX_ROWS, UNKNOWN

__all__ = ["NumberError", "count_rows", "is_stamp", "read_columns", "read_stamps", "whole_numbers"]

BLOCK_BYTES = 4 << 20
"""So much is looked at in one go: within the cache, and the masks for it small."""

_NEWLINE = 10
_NUMBER = re.compile(rb"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?\Z")
_STAMP = re.compile(
    rb"((?:19|20|21)[0-9]{2}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]{1,9})?)(?:Z|[+]00:?00)?\Z"
)
_ALLOWED = b"0123456789+-.eE\n"
_LIST = msgspec.json.Decoder(list[float])

Bytes = NDArray[np.uint8]


class NumberError(ValueError):
    """Raised when a row is not so many numbers.

    Args:
        row: Which, counted from 0.
        message: The value and the rule.
    """

    def __init__(self, row: int, message: str) -> None:
        super().__init__(message)
        self.row = row


def read_columns(
    body: bytes,
    width: int,
    wanted: Sequence[int],
    *,
    delimiter: bytes = b",",
    unknown: Sequence[bytes] = (),
    begin: int = 0,
) -> list[NDArray[np.float64]]:
    r"""Return some columns of a table of numbers; an empty field is NaN.

    Args:
        body: Its lines, each ended by ``\n``, the last one too.
        width: Fields a line, exactly.
        wanted: Which of them, counted from 0; the others may hold any text.
        delimiter: One byte between fields.
        unknown: Words that stand for an empty field.
        begin: Where in ``body`` the first line begins.

    Returns:
        A column for each that is wanted, ``[rows]``.

    Raises:
        NumberError: A line has another number of fields, or a wanted one is no decimal number; too many lines.
    """
    # Once each, and of the right size from the beginning: parts to be joined would take twice as much.
    whole = [np.empty(count_rows(body, begin)) for _ in wanted]
    rows = 0
    for block in _blocks(body, begin):
        columns = _read_block(block, width, wanted, delimiter[0], unknown)
        if columns is None:
            raise _first_error(block.tobytes(), rows, width, wanted, delimiter, unknown)
        more = int(np.count_nonzero(block == _NEWLINE))
        for column, part in zip(whole, columns, strict=True):
            column[rows : rows + more] = part
        rows += more
    return whole


def is_stamp(text: bytes) -> bool:
    """Tell whether a text is a date and a time of ISO 8601, in UTC: ``2024-01-31 12:00:00.5Z``."""
    return _STAMP.match(text) is not None


def read_stamps(body: bytes, width: int, wanted: int, *, delimiter: bytes = b",") -> NDArray[np.float64]:
    """Return a column of stamps as seconds since its first, ``[rows]``; of a table that ``read_columns`` has read.

    Raises:
        NumberError: A stamp is none, or no date.
    """
    parts = []
    first, rows = None, 0
    for block in _blocks(body, 0):
        places = np.flatnonzero((block == _NEWLINE) | (block == delimiter[0])).reshape(-1, width)
        texts = _column_text(block, places, wanted).tobytes().split(b"\n")[:-1]
        stamps = _stamps(texts, rows)
        first = stamps[0] if first is None else first
        parts.append((stamps - first).astype(np.int64) / 1e9)
        rows += stamps.size
    return np.concatenate(parts)


def _stamps(texts: list[bytes], row: int) -> NDArray[np.datetime64]:
    matches = [_STAMP.match(text) for text in texts]
    plain = [match[1].decode() for match in matches if match is not None]
    try:
        if len(plain) == len(texts):
            return np.array(plain, dtype="datetime64[ns]")
    except ValueError:
        pass  # one of them is a 31st of February
    place = next(place for place, text in enumerate(texts) if not _is_date(text))
    rule = "must be a date and a time in UTC, as 2024-01-31T12:00:00.5"
    raise NumberError(row + place, f"{_shown(texts[place])}: {rule}")


def _is_date(text: bytes) -> bool:
    match = _STAMP.match(text)
    try:
        return match is not None and np.datetime64(match[1].decode()) is not None
    except ValueError:
        return False


def count_rows(body: bytes, begin: int = 0) -> int:
    """Return how many lines there are, before anything is allocated for them: a small gzip file may hold millions.

    Raises:
        NumberError: More than a trace may have.
    """
    rows = body.count(b"\n", begin)
    if rows > MAX_ROWS:
        raise NumberError(MAX_ROWS, f"one of {rows} rows: at most {MAX_ROWS} are read; cut the file into parts")
    return rows


def whole_numbers(column: NDArray[np.float64], name: str, most: int) -> NDArray[np.int32]:
    """Return a column that counts something as whole numbers, ``UNKNOWN`` where it is not a number, ``[rows]``.

    Raises:
        NumberError: A number below 0, above the most, or with a fraction.
    """
    unknown = np.isnan(column)
    broken = ~unknown & ((column < 0) | (column > most) | (column != np.floor(column)))
    if broken.any():
        row = int(np.argmax(broken))
        raise NumberError(row, f"{name} = {column[row]:g}: must be a whole number, 0 .. {most}, or empty")
    return np.where(unknown, UNKNOWN, column).astype(np.int32)


def _blocks(body: bytes, begin: int) -> Iterator[Bytes]:
    """Cut the text into blocks of whole lines."""
    while begin < len(body):
        end = body.rfind(b"\n", begin, begin + BLOCK_BYTES) + 1
        if not end:
            end = body.find(b"\n", begin + BLOCK_BYTES) + 1 or len(body)
        yield np.frombuffer(body, dtype=np.uint8, count=end - begin, offset=begin)
        begin = end


def _read_block(
    block: Bytes, width: int, wanted: Sequence[int], delimiter: int, unknown: Sequence[bytes]
) -> list[NDArray[np.float64]] | None:
    """Return the wanted columns of whole lines; None where anything about them is wrong."""
    ends = block == _NEWLINE
    rows = int(np.count_nonzero(ends))
    separators = np.flatnonzero(ends | (block == delimiter))
    if separators.size != rows * width or block[-1] != _NEWLINE:
        return None
    places = separators.reshape(rows, width)
    if not ends[places[:, -1]].all():
        return None
    columns = []
    for column in wanted:
        numbers = _read_numbers(_column_text(block, places, column), rows, unknown)
        if numbers is None:
            return None
        columns.append(numbers)
    return columns


def _column_text(block: Bytes, places: NDArray[np.int64], column: int) -> Bytes:
    """Return one column's fields, a line each."""
    if places.shape[1] == 1:
        return block
    last = places[:, column]
    first = places[:, column - 1] + 1 if column else np.concatenate(([0], places[:-1, -1] + 1))
    lengths = last - first + 1
    # The bytes of field i are first[i] .. last[i]: count on from 0, and jump at each field's beginning.
    jumps = np.repeat(first - np.concatenate(([0], np.cumsum(lengths)[:-1])), lengths)
    text: Bytes = block[np.arange(jumps.size) + jumps]
    text[np.cumsum(lengths) - 1] = _NEWLINE
    return text


def _read_numbers(text: Bytes, rows: int, unknown: Sequence[bytes]) -> NDArray[np.float64] | None:
    """Return the number on each line, NaN for an empty one; None where any is something else."""
    if text.size == rows:
        return np.full(rows, np.nan)
    numbers = _numbers(text, rows)
    if numbers is None and unknown:
        words = b"|".join(re.escape(word) for word in unknown)
        plain = re.sub(rb"(?m)^(?:%s)$" % words, b"", text.tobytes())
        numbers = _numbers(np.frombuffer(plain, dtype=np.uint8), rows)
    return numbers


def _numbers(text: Bytes, rows: int) -> NDArray[np.float64] | None:
    ends = np.flatnonzero(text == _NEWLINE)
    known = np.diff(ends, prepend=-1) > 1
    if not known.all():
        keep = np.ones(text.size, dtype=np.bool_)
        keep[ends[~known]] = False
        text = text[keep]
    lines = text.tobytes()
    if lines.translate(None, _ALLOWED):
        return None
    try:
        # As a JSON list: exact, and half as long as numpy takes.
        values = _LIST.decode(b"[%s]" % lines[:-1].replace(b"\n", b","))
    except msgspec.DecodeError:
        # 007, .5 and 1e999, too, are numbers.
        fields = lines.split(b"\n")[:-1]
        if not all(map(_NUMBER.match, fields)):
            return None
        values = list(map(float, fields))
    column = np.full(rows, np.nan)
    if len(values) != np.count_nonzero(known):
        return None
    column[known] = values
    return column


def _first_error(
    block: bytes, row: int, width: int, wanted: Sequence[int], delimiter: bytes, unknown: Sequence[bytes]
) -> NumberError:
    """Return what is wrong with the first line of a block that anything is wrong with."""
    lines = block.split(b"\n")
    if lines[-1]:
        # Only the very last block can end without one.
        lines.append(b"")
    for place, line in enumerate(lines[:-1]):
        fields = line.split(delimiter)
        if len(fields) != width:
            return NumberError(row + place, f"{len(fields)} fields where there must be {width}: {_shown(line)}")
        for column in wanted:
            text = fields[column]
            if text and text not in unknown and not _NUMBER.match(text):
                return NumberError(row + place, f"field {column + 1} is {_shown(text)}: must be a decimal number")
    return NumberError(row + len(lines) - 2, "the last line has no end: the file is cut short")


def _shown(text: bytes) -> str:
    shown = text[:40].decode("ascii", "backslashreplace")
    return repr(shown) + ("..." if len(text) > 40 else "")
