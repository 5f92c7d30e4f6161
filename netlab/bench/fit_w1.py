"""How near a link's delays come to the data they were fitted to: netlab's table against iproute2's."""

from __future__ import annotations

import importlib.resources
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from netlab.bench.figure import Figure
from netlab.bench.maketable import maketable_delay
from netlab.traces.delay_law import KernelDelay
from netlab.traces.distance import wasserstein_1
from netlab.traces.distribution import kernel_delays_ns
from netlab.traces.fit.quantile_table import delay_fields
from netlab.traces.profile import LinkProfile
from netlab.traces.series import read_series

__all__ = ["fit_w1"]

SEED = 7
DEALS = 10
"""Times that the data are dealt into two halves: single deals differ by half."""

SERIES_FILE = "nist_ping_series.dat"


class DataSet(NamedTuple):
    """Delays, and how much nearer netlab's table has to come to them."""

    name: str
    delay_s: NDArray[np.float64]
    times: float


class Distances(NamedTuple):
    """Wasserstein distances to a data set, in seconds.

    Attributes:
        data: Which.
        ours_s: Of netlab's table to the data that it was made of.
        reference_s: Of the reference's table to the same.
        held_out_s: Of netlab's table made of a random half, to the other half; the mean of ten deals.
        reference_held_out_s: Of the reference's.
    """

    data: DataSet
    ours_s: float
    reference_s: float
    held_out_s: float
    reference_held_out_s: float

    @property
    def times(self) -> float:
        """Return how many times nearer netlab's table is."""
        return self.reference_s / self.ours_s

    @property
    def holds(self) -> bool:
        """Tell whether that is as much as is asked."""
        return self.times >= self.data.times


def fit_w1(say: Callable[[str], None]) -> Figure:
    """Fit a table to each data set both ways, and compare what netem makes of the tables with the data."""
    distances = []
    for data in data_sets():
        say(f"{data.name}, {data.delay_s.size} delays")
        distances.append(measure(data))
    least = min(distances, key=lambda one: one.times / one.data.times)
    return Figure(
        name="fit-w1",
        value=least.times,
        unit=f"times nearer to the data than maketable's, {least.data.name}",
        target="; ".join(f"{one.data.name} at least {one.data.times:g}" for one in distances),
        holds=all(one.holds for one in distances),
        n=sum(one.data.delay_s.size for one in distances),
        spread="; ".join(_text(one) for one in distances),
        note="Wasserstein distance from the delays that netem draws, by the kernel's own integers, to the data "
        "that the table was made of; made of a random half and held against the other, where chance is in both: "
        + "; ".join(_held_out_text(one) for one in distances)
        + ". A schedule sends tables of 4,096 entries, a profile of up to 16,384",
    )


def data_sets() -> list[DataSet]:
    """Return the data: measured pings, a column of round trips as mobile speed tests have, a bursty satellite."""
    return [
        DataSet("ping series", _ping_series(), 5.0),
        DataSet("round-trip column", _column(), 3.0),
        DataSet("satellite", _satellite(held=True), 3.0),
        DataSet("satellite, outages lost", _satellite(held=False), 3.0),
    ]


def measure(data: DataSet) -> Distances:
    """Return how far both tables are from a data set, the one they were made of and one held out."""
    far = [_distance(table(data.delay_s), data.delay_s) for table in (_table_delay, maketable_delay)]
    rng = np.random.default_rng(SEED)
    held_out = np.zeros(2)
    for _ in range(DEALS):
        dealt_s = rng.permutation(data.delay_s)
        half_s, other_s = dealt_s[::2], dealt_s[1::2]
        held_out += [_distance(table(half_s), other_s) / DEALS for table in (_table_delay, maketable_delay)]
    return Distances(data, *far, *held_out.tolist())


def _table_delay(delay_s: NDArray[np.float64]) -> KernelDelay:
    return LinkProfile(**delay_fields(delay_s)).delay_law.to_kernel()


def _distance(kernel: KernelDelay, delay_s: NDArray[np.float64]) -> float:
    delays_ns = kernel_delays_ns(kernel.latency_ns, kernel.jitter_ns, kernel.table or (0,))
    # What would lie below zero, netem delivers at once.
    return wasserstein_1(np.maximum(delays_ns, 0) / 1e9, delay_s)


def _ping_series() -> NDArray[np.float64]:
    resource = importlib.resources.files("netlab.traces") / "data" / SERIES_FILE
    with importlib.resources.as_file(resource) as path:
        return np.array(read_series(path).rtt_s)


def _column() -> NDArray[np.float64]:
    rng = np.random.default_rng(SEED)
    return np.minimum(45.0 * np.exp(0.6 * rng.standard_normal(1000)), 500.0) / 1e3


def _satellite(*, held: bool) -> NDArray[np.float64]:
    """Return five minutes at 100 samples a second of a path whose level changes every 15 s.

    Args:
        held: Packets sent in an outage wait until it ends; else they are lost and leave no delay.
    """
    rng = np.random.default_rng(SEED)
    samples, a_level, an_outage, out_ratio = 30_000, 1500, 30, 0.01
    level_s = rng.choice((0.140, 0.165, 0.190), size=samples // a_level).repeat(a_level)
    delay_s = level_s + rng.normal(0.0, 0.006, samples)
    outage = np.zeros(samples // an_outage, dtype=bool)
    outage[rng.choice(outage.size, size=round(out_ratio * outage.size), replace=False)] = True
    out = outage.repeat(an_outage)
    until_end_s = np.tile(np.arange(an_outage, 0, -1) / 100.0, outage.size)
    return np.where(out, delay_s + until_end_s, delay_s) if held else delay_s[~out]


def _text(one: Distances) -> str:
    return (
        f"{one.data.name} {1e3 * one.ours_s:.3g} ms against {1e3 * one.reference_s:.3g} ms, {one.times:.3g} times"
    )


def _held_out_text(one: Distances) -> str:
    return f"{one.data.name} {1e3 * one.held_out_s:.3g} against {1e3 * one.reference_held_out_s:.3g} ms"
