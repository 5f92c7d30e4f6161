"""A list of round trips: one number in ms a line, as netem's ``.dat`` files have them.

::

    # optional comments first
    211.6        t = 0
    205.6        t = 1 s, or as --interval says

The smallest importer there is; docs/adding-a-trace-format.md builds it step by step. Nothing says when the
samples were taken, nor which were lost.
"""

from __future__ import annotations

import itertools
import re

import numpy as np

from netlab.traces.importers.importer import Importer, ImportOptions
from netlab.traces.number_columns import NumberError, read_columns
from netlab.traces.trace import ClockVerdict, Trace, TracedPath
from netlab.traces.trace_source import TraceSource

__all__ = ["IMPORTER"]

MAX_RTT_MS = 3_600_000

_COMMENTS = re.compile(rb"(?:#[^\n]*\n)*")
_NUMBER = re.compile(rb"[0-9]{1,7}(?:\.[0-9]{1,9})?\Z")
_SURELY_A_CLOCK = 50
_SURELY_A_PERIOD_MS = 100
_HINT = "one round trip in ms a line, for example 211.6; comments beginning with # come first"


def _recognises(source: TraceSource) -> bool:
    """Tell whether every line is one number above 0, and they are surely not a clock's, which never goes back."""
    lines = [line for line in source.head_lines if not line.startswith(b"#")]
    if not lines or not all(_NUMBER.match(line) and float(line) > 0.0 for line in lines):
        return False
    if len(lines) < _SURELY_A_CLOCK or any(b"." in line for line in lines):
        return True
    values = [int(line) for line in lines]
    gaps = [after - before for before, after in itertools.pairwise(values)]
    # A clock begins near 0, where no gap is longer than the first, and runs for longer than it takes to answer.
    return min(gaps) < 0 or max(gaps) < values[0] or values[-1] < _SURELY_A_PERIOD_MS


def _read(source: TraceSource, options: ImportOptions) -> list[Trace]:
    data = source.data().replace(b"\r\n", b"\n")
    if data and not data.endswith(b"\n"):
        data += b"\n"
    comments = _COMMENTS.match(data)
    assert comments is not None  # it matches nothing, too
    before = data.count(b"\n", 0, comments.end())
    try:
        (rtt_ms,) = read_columns(data, 1, [0], begin=comments.end())
    except NumberError as error:
        raise source.refuse(str(error), before + error.row + 1, _HINT) from None
    if not rtt_ms.size:
        raise source.refuse("holds no sample", hint=_HINT)
    source.refuse_first(np.isnan(rtt_ms), "an empty line", before + 1, _HINT)
    broken = ~((rtt_ms > 0.0) & (rtt_ms <= MAX_RTT_MS))
    source.refuse_first(broken, f"must be above 0 and at most {MAX_RTT_MS} ms", before + 1, _HINT, rtt_ms)
    return [
        Trace.of(
            np.arange(rtt_ms.size, dtype=np.float64) * options.interval_or_default_s,
            path=TracedPath.ROUND_TRIP,
            clocks=ClockVerdict.ONE_CLOCK,
            delay_s=np.round(rtt_ms / 1e3, 12),  # 211.6 ms is 0.2116 s
            source=f"{source.name}, rtt-list",
            source_sha256=source.sha256,
        )
    ]


IMPORTER = Importer(
    "rtt-list", "one round trip in ms a line (.dat)", _recognises, _read, frozenset({"interval_s"})
)
