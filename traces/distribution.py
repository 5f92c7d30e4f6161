"""Distribution tables: the laws as quantiles, and the integers with which the kernel reproduces them.

Generated, never read from the system (distributions ship different tables, or none). Knows laws and the
kernel's arithmetic; knows no profile.

::

    standard_quantiles(law)  ->  scaled and clipped by DelayLaw  ->  scale_table  ->  (jitter_ns, table)
                                                                                          |
                                         kernel_delays_ns: what netem makes of it  <------'

The kernel picks an entry ``t`` at random and delays by ``latency + round(jitter * t / 8192)``. Entries are
16 bit, so the delays lie on a grid of jitter/8192. The jitter sent is therefore not the law's spread: it is
chosen so that the largest deviation falls on the largest entry. No tail is cut, and the grid is as fine as
16 bits allow (a largest deviation of 100 ms gives steps of 3 us).
"""

from __future__ import annotations

from functools import lru_cache
from statistics import NormalDist
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "LAWS",
    "Law",
    "kernel_delay_ns",
    "kernel_delays_ns",
    "scale_table",
    "shared_entries",
    "shared_table",
    "standard_quantiles",
]

Law = Literal["uniform", "normal", "pareto", "paretonormal", "table"]
LAWS: tuple[str, ...] = get_args(Law)

TABLE_ENTRIES = 16384
"""The most entries the kernel takes; the finest tail a table can have."""

SHORT_TABLE_ENTRIES = 4096
"""Entries where many tables are held or sent: the steps of a Schedule, the slots."""

TABLE_SCALE = 8192
TABLE_REACH = 32767
MAX_JITTER_NS = 2**31 - 1
MAX_REACH_S = MAX_JITTER_NS * TABLE_REACH // TABLE_SCALE / 1e9
"""The largest deviation from the mean that a table can hold: 8.59 s."""

_PARETO_SHAPE = 3.0
_PARETO_SHARE = 0.75


@lru_cache(maxsize=32)
def standard_quantiles(law: str, entries: int) -> NDArray[np.float64]:
    """Return a law's quantiles at (i + 1/2) / entries, mean 0, spread 1.

    The spread is the half-width for ``uniform`` and the standard deviation *of the table* for the others,
    so that what is delivered has the asked mean and deviation although a table has no infinite tail.

    ``normal``: the Gaussian. ``pareto``: Pareto's law of shape 3. ``paretonormal``: a quarter of the normal
    and three quarters of the Pareto quantile.

    Args:
        law: ``uniform``, ``normal``, ``pareto`` or ``paretonormal``.
        entries: How many quantiles.

    Returns:
        Ascending quantiles, ``[entries]``, read-only.
    """
    probability = (np.arange(entries) + 0.5) / entries
    if law == "uniform":
        quantiles = 2.0 * probability - 1.0
    else:
        normal = _normal_quantiles(entries)
        pareto = (1.0 - probability) ** (-1.0 / _PARETO_SHAPE)
        if law == "normal":
            quantiles = normal
        elif law == "pareto":
            quantiles = _standardised(pareto)
        else:
            quantiles = _standardised((1.0 - _PARETO_SHARE) * normal + _PARETO_SHARE * _standardised(pareto))
    quantiles.flags.writeable = False
    return quantiles


@lru_cache(maxsize=32)
def shared_table(law: str, entries: int) -> tuple[tuple[int, ...], float]:
    """Return a law's table and the deviation, in spreads, that its largest possible entry stands for.

    One table serves every profile of the law: only the jitter sent with it differs. A schedule of a thousand
    steps thus holds one table.
    """
    quantiles = standard_quantiles(law, entries)
    largest = float(np.abs(quantiles).max())
    # Equal steps stay equal where they are whole numbers: the uniform law gives up one entry of 32767.
    top = TABLE_REACH // (entries - 1) * (entries - 1) if law == "uniform" else TABLE_REACH
    scaled = np.rint(quantiles * (top / largest)).astype(np.int64)
    return tuple(scaled.tolist()), largest * TABLE_REACH / top


