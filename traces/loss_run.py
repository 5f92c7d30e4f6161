"""Loss runs: packets of one flow lost one after another.

::

    sent     .  x  .  x  x  ?  x  .        x lost, ? unknown
    runs        1     2        1           of how many packets; one of which nobody knows ends a run

A run that an unknown packet parts may be one or two; counted as two it is never longer than what was seen.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from netlab.traces.trace import Trace

__all__ = ["loss_runs", "runs_of"]


def loss_runs(trace: Trace) -> NDArray[np.int64]:
    """Return how many packets were lost in a row, a number a run, ``[runs]``.

    None where it is not known which packets were lost, only how many.
    """
    if not trace.has_loss_runs:
        return np.empty(0, dtype=np.int64)
    begins, ends = runs_of(trace.lost == 1)
    return ends - begins


def runs_of(flags: NDArray[np.bool_]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return where each run of true begins and where it has ended, ``[runs]`` each."""
    edges = np.diff(flags.astype(np.int8), prepend=0, append=0)
    return np.flatnonzero(edges == 1), np.flatnonzero(edges == -1)
