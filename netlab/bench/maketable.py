"""The way in which iproute2 makes a delay table of measurements, written anew as a reference to compare with.

::

    samples --(x - mean) / sd--> counted in bins over +- 4 sd --> running sum --inverted--> 4096 entries of 16 bit
                                 further ones into the last bin

netem is then asked for the mean as delay and the deviation as jitter; an entry of 8192 is one deviation. What
lies beyond 4 deviations cannot be said so, and 4096 entries are what the tool makes. Two of its oddities belong
to it: where nothing was measured between two values, an entry is between them; and the last entry is 4
deviations, whatever the longest delay was.

Source: iproute2, ``maketable``; tc-netem(8), ``distribution``.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from netlab.traces.delay_law import KernelDelay

__all__ = ["maketable_delay"]

ENTRIES = 4096
SCALE = 8192
DEVIATIONS = 4
BINS_A_DEVIATION = 50_000
LARGEST, LEAST = 32767, -32767


def maketable_delay(delay_s: NDArray[np.float64]) -> KernelDelay:
    """Return delay, jitter and table that a person has from that tool for these delays.

    Args:
        delay_s: At least two different delays, ``[n]``.
    """
    mean_s, sd_s = float(delay_s.mean()), float(delay_s.std(ddof=1))
    return KernelDelay(round(mean_s * 1e9), round(sd_s * 1e9), _inverted((delay_s - mean_s) / sd_s))


def _inverted(deviations: NDArray[np.float64]) -> tuple[int, ...]:
    """Return the inverse of the distribution function of standardised samples, at equal steps."""
    bins = 2 * DEVIATIONS * BINS_A_DEVIATION
    places = np.rint((deviations + DEVIATIONS) * BINS_A_DEVIATION).astype(np.int64)
    reached = np.cumsum(np.bincount(np.clip(places, 0, bins - 1), minlength=bins)) / deviations.size
    entry = np.minimum(np.rint(reached * ENTRIES).astype(np.int64), ENTRIES - 1)
    value = np.clip(np.rint((np.arange(bins) / BINS_A_DEVIATION - DEVIATIONS) * SCALE), LEAST, LARGEST)
    # Of all bins that fall on an entry the last one counts; entries on which none falls lie between neighbours.
    last = np.append(np.diff(entry) > 0, True)
    table = np.interp(np.arange(ENTRIES), entry[last], value[last])
    return tuple(np.rint(table).astype(np.int64).tolist())
