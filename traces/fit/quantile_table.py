"""Quantile table: measured delays as so many equally likely values, no more of them than it takes.

::

    sorted delays   | | || |||||||| ||| | |   |        |
    table           |   |  |  |  |  |   |      |        each stands for a like share of the packets

The values at (i + 1/2)/n are the ones nearest to the data among all tables of n entries (they are the medians
of its n equal parts). The kernel's integers for a table are made by ``DelayLaw``, scaled to its furthest entry.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from netlab.traces.distance import wasserstein_1
from netlab.traces.distribution import MAX_REACH_S, TABLE_ENTRIES

__all__ = ["delay_fields", "quantile_table", "within_reach"]

SIZES = (256, 1024, 4096, 8192, TABLE_ENTRIES)
WORTH_ENTRIES = 2e-4
"""A table is long enough when it is nearer to the data (Wasserstein) than so many of their deviations."""

_REACH_S = 0.999 * MAX_REACH_S


def quantile_table(delay_s: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the shortest table that is near enough to the data, or the longest there is.

    Every entry is one of the delays, so a file has no more digits than the measurement had.

    Args:
        delay_s: Delays in any order, at least one, ``[n]``.

    Returns:
        Equally likely delays, ascending, ``[entries]``; all of them where they are few.
    """
    ordered = np.sort(delay_s)
    near_s = WORTH_ENTRIES * float(ordered.std())
    table = ordered
    for entries in SIZES:
        if ordered.size <= entries:
            return ordered
        table = ordered[((2 * np.arange(entries) + 1) * ordered.size) // (2 * entries)]
        if wasserstein_1(table, ordered) <= near_s:
            break
    return table


def within_reach(delay_s: NDArray[np.float64]) -> tuple[NDArray[np.float64], int]:
    """Return delays none of which is further from their mean than netem's tables reach, and how many were cut."""
    longest_s = float(delay_s.max())
    cut_s = delay_s
    # Cutting lowers the mean, and so what is in reach; each turn by less.
    while float(cut_s.max()) - float(cut_s.mean()) > _REACH_S:
        longest_s = float(cut_s.mean()) + 0.99 * _REACH_S
        cut_s = np.minimum(cut_s, longest_s)
    if float(cut_s.mean()) - float(cut_s.min()) > _REACH_S:
        longest_s = float(cut_s.min()) + _REACH_S
        cut_s = np.minimum(cut_s, longest_s)
    return cut_s, int((delay_s > longest_s).sum())


def delay_fields(delay_s: NDArray[np.float64]) -> dict[str, Any]:
    """Return the fields of a LinkProfile with these delays: a table, or one delay where all are alike."""
    # The table's mean is not quite the data's, and it is the mean that netem's reach counts from.
    table, _ = within_reach(quantile_table(delay_s))
    if float(table[-1]) - float(table[0]) < 1e-9:
        return {"delay_s": float(table[0])}
    return {"law": "table", "delay_table_s": tuple(table.tolist())}
