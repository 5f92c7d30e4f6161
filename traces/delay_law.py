"""DelayLaw: how a delay is distributed, and what of it the kernel delivers.

Shared by a link's delay and by the spacing of its slots. Knows the laws and netem's numbers for them; knows
neither loss nor rate.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from netlab.errors import ProfileError
from netlab.traces.bound import bounded_duration_s
from netlab.traces.distribution import (
    LAWS,
    MAX_JITTER_NS,
    MAX_REACH_S,
    TABLE_ENTRIES,
    TABLE_REACH,
    TABLE_SCALE,
    Law,
    kernel_delay_ns,
    kernel_delays_ns,
    scale_table,
    shared_entries,
    shared_table,
    standard_quantiles,
)

__all__ = ["DelayLaw", "KernelDelay"]

_FINE_JITTER_NS = 8192
"""Below this the shared table's rounding of the jitter shows; a table of its own is made."""


class KernelDelay(NamedTuple):
    """A delay as netem has it: ``latency_ns``, ``jitter_ns``, ``table`` (None for its own uniform law)."""

    latency_ns: int
    jitter_ns: int
    table: tuple[int, ...] | None


class DelayLaw(Struct, frozen=True, kw_only=True):
    """A distribution of delays, in SI units; what falls below zero is clipped at zero.

    Attributes:
        delay_s: Mean (before clipping); 0 with the law ``table``.
        jitter_s: Half-width for ``uniform``; standard deviation for ``normal``, ``pareto``, ``paretonormal``;
            0 with ``table``.
        law: Name of the law.
        table_s: Equally likely delays in ascending order, for ``table`` alone.
        entries: How many entries a generated table has.
    """

    delay_s: float = 0.0
    jitter_s: float = 0.0
    law: Law = "normal"
    table_s: tuple[float, ...] = ()
    entries: int = TABLE_ENTRIES

    def check(self, prefix: str = "") -> None:
        """Refuse what is no law of delays.

        Args:
            prefix: Put before the field's name in a message, for example ``slot.``.

        Raises:
            ProfileError: A field is out of range, or fields contradict one another.
        """
        if self.law not in LAWS:
            raise ProfileError(f"{prefix}law = {self.law!r}: must be one of {', '.join(LAWS)}")
        bounded_duration_s(f"{prefix}delay_s", self.delay_s)
        bounded_duration_s(f"{prefix}jitter_s", self.jitter_s)
        if self.law == "table":
            self._check_table(prefix)
        elif self.table_s:
            raise ProfileError(
                f"{prefix}delay_table_s is given with law = {self.law!r}: only the law 'table' has a table",
                hint="write law = 'table', or leave the table out",
            )
        elif self.jitter_s > 0.0 and self.delay_s == 0.0:
            raise ProfileError(
                f"{prefix}jitter_s = {self.jitter_s!r} without a delay: a delay cannot be below zero, "
                "so half of the law would be cut off",
                hint="give a delay of a few times the jitter, or a table of the delays you mean",
            )
        self._check_reach(prefix)

    def _check_reach(self, prefix: str) -> None:
        if self.law == "table":
            mean_s = sum(self.table_s) / len(self.table_s)
            reach_s = max(mean_s - self.table_s[0], self.table_s[-1] - mean_s)
        else:
            quantiles = standard_quantiles(self.law, self.entries)  # ascending
            reach_s = self.jitter_s * float(max(-quantiles[0], quantiles[-1]))
        if reach_s > MAX_REACH_S:
            raise ProfileError(
                f"{prefix}jitter_s = {self.jitter_s!r} with law = {self.law!r}: the longest delay is "
                f"{reach_s:.3g} s from the mean, a netem table reaches {MAX_REACH_S:.2f} s",
                hint="lower the jitter; the heavy tail of a pareto law reaches 37 times its jitter",
            )

    def _check_table(self, prefix: str) -> None:
        if self.delay_s or self.jitter_s:
            raise ProfileError(
                f"{prefix}delay_s or jitter_s is given with law = 'table': the table holds whole delays",
                hint="add the delay to each entry of the table and leave delay and jitter out",
            )
        if not 2 <= len(self.table_s) <= TABLE_ENTRIES:
            raise ProfileError(
                f"{prefix}delay_table_s has {len(self.table_s)} entries: it needs 2 .. {TABLE_ENTRIES}",
                hint="give the (i + 1/2)/n quantiles of what you measured, or the delays themselves, sorted",
            )
        for index, delay_s in enumerate(self.table_s):
            bounded_duration_s(f"{prefix}delay_table_s[{index}]", delay_s)
            if index and delay_s < self.table_s[index - 1]:
                raise ProfileError(
                    f"{prefix}delay_table_s[{index}] = {delay_s!r} is below the entry before: they ascend",
                    hint="sort the table",
                )

    @property
    def mean_s(self) -> float:
        """Return the mean of what is delivered, clipping included."""
        values = _shared_values(self)
        if values is None:
            return float(kernel_values(self).mean()) / 1e9
        return (values.latency_ns * self.entries + values.total_ns) / self.entries / 1e9

    @property
    def sd_s(self) -> float:
        """Return the standard deviation of what is delivered, clipping included."""
        if self._is_plain_uniform:
            return round(self.jitter_s * 1e9) / 1e9 / math.sqrt(3.0)
        values = _shared_values(self)
        return (float(kernel_values(self).std()) if values is None else values.sd_ns) / 1e9

    @property
    def clipped_ratio(self) -> float:
        """Return the share of delays that would lie below zero and are clipped there."""
        if self.law == "table" or self.jitter_s == 0.0:
            return 0.0
        quantiles = standard_quantiles(self.law, self.entries)
        if self.delay_s + self.jitter_s * quantiles[0] >= 0.0:  # they ascend
            return 0.0
        return float((self.delay_s + self.jitter_s * quantiles < 0.0).mean())

    @property
    def _is_plain_uniform(self) -> bool:
        """Tell whether the kernel's own uniform law can say this."""
        fits = 0 < round(self.jitter_s * 1e9) <= MAX_JITTER_NS
        return self.law == "uniform" and fits and self.jitter_s <= self.delay_s

    def delays_ns(self) -> NDArray[np.int64]:
        """Return the delays that the kernel delivers, equally likely, ascending, ``[entries]``, read-only."""
        return kernel_values(self)

    def grid_ns(self, points: int) -> NDArray[np.float64]:
        """Return at most so many equally likely delays, ascending; of a shared table only these are worked out."""
        numbers = _shared_numbers(self)
        all_ns = kernel_values(self) if numbers is None else None
        entries = self.entries if all_ns is None else all_ns.size
        if all_ns is not None and entries <= points:
            return all_ns.astype(np.float64)
        # They ascend already: np.quantile would sort, for each step of a long schedule.
        places = (np.arange(points) + 0.5) / points * (entries - 1)
        below = np.floor(places).astype(np.int64)
        ends = np.stack([below, np.minimum(below + 1, entries - 1)])
        if numbers is None:
            low_ns, high_ns = kernel_values(self)[ends]
        else:
            low_ns, high_ns = kernel_delays_ns(*numbers, shared_entries(self.law, self.entries)[ends])
        grid: NDArray[np.float64] = low_ns + (places - below) * (high_ns - low_ns)
        return grid

    def drawn_ns(self, rng: np.random.Generator, n: int) -> NDArray[np.int64]:
        """Return so many delays as the kernel draws them, ``[n]``; of a shared table only these are worked out."""
        numbers = _shared_numbers(self)
        if numbers is None:
            all_ns = kernel_values(self)
            return all_ns[rng.integers(all_ns.size, size=n)]
        entries = shared_entries(self.law, self.entries)
        return kernel_delays_ns(*numbers, entries[rng.integers(entries.size, size=n)])

    def to_kernel(self, *, as_table: bool = False) -> KernelDelay:
        """Return the law in netem's numbers.

        Args:
            as_table: Send a uniform law as a linear table too. Needed where an earlier table may be in
                the qdisc: no netlink attribute removes it.
        """
        if self._is_plain_uniform and not as_table:
            return KernelDelay(round(self.delay_s * 1e9), round(self.jitter_s * 1e9), None)
        return _kernel_table(self)


