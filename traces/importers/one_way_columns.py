"""Delays forward and back as columns of a table: what two hosts' clocks make of them, and what is left.

::

    forward_delay_ms, back_delay_ms         10488, -10471     clocks 10.48 s apart
            --clock_sync--> verdict         8.4, 8.6          corrected
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from netlab.traces.clock_sync import MIN_DELAYS, synchronise
from netlab.traces.trace import MAX_TIME_S, ClockVerdict
from netlab.traces.trace_source import TraceSource

__all__ = ["OneWayDelays", "one_way_delays"]

_ALONE = (
    "the clocks of the two hosts differ, and one direction does not show by how much: give the delays of both "
    "(forward_delay_ms, back_delay_ms); of one alone the variation is known only (variation-only)"
)
_BOUNDS = "decimal numbers in the unit that the column's name says, empty where unknown"
_BOTH = "the clocks of two hosts explain one of them, not both; leave the field of a lost packet empty"

Floats = NDArray[np.float64]


class OneWayDelays(Struct, frozen=True, eq=False):
    """Delays of both directions and what is known of the clocks.

    Attributes:
        forward_s: NaN where unknown; None where there is no such column, ``[n]``.
        back_s: The same.
        clocks: The verdict.
        words: Its reason, for a person; empty where the delays are as they were.
    """

    forward_s: Floats | None
    back_s: Floats | None
    clocks: ClockVerdict
    words: str


def one_way_delays(
    source: TraceSource, first_line: int, t_s: Floats, forward_s: Floats | None, back_s: Floats | None
) -> OneWayDelays:
    """Return one-way delays as they can be believed.

    A table does not say how many clocks there were. So a few delays of which none is negative stay what they are;
    from five of each direction on, the lower envelopes decide.

    Args:
        source: The file, for errors.
        first_line: The line of the first row.
        t_s: When each row was, ``[n]``.
        forward_s: NaN where unknown; None where nothing is said of the direction, ``[n]``.
        back_s: The same.

    Raises:
        TraceError: A negative delay of one direction alone, or of both in one row.
    """
    if forward_s is None or back_s is None:
        for alone in (forward_s, back_s):
            if alone is not None:
                source.refuse_first(alone < 0.0, "a one-way delay below 0", first_line, _ALONE)
        return OneWayDelays(forward_s, back_s, ClockVerdict.UNKNOWN, "")
    for way in (forward_s, back_s):
        # Before it is calculated with, so that nothing overflows.
        source.refuse_first(np.abs(way) > MAX_TIME_S, f"a delay beyond +-{MAX_TIME_S:g} s", first_line, _BOUNDS)
    negative = (forward_s < 0.0, back_s < 0.0)
    source.refuse_first(negative[0] & negative[1], "the delays of both directions are below 0", first_line, _BOTH)
    if not (np.diff(t_s, prepend=0.0) >= 0.0).all():
        return OneWayDelays(forward_s, back_s, ClockVerdict.UNKNOWN, "")  # a trace will refuse the row
    known = min(int(np.count_nonzero(~np.isnan(way))) for way in (forward_s, back_s))
    if known < MIN_DELAYS and not (negative[0] | negative[1]).any():
        return OneWayDelays(forward_s, back_s, ClockVerdict.UNKNOWN, "")
    clocks = synchronise(t_s, forward_s, t_s, back_s)
    return OneWayDelays(clocks.forward_s, clocks.back_s, clocks.verdict, clocks.words)
