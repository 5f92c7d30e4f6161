"""Oboe's traces: the rates at which a player's video chunks came, in ms and kbit/s, two lines a chunk.

::

    12.0   3738.8          a chunk came from 12 ms to 401 ms, at 3738.8 kbit/s
    401.0  3738.8
    514.0  3748.9          the next from 514 ms; between them nobody knows: the mean of both
    846.0  3748.9

Where not all lines come in such twos, a rate simply holds until the next line. It is what a player received: back.

Source: the dataset's README (Akhtar et al., "Oboe: Auto-tuning Video ABR Algorithms to Network Conditions",
SIGCOMM 2018), which proposes to interpolate between chunks.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from netlab.traces.importers.importer import Importer, ImportOptions
from netlab.traces.importers.number_pairs import head_pairs, read_pairs
from netlab.traces.trace import MAX_TIME_S, ClockVerdict, Trace, TracedPath
from netlab.traces.trace_source import TraceSource

__all__ = ["IMPORTER"]

MAX_TIME_MS = MAX_TIME_S * 1e3
MAX_RATE_KBPS = 1e10
MIN_USUAL_STEP_MS = 50.0
"""Steps nearer to each other are rather seconds."""

MIN_USUAL_RATE_KBPS = 100.0
"""Lower rates are rather Mbit/s."""

_HINT = "milliseconds and kbit/s a line, for example: 401.0 3738.8"

Floats = NDArray[np.float64]


def _is_chunked(times: Floats, rates: Floats) -> bool:
    """Tell whether all lines come in twos of the same rate, as the beginning and the end of a chunk have it."""
    whole = times.size // 2 * 2
    return whole > 0 and bool((rates[0:whole:2] == rates[1:whole:2]).all())


def _recognises(source: TraceSource) -> bool:
    pairs = head_pairs(source)
    if pairs is None or pairs[0].size < 2:
        return False
    times, rates = pairs
    if float(np.median(np.diff(times))) >= MIN_USUAL_STEP_MS:
        return True
    return _is_chunked(times, rates) and float(np.median(rates)) >= MIN_USUAL_RATE_KBPS


def _read(source: TraceSource, options: ImportOptions) -> list[Trace]:
    t_ms, rate_kbps = read_pairs(source, MAX_TIME_MS, MAX_RATE_KBPS, _HINT)
    words = f"{source.name}, oboe"
    if t_ms.size % 2 == 0 and _is_chunked(t_ms, rate_kbps):
        rate_kbps = rate_kbps.copy()
        rate_kbps[1:-1:2] = (rate_kbps[1:-1:2] + rate_kbps[2::2]) / 2.0
        words += "; between chunks the mean of both"
    return [
        Trace.of(
            (t_ms - t_ms[0]) / 1e3,
            path=TracedPath.BACK,
            clocks=ClockVerdict.UNKNOWN,
            rate_bps=rate_kbps * 1e3,
            source=words,
            source_sha256=source.sha256,
        )
    ]


IMPORTER = Importer("oboe", "Oboe's traces: ms and kbit/s, two lines a chunk", _recognises, _read)