class _SharedValues(NamedTuple):
    """What netem makes of a shared table: its numbers for it, and sum and deviation without the latency."""

    latency_ns: int
    jitter_ns: int
    total_ns: int
    sd_ns: float


def _shared_values(law: DelayLaw) -> _SharedValues | None:
    """Return the values of a law that takes the shared table; None for one with a table of its own, or none."""
    numbers = _shared_numbers(law)
    if numbers is None:
        return None
    return _SharedValues(*numbers, *_offsets(law.law, law.entries, numbers[1]))


@lru_cache(maxsize=4096)
def _offsets(law: str, entries: int, jitter_ns: int) -> tuple[int, float]:
    """Return sum and deviation of what a shared table adds to the latency: many steps have one spread."""
    values = kernel_delays_ns(0, jitter_ns, shared_entries(law, entries))
    return int(values.sum()), float(values.std())


def _shared_numbers(law: DelayLaw) -> tuple[int, int] | None:
    """Return latency and jitter for the shared table; None where it would not do."""
    if law.law == "table" or law.jitter_s == 0.0:
        return None
    table, reach = shared_table(law.law, law.entries)
    latency_ns = round(law.delay_s * 1e9)
    jitter_ns = round(law.jitter_s * 1e9 * reach * TABLE_SCALE / TABLE_REACH)
    # The table ascends, so its first entry is the shortest delay.
    if _FINE_JITTER_NS <= jitter_ns <= MAX_JITTER_NS and kernel_delay_ns(latency_ns, jitter_ns, table[0]) >= 0:
        return latency_ns, jitter_ns
    return None


