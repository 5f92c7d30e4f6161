"""Outages: runs of packets lost one after another, in time: when each began and how long it lasted.

::

    sent     .  .  x  x  x  .  .        x lost
                   |-------|            from the first that was lost to the next that arrived

Every packet stands for the time until the next one was sent. Knows a trace's losses alone.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from netlab.traces.trace import UNKNOWN, Trace

__all__ = ["Outages", "find_outages"]

LONGEST_SILENCE = 5.0
"""A pause of the sender after a lost packet counts as outage for so many usual intervals at most."""


class Outages(NamedTuple):
    """Runs of lost packets, in order, ``[runs]`` each.

    Attributes:
        begin_s: When the first lost packet of each was sent.
        end_s: When the next packet that arrived was sent.
        packets: How many packets each lost.
        known_s: How much time the trace knows losses of, outages included.
    """

    begin_s: NDArray[np.float64]
    end_s: NDArray[np.float64]
    packets: NDArray[np.int64]
    known_s: float

    @property
    def length_s(self) -> NDArray[np.float64]:
        """Return how long each lasted, ``[runs]``."""
        return self.end_s - self.begin_s


def find_outages(trace: Trace) -> Outages:
    """Return the runs of lost packets; packets of which it is not known are passed over."""
    known = trace.lost != UNKNOWN
    sent_s, lost = trace.t_s[known], trace.lost[known] == 1
    if not sent_s.size:
        nothing = np.empty(0)
        return Outages(nothing, nothing, np.empty(0, dtype=np.int64), 0.0)
    usual_s = float(np.median(np.diff(sent_s))) if sent_s.size > 1 else 0.0
    until_s = np.append(sent_s[1:], sent_s[-1] + usual_s)
    # Of sending times that coincide for the most part nothing usual is known: then no pause is too long.
    if usual_s > 0.0:
        until_s = np.minimum(until_s, sent_s + LONGEST_SILENCE * usual_s)
    edges = np.diff(lost.astype(np.int8), prepend=0, append=0)
    first, after = np.flatnonzero(edges == 1), np.flatnonzero(edges == -1)
    known_s = float((until_s - sent_s).sum())
    return Outages(sent_s[first], until_s[after - 1], (after - first).astype(np.int64), known_s)
