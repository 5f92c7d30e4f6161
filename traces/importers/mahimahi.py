"""mahimahi's packet-delivery traces: a line for each packet of 1500 bytes that may leave, the ms at which it may.

::

    0
    48        one packet at 48 ms
    57
    57        two at 57 ms
    120002    the last line is the period, too: there it begins again from 0

Packets are counted in bins, 0.1 s unless ``--bin`` says otherwise, stretched a little so that a whole number of
them makes up the period: then the mean rate is exactly the file's. One file is one direction; which, its name
says (``.up``: forward, else back, as the downlink is).

Source: mm-link(1); Netravali et al., "Mahimahi" (USENIX ATC 2015).
"""

from __future__ import annotations

import re

import numpy as np
from numpy.typing import NDArray

from netlab.traces.importers.importer import Importer, ImportOptions
from netlab.traces.number_columns import NumberError, read_columns
from netlab.traces.trace import ClockVerdict, Trace, TracedPath
from netlab.traces.trace_source import TraceSource

__all__ = ["IMPORTER"]

PACKET_BITS = 1500 * 8
MAX_TIME_MS = 1e12
MAX_BINS = 5_000_000

_WHOLE = re.compile(rb"[0-9]{1,12}\Z")
_HINT = "one whole number of milliseconds a line, never less than the line above"


def _recognises(source: TraceSource) -> bool:
    lines = source.head_lines
    if len(lines) < 2 or not all(_WHOLE.match(line) for line in lines):
        return False
    values = [int(line) for line in lines]
    return values == sorted(values) and values[-1] > values[0]


def _read(source: TraceSource, options: ImportOptions) -> list[Trace]:
    t_ms = _times_ms(source)
    period_s = float(t_ms[-1]) / 1e3
    asked_s = options.bin_or_default_s
    if period_s / asked_s > MAX_BINS:
        raise source.refuse(
            f"its period of {period_s:g} s has more than {MAX_BINS} bins of {asked_s:g} s",
            hint="give a longer --bin",
        )
    bins = max(round(period_s / asked_s), 1)
    bin_s = period_s / bins
    # What may leave at the very end belongs to the last bin: the next one is the first of the next period.
    place = np.minimum((t_ms * (bins / t_ms[-1])).astype(np.int64), bins - 1)
    return [
        Trace.of(
            np.arange(bins, dtype=np.float64) * bin_s,
            path=TracedPath.FORWARD if _is_uplink(source) else TracedPath.BACK,
            clocks=ClockVerdict.UNKNOWN,
            rate_bps=np.bincount(place, minlength=bins).astype(np.float64) * (PACKET_BITS / bin_s),
            bin_s=bin_s,
            source=f"{source.name}, mahimahi",
            source_sha256=source.sha256,
        )
    ]


def _is_uplink(source: TraceSource) -> bool:
    return source.name.removesuffix(".gz").endswith((".up", "-up", "_up", ".uplink", "-uplink", "_uplink"))


def _times_ms(source: TraceSource) -> NDArray[np.float64]:
    data = source.data().replace(b"\r\n", b"\n").rstrip(b"\n")
    if not data:
        raise source.refuse("holds no line", hint=_HINT)
    try:
        (t_ms,) = read_columns(data + b"\n", 1, [0])
    except NumberError as error:
        raise source.refuse(str(error), error.row + 1, _HINT) from None
    for broken, rule in (
        (np.isnan(t_ms), "an empty line"),
        (~((t_ms >= 0.0) & (t_ms <= MAX_TIME_MS)), f"must be within 0 .. {MAX_TIME_MS:.0f} ms"),
        (t_ms != np.floor(t_ms), "must be whole milliseconds"),
        (np.diff(t_ms, prepend=0.0) < 0.0, "must not be before the line above"),
    ):
        source.refuse_first(broken, rule, hint=_HINT, values=t_ms)
    if t_ms[-1] == 0.0:
        raise source.refuse("the last line is 0: a period of 0 ms", int(t_ms.size), "the last line is the period")
    return t_ms


IMPORTER = Importer(
    "mahimahi",
    "mahimahi's packet-delivery traces: ms a packet of 1500 bytes",
    _recognises,
    _read,
    frozenset({"bin_s"}),
)
