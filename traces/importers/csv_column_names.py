"""Column names of a CSV: which column of a trace each is, of which direction, and in which unit.

::

    rtt_ms          -> delay, round trip, / 1e3
    "Delay (us)"    -> delay, round trip, / 1e6
    forward_delay_s -> delay, forward
    download_mbps   -> rate,  back,       * 1e6
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from netlab.did_you_mean import did_you_mean
from netlab.traces.trace import TracedPath
from netlab.traces.trace_source import TraceSource

__all__ = ["CsvColumn", "find_columns", "meaning", "require_column"]

_QUANTITIES = {
    "t": ("t", "time", "timestamp", "elapsed"),
    "delay": ("delay", "rtt", "latency", "ping"),
    "lost": ("lost", "loss"),
    "copies": ("copies",),
    "rate": ("rate", "throughput", "bandwidth", "bitrate", "goodput"),
}
_WORDS = {word: quantity for quantity, words in _QUANTITIES.items() for word in words}
_TIME_UNITS = {"s": 1.0, "sec": 1.0, "seconds": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}
_UNITS: dict[str, dict[str, float]] = {
    "t": _TIME_UNITS,
    "delay": _TIME_UNITS,
    "lost": {"": 1.0},
    "copies": {"": 1.0},
    "rate": {
        prefix + unit: scale
        for unit in ("bps", "bit/s", "bit")
        for prefix, scale in {"": 1.0, "k": 1e3, "m": 1e6, "g": 1e9}.items()
    },
}
_PATHS = {
    "forward": TracedPath.FORWARD, "upload": TracedPath.FORWARD, "uplink": TracedPath.FORWARD,
    "back": TracedPath.BACK, "download": TracedPath.BACK, "downlink": TracedPath.BACK,
}  # fmt: skip
_NAME = re.compile(r"([a-z_]+?)(?:[_ ]*[\[(]\s*([a-z/]+)\s*[\])]|[_ ]([a-z/]+))?\Z")
_EXAMPLE = "for example --column rtt=delay_ms"


class CsvColumn(NamedTuple):
    """What a column of the file is.

    Attributes:
        quantity: ``t``, ``delay``, ``lost``, ``copies`` or ``rate``.
        path: Of which direction; None where the name says none.
        scale: What one of its unit is in s or bit/s.
        place: Where it is in a line, counted from 0.
        name: As the file has it.
    """

    quantity: str
    path: TracedPath | None
    scale: float
    place: int
    name: str


def meaning(name: str, place: int = 0) -> CsvColumn | None:
    """Return what a column of this name is; None where the name is none of ours, or lacks its unit."""
    text = name.strip().lower()
    if not text or len(text) > 60:
        return None
    match = _NAME.match(text)
    readings = [(text, "")]
    if match is not None:
        readings.append((match[1], match[2] or match[3] or ""))
    for word, unit in readings:
        path, quantity = _direction(word.replace(" ", "_"))
        if quantity is not None and unit in _UNITS[quantity]:
            return CsvColumn(quantity, path, _UNITS[quantity][unit], place, name)
    return None


def find_columns(source: TraceSource, names: list[str], wanted: Mapping[str, str], line: int) -> list[CsvColumn]:
    """Return what the columns of a header are; those of no name that is known are left out.

    Args:
        source: The file, for errors.
        names: Its header.
        wanted: What a person says: the file's name of a column, and a name with a unit that is ours.
        line: The header's line.

    Raises:
        TraceError: A column that is not there or means nothing, or two that are the same.
    """
    found: dict[tuple[str, TracedPath | None], CsvColumn] = {}
    for name, text in wanted.items():
        if name not in names:
            hint = did_you_mean(name, names) or f"there are {', '.join(names)[:200]}"
            raise source.refuse(f"has no column {name!r}", line, hint)
        column = meaning(text, names.index(name))
        if column is not None:
            column = column._replace(name=name)
        else:
            hint = f"t_s, delay_ms, lost, copies, rate_mbps, forward_delay_us, ...: {_EXAMPLE}"
            raise source.refuse(
                f"--column {name}={text}: {text!r} is no column of a trace with its unit", line, hint
            )
        _take(source, found, column, names, line)
    said = set(found)
    for place, name in enumerate(names):
        column = meaning(name, place)
        if column is not None and name not in wanted and (column.quantity, column.path) not in said:
            _take(source, found, column, names, line)
    return list(found.values())


def _take(
    source: TraceSource,
    found: dict[tuple[str, TracedPath | None], CsvColumn],
    column: CsvColumn,
    names: list[str],
    line: int,
) -> None:
    before = found.setdefault((column.quantity, column.path), column)
    if before is not column:
        both = f"{names[before.place]!r} and {names[column.place]!r}"
        raise source.refuse(f"the columns {both} are both the {column.quantity}", line, f"say which, {_EXAMPLE}")


def _direction(word: str) -> tuple[TracedPath | None, str | None]:
    """Return the direction and the quantity that a name without its unit says."""
    if word in ("upload", "download"):
        return _PATHS[word], "rate"
    first, _, rest = word.partition("_")
    if first in _PATHS and rest in _WORDS and rest not in _QUANTITIES["t"]:
        return _PATHS[first], _WORDS[rest]
    return None, _WORDS.get(word)


def require_column(source: TraceSource, columns: list[CsvColumn], names: list[str], line: int) -> None:
    """Refuse a table that says nothing of a network.

    Raises:
        TraceError: Names the columns there are.
    """
    if not any(column.quantity in ("delay", "lost", "rate") for column in columns):
        shown = ", ".join(names)[:100]
        problem = f"none of the columns ({shown}) is a delay, a loss or a rate with its unit in its name"
        raise source.refuse(problem, line, f"say what they are, {_EXAMPLE}")