@lru_cache(maxsize=64)
def kernel_values(law: DelayLaw) -> NDArray[np.int64]:
    """Return the delays in ns that netem makes of a law's table, ``[entries]``, read-only."""
    shared = _shared_numbers(law)
    if shared is not None:
        values = kernel_delays_ns(*shared, shared_entries(law.law, law.entries))
    else:
        latency_ns, jitter_ns, table = _kernel_table(law)
        values = kernel_delays_ns(latency_ns, jitter_ns, table or (0,))
    values.flags.writeable = False
    return values


@lru_cache(maxsize=16)
def _kernel_table(law: DelayLaw) -> KernelDelay:
    """Return a law as a table, the shared one where the law is not clipped."""
    if law.law == "table":
        delays_ns = np.asarray(law.table_s, dtype=np.float64) * 1e9
        latency_ns = round(float(delays_ns.mean()))
        return _without_idle_jitter(latency_ns, *scale_table(delays_ns, latency_ns))
    latency_ns = round(law.delay_s * 1e9)
    if law.jitter_s == 0.0:
        return KernelDelay(latency_ns, 0, None)
    shared = _shared_numbers(law)
    if shared is not None:
        return KernelDelay(*shared, shared_table(law.law, law.entries)[0])
    delays_ns = (law.delay_s + law.jitter_s * standard_quantiles(law.law, law.entries)) * 1e9
    return _without_idle_jitter(latency_ns, *scale_table(np.maximum(delays_ns, 0.0), latency_ns))


def _without_idle_jitter(latency_ns: int, jitter_ns: int, table: tuple[int, ...]) -> KernelDelay:
    return KernelDelay(latency_ns, jitter_ns, table if jitter_ns else None)
