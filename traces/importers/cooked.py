"""Cooked traces, as Pensieve and its successors read them: seconds and Mbit/s, at irregular times.

::

    0.0      4.0377        4.04 Mbit/s from 0 to 0.55 s
    0.55     4.7928        4.79 Mbit/s from 0.55 s on

A rate holds until the next line; the last for as long as lines usually are apart. It is what a phone received:
back. Pensieve's simulator uses a line's rate for the time *before* it instead: a shift by one line.

Source: the HSDPA logs of Riiser et al., "Commute Path Bandwidth Traces from 3G Networks" (MMSys 2013), in the form
of Mao et al., "Neural Adaptive Video Streaming with Pensieve" (SIGCOMM 2017).
"""

from __future__ import annotations

import numpy as np

from netlab.traces.importers.importer import Importer, ImportOptions
from netlab.traces.importers.number_pairs import head_pairs, read_pairs
from netlab.traces.trace import MAX_TIME_S, ClockVerdict, Trace, TracedPath
from netlab.traces.trace_source import TraceSource

__all__ = ["IMPORTER"]

MAX_RATE_MBPS = 1e7
MAX_USUAL_STEP_S = 50.0
"""Steps further apart are rather milliseconds, where the rates are no Mbit/s either."""

MAX_USUAL_RATE_MBPS = 100.0
_HINT = "seconds and Mbit/s a line, for example: 0.55 4.79"


def _recognises(source: TraceSource) -> bool:
    pairs = head_pairs(source)
    if pairs is None:
        return False
    times, rates = pairs
    step = float(np.median(np.diff(times))) if times.size > 1 else 0.0
    return step < MAX_USUAL_STEP_S or float(np.median(rates)) < MAX_USUAL_RATE_MBPS


def _read(source: TraceSource, options: ImportOptions) -> list[Trace]:
    t_s, rate_mbps = read_pairs(source, MAX_TIME_S, MAX_RATE_MBPS, _HINT)
    return [
        Trace.of(
            t_s - t_s[0],
            path=TracedPath.BACK,
            clocks=ClockVerdict.UNKNOWN,
            rate_bps=rate_mbps * 1e6,
            source=f"{source.name}, cooked",
            source_sha256=source.sha256,
        )
    ]


IMPORTER = Importer("cooked", "Pensieve's cooked traces (HSDPA, FCC): s and Mbit/s", _recognises, _read)
