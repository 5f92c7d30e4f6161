"""ERRANT's CSV of speed tests on mobile networks: one test a row, of many places and times, so no time series.

::

    operator,country,access_technology,rssi,download_mbps,upload_mbps,rtt_ms
    telenor,norway,4G,-55.1,7.64,6.12,83.1

    rtt_ms         -->  round trip
    upload_mbps    -->  forward: from the user's host
    download_mbps  -->  back: to the user's host

Rows get times one interval apart (1 s, or ``--interval``), as a trace must have some. What a fit takes from them,
the distribution, does not depend on it. Tests of one operator and technology are picked with ``grep`` before.

ERRANT's scenarios (``operator,country,rat,quality,duration,period``) name its own models and hold no sample.

Source: Trevisan et al., "ERRANT: Realistic Emulation of Radio Access Networks" (Computer Networks, 2020).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from netlab.errors import TraceError
from netlab.traces.importers.header_table import FIRST_ROW, read_table
from netlab.traces.importers.importer import Importer, ImportOptions
from netlab.traces.trace import ClockVerdict, Trace, TracedPath
from netlab.traces.trace_source import TraceSource

__all__ = ["IMPORTER"]

NEEDED = ("download_mbps", "upload_mbps", "rtt_ms")
SCENARIO = ("operator", "country", "rat", "quality", "duration", "period")
MAX_RTT_MS = 3_600_000.0
MAX_RATE_MBPS = 1e7
_HINT = "rows are as in: telenor,norway,4G,-55.1,7.64,6.12,83.1"

Floats = NDArray[np.float64]


def _header(source: TraceSource) -> tuple[str, ...]:
    line = source.head_lines[0] if source.head_lines else b""
    return tuple(name.strip().lower() for name in line.decode("ascii", "replace").split(","))


def _recognises(source: TraceSource) -> bool:
    header = _header(source)
    return header == SCENARIO or ("operator" in header and all(name in header for name in NEEDED))


def _read(source: TraceSource, options: ImportOptions) -> list[Trace]:
    header = _header(source)
    if header == SCENARIO:
        raise _no_samples(source)
    for name in NEEDED:
        if header.count(name) != 1:
            raise source.refuse(f"needs one column {name} in its first line", 1, f"it names {', '.join(NEEDED)}")
    download_mbps, upload_mbps, rtt_ms = read_table(
        source, len(header), [header.index(name) for name in NEEDED], "test", _HINT
    )
    for name, column, least, most, rule in (
        ("rtt_ms", rtt_ms, np.nextafter(0.0, 1.0), MAX_RTT_MS, "above 0, at most 1 h"),
        ("download_mbps", download_mbps, 0.0, MAX_RATE_MBPS, "0 .. 1e7 Mbit/s"),
        ("upload_mbps", upload_mbps, 0.0, MAX_RATE_MBPS, "0 .. 1e7 Mbit/s"),
    ):
        broken = (column < least) | (column > most)
        source.refuse_first(broken, f"{name} must be {rule}", FIRST_ROW, _HINT)
    t_s = np.arange(rtt_ms.size, dtype=np.float64) * options.interval_or_default_s
    words = f"{source.name}, ERRANT: one speed test a row, no time series: times are row numbers"

    def rates_of(rate_mbps: Floats, path: TracedPath) -> Trace:
        return Trace.of(
            t_s,
            path=path,
            clocks=ClockVerdict.UNKNOWN,
            rate_bps=rate_mbps * 1e6,
            bin_s=options.interval_or_default_s,
            source=words,
            source_sha256=source.sha256,
        )

    round_trip = Trace.of(
        t_s,
        path=TracedPath.ROUND_TRIP,
        clocks=ClockVerdict.ONE_CLOCK,
        delay_s=rtt_ms / 1e3,
        source=words,
        source_sha256=source.sha256,
    )
    return [round_trip, rates_of(upload_mbps, TracedPath.FORWARD), rates_of(download_mbps, TracedPath.BACK)]


def _no_samples(source: TraceSource) -> TraceError:
    return source.refuse(
        "is a scenario of ERRANT: it names qualities and for how long they hold, and has no sample in it",
        hint=f"give the speed tests its models are made of instead: a CSV with {', '.join(NEEDED)} a row",
    )


IMPORTER = Importer(
    "errant",
    "ERRANT's speed tests: a CSV of rtt_ms, upload_mbps, download_mbps",
    _recognises,
    _read,
    frozenset({"interval_s"}),
)