@lru_cache(maxsize=32)
def shared_entries(law: str, entries: int) -> NDArray[np.int64]:
    """Return the shared table as an array, ``[entries]``, read-only: a tuple takes long to become one."""
    table = np.array(shared_table(law, entries)[0], dtype=np.int64)
    table.flags.writeable = False
    return table


def kernel_delays_ns(
    latency_ns: int, jitter_ns: int, table: tuple[int, ...] | NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return the delay that netem makes of each entry of a table, by its own integer arithmetic.

    Source: the algorithm as described in docs/netem.md; checked against recorded packets in the tests.
    """
    entries = np.asarray(table, dtype=np.int64)
    product = (jitter_ns % TABLE_SCALE) * entries
    half = TABLE_SCALE // 2
    # C divides towards zero.
    rounded = np.where(product >= 0, (product + half) // TABLE_SCALE, -((half - product) // TABLE_SCALE))
    return rounded + (jitter_ns // TABLE_SCALE) * entries + latency_ns


def kernel_delay_ns(latency_ns: int, jitter_ns: int, entry: int) -> int:
    """Return the delay that netem makes of one entry: as ``kernel_delays_ns``, without the price of an array."""
    product, half = (jitter_ns % TABLE_SCALE) * entry, TABLE_SCALE // 2
    rounded = (product + half) // TABLE_SCALE if product >= 0 else -((half - product) // TABLE_SCALE)
    return rounded + (jitter_ns // TABLE_SCALE) * entry + latency_ns


def scale_table(delays_ns: NDArray[np.float64], latency_ns: int) -> tuple[int, tuple[int, ...]]:
    """Return the jitter and the table with which netem delivers ``delays_ns``, none of them below zero.

    Where the delays begin at zero (a clipped law), the grid is laid so that it has a point within 4 ns of
    zero: all the clipped packets share that entry, and half a grid step of each would move the mean.

    Args:
        delays_ns: Wanted delays, each equally likely, ``[n]``, none negative, none further than
            ``MAX_REACH_S`` from the latency.
        latency_ns: The delay of an entry of zero.

    Returns:
        Jitter to send in ns (0 where all delays equal the latency) and the table's entries.
    """
    deviations_ns = delays_ns - latency_ns
    reach_ns = float(np.abs(deviations_ns).max())
    if reach_ns < 0.5:
        return 0, (0,)
    jitter_ns = max(1, int(np.ceil(reach_ns * TABLE_SCALE / TABLE_REACH)))
    if float(delays_ns.min()) == 0.0:
        steps_to_zero = latency_ns * TABLE_SCALE // jitter_ns
        if steps_to_zero and latency_ns * TABLE_SCALE // steps_to_zero <= MAX_JITTER_NS:
            jitter_ns = latency_ns * TABLE_SCALE // steps_to_zero
    entries = np.rint(deviations_ns * (TABLE_SCALE / jitter_ns)).astype(np.int64)
    entries = np.clip(entries, -TABLE_REACH, TABLE_REACH)
    entries += kernel_delays_ns(latency_ns, jitter_ns, tuple(entries.tolist())) < 0
    return jitter_ns, tuple(entries.tolist())


def _normal_quantiles(entries: int) -> NDArray[np.float64]:
    inverse = NormalDist().inv_cdf
    upper = [inverse((i + 0.5) / entries) for i in range((entries + 1) // 2, entries)]
    middle = [0.0] if entries % 2 else []
    return _standardised(np.array([-z for z in reversed(upper)] + middle + upper))


def _standardised(values: NDArray[np.float64]) -> NDArray[np.float64]:
    centred = values - values.mean()
    spread = float(centred.std())
    standard: NDArray[np.float64] = centred / spread if spread > 0.0 else centred
    return standard
