"""The LENS dataset's CSV of satellite links: made of irtt's JSON, or of ping's text.

::

    timestamp,rtt,uplink,downlink                  of irtt: ns since 1970, then ms
    1705744800626565141,120.126123,72.439368,47.68675
    1705744800616897349,0,0,-1                     lost on the way back; uplink -1: lost on the way there
    1705744800736637402,-1,0,0                     lost, nobody knows where

    timestamp,rtt                                  of ping: s since 1970 when the answer came, ms
    1705744800.533641,91.8

``-1`` counts as a loss in a row without a round trip only: between clocks out of step a delay may be -1 ms. The
one of ping has no sequence numbers: what was lost is not in it, so that nothing is known of losses.

Source: the dataset's README, "Processed CSV dataset" (Zhao, Pan, "LENS: A LEO Satellite Network Measurement
Dataset", MMSys 2024).
"""

from __future__ import annotations

import re

import numpy as np
from numpy.typing import NDArray

from netlab.traces.importers.header_table import FIRST_ROW, read_table
from netlab.traces.importers.importer import Importer, ImportOptions
from netlab.traces.importers.two_way_probes import ProbeFate, TwoWayProbes
from netlab.traces.trace import ClockVerdict, Trace, TracedPath
from netlab.traces.trace_source import TraceSource

__all__ = ["IMPORTER"]

IRTT_COLUMNS = b"timestamp,rtt,uplink,downlink"
PING_COLUMNS = b"timestamp,rtt"
MAX_DELAY_MS = 1e12
IRTT_STAMPS_NS = (1e17, 2.0**63)
PING_STAMPS_S = (1e8, 1e10)
"""Since 1970: from 1973 on. Other tables have the same two names above other units."""

_NUMBER = re.compile(rb"[0-9]{1,20}(?:\.[0-9]{1,20})?\Z")
_HINT = "rows are as in: 1705744800626565141,120.126123,72.439368,47.68675"

Floats = NDArray[np.float64]


def _header(source: TraceSource) -> bytes:
    return source.head_lines[0].strip().lower() if source.head_lines else b""


def _recognises(source: TraceSource) -> bool:
    if _header(source) != PING_COLUMNS:
        return _header(source) == IRTT_COLUMNS
    stamps = [line.partition(b",")[0] for line in source.head_lines[1:2]]
    low, high = PING_STAMPS_S
    return all(_NUMBER.match(stamp) and low <= float(stamp) <= high for stamp in stamps)


def _read(source: TraceSource, options: ImportOptions) -> list[Trace]:
    header = _header(source)
    if header not in (IRTT_COLUMNS, PING_COLUMNS):
        hint = f"it begins with {IRTT_COLUMNS.decode()} or {PING_COLUMNS.decode()}"
        raise source.refuse("the first line does not name the columns", 1, hint)
    width = header.count(b",") + 1
    columns = read_table(source, width, range(width), "row", _HINT)
    for column in columns[1:]:
        broken = ~(np.abs(column) <= MAX_DELAY_MS)
        source.refuse_first(broken, f"a field is empty or beyond +-{MAX_DELAY_MS:g}", FIRST_ROW, _HINT)
    (low, high), unit = (PING_STAMPS_S, "s") if header == PING_COLUMNS else (IRTT_STAMPS_NS, "ns")
    rule = f"the timestamp must be within {low:g} .. {high:g} {unit}, counted from 1970"
    hint = f"{_HINT}; of another table say the units: --column timestamp=t_s --column rtt=delay_ms"
    source.refuse_first(~((columns[0] >= low) & (columns[0] <= high)), rule, FIRST_ROW, hint, columns[0])
    if header == PING_COLUMNS:
        return [_of_ping(source, columns[0], columns[1])]
    return _of_irtt(source, *columns)


def _of_irtt(source: TraceSource, t_ns: Floats, rtt_ms: Floats, up_ms: Floats, down_ms: Floats) -> list[Trace]:
    source.refuse_first(
        np.diff(t_ns, prepend=t_ns[0]) < 0.0, "the timestamp must not be before the row above", FIRST_ROW, _HINT
    )
    fate = np.full(t_ns.size, ProbeFate.ANSWERED, dtype=np.int8)
    fate[(rtt_ms == -1.0) & (up_ms == 0.0) & (down_ms == 0.0)] = ProbeFate.LOST
    fate[(rtt_ms == 0.0) & (up_ms == -1.0) & (down_ms == 0.0)] = ProbeFate.LOST_FORWARD
    fate[(rtt_ms == 0.0) & (up_ms == 0.0) & (down_ms == -1.0)] = ProbeFate.LOST_BACK
    answered = fate == ProbeFate.ANSWERED
    source.refuse_first(
        answered & (rtt_ms <= 0.0), "neither a round trip nor one of the three ways to be lost", FIRST_ROW, _HINT
    )

    def known_s(column_ms: Floats) -> Floats:
        seconds: Floats = np.where(answered, column_ms, np.nan) / 1e3
        return seconds

    probes = TwoWayProbes(
        t_s=(t_ns - t_ns[0]) / 1e9,
        round_trip_s=known_s(rtt_ms),
        forward_s=known_s(up_ms),
        back_s=known_s(down_ms),
        fate=fate,
        single=False,
    )
    return probes.traces(source, f"{source.name}, LENS CSV of irtt")


def _of_ping(source: TraceSource, came_s: Floats, rtt_ms: Floats) -> Trace:
    source.refuse_first(rtt_ms <= 0.0, "the round trip must be above 0", FIRST_ROW, _HINT)
    sent_s = came_s - rtt_ms / 1e3
    order = np.argsort(sent_s, kind="stable")
    return Trace.of(
        sent_s[order] - sent_s.min(),
        path=TracedPath.ROUND_TRIP,
        clocks=ClockVerdict.ONE_CLOCK,
        delay_s=rtt_ms[order] / 1e3,
        source=f"{source.name}, LENS CSV of ping",
        source_sha256=source.sha256,
    )


IMPORTER = Importer("lens", "the LENS dataset's CSV: timestamp,rtt,uplink,downlink", _recognises, _read)
