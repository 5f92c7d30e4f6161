"""Outages: runs of packets lost one after another, in time: when each began and how long it lasted.

::

    sent     .  .  x  x  x  .  .        x lost
                   |-------|            from the first that was lost to the next that arrived

Every packet stands for the time until the next one was sent (``sending.py``). Knows a trace's losses alone.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from netlab.traces.fit.sending import held_s, mean_interval_s
from netlab.traces.loss_run import runs_of
from netlab.traces.trace import UNKNOWN, Trace

__all__ = ["Outages", "find_outages"]


class Outages(NamedTuple):
    """Runs of lost packets, in order, ``[runs]`` each.

    Attributes:
        begin_s: When the first lost packet of each was sent.
        end_s: When the next packet that arrived was sent.
        packets: How many packets each lost.
        interval_s: How far apart the packets are on average of which it is known whether they were lost.
    """

    begin_s: NDArray[np.float64]
    end_s: NDArray[np.float64]
    packets: NDArray[np.int64]
    interval_s: float

    @property
    def length_s(self) -> NDArray[np.float64]:
        """Return how long each lasted, ``[runs]``."""
        return self.end_s - self.begin_s


def find_outages(trace: Trace) -> Outages:
    """Return the runs of lost packets; packets of which it is not known are passed over.

    None where it is not known which packets were lost, only how many.
    """
    known = trace.lost != UNKNOWN
    sent_s, lost = trace.t_s[known], trace.lost[known] == 1
    if not sent_s.size:
        nothing = np.empty(0)
        return Outages(nothing, nothing, np.empty(0, dtype=np.int64), 0.0)
    until_s = sent_s + held_s(sent_s)
    first, after = runs_of(lost if trace.has_loss_runs else np.zeros_like(lost))
    packets = (after - first).astype(np.int64)
    return Outages(sent_s[first], until_s[after - 1], packets, mean_interval_s(sent_s))
