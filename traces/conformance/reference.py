"""Reference: what many simulated flows have in common: the distribution of their delays, and of their loss runs.

::

    Flow, Flow, Flow ... --ReferenceBuilder--> Reference --> KS, Wasserstein-1, distance of loss runs

A measured flow and a simulated one are compared with it in the same way, so their distances can be compared with
each other: that is what bounds rest on.
"""

from __future__ import annotations

import math
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from netlab.traces.conformance.allowance import Allowance
from netlab.traces.conformance.flow import RESOLUTION_S, Flow
from netlab.traces.conformance.straggling import Straggling, left_out

__all__ = ["Reference", "ReferenceBuilder"]

_VALUES = 400_000
"""Delays kept of all flows together; of longer ones evenly spaced order statistics."""
_RUN_EDGES = (1, 2, 3, 5, 9, 17, 33)
"""Where the bins of loss runs begin: 1, 2, 3-4, 5-8, 9-16, 17-32, 33 and more packets."""

Numbers = NDArray[np.float64]


class Reference:
    """What flows have in common.

    Args:
        delays_s: Delays of all of them together, the shortest first; may be none.
        run_means: Loss runs of a flow by length, their mean, ``[bins]``.
        run_variances: Their variance, ``[bins]``.
        stragglers: Share of packets that is left out wherever one alone could spoil a statistic.
        tail_s: By how much sooner a flow is over without them, at most.

    Attributes:
        stragglers: See above.
        tail_s: See above.
    """

    def __init__(
        self,
        delays_s: Numbers,
        run_means: Numbers,
        run_variances: Numbers,
        stragglers: float = 0.0,
        tail_s: float = 0.0,
    ) -> None:
        self._delays_s = delays_s
        self._run_means = run_means
        self._run_variances = np.maximum(run_variances, 1.0)
        self.stragglers = stragglers
        self.tail_s = tail_s

    @cached_property
    def straggling(self) -> Straggling:
        """Return what stragglers can do to the delays that are kept."""
        return Straggling.of(self._delays_s, self.stragglers)

    def quantile_s(self, q: float) -> float:
        """Return the delay that a share ``q`` of the packets that arrive does not exceed; NaN where none does."""
        return quantile_of_sorted(self._delays_s, q)

    def kolmogorov_smirnov(self, flow: Flow, allowed: Allowance) -> float:
        """Return how far the distribution of a flow's delays is from this one, 0 .. 1, at the worst delay.

        What is allowed is taken off: the distribution may lie anywhere between this one and the same one so
        much later, and below that one by the share of stragglers. So each packet may have a lateness of its own.
        """
        found_s, ours_s = flow.sorted_s, self._delays_s
        if not found_s.size or not ours_s.size:
            return math.nan
        reached = np.arange(found_s.size + 1) / found_s.size
        earliest = RESOLUTION_S if allowed.later_s else 0.0
        at = np.searchsorted(ours_s, found_s + earliest, side="right") / ours_s.size
        before = np.searchsorted(ours_s, found_s - allowed.later_s, side="left") / ours_s.size
        later = float(np.max(before - reached[:-1])) - allowed.stragglers
        return max(float(np.max(reached[1:] - at)), later, 0.0)

    def wasserstein_1(self, flow: Flow) -> float:
        """Return the mean distance in seconds that delays have to move to become these, but for the latest."""
        found_s = flow.prompt(self.stragglers).sorted_s
        ours_s = self._delays_s[: self._delays_s.size - left_out(self._delays_s.size, self.stragglers)]
        if not found_s.size or not ours_s.size:
            return math.nan
        places = (np.arange(found_s.size) + 0.5) / found_s.size * ours_s.size
        return float(np.abs(found_s - ours_s[places.astype(np.int64)]).mean())

    def loss_run_distance(self, flow: Flow) -> float:
        """Return the sum over the bins of squared differences in standard deviations, as chi-square has it."""
        return float(((count_runs(flow) - self._run_means) ** 2 / self._run_variances).sum())


class ReferenceBuilder:
    """Gathers flows.

    Args:
        flows: How many there will be.
        stragglers: As for ``Reference``.
    """

    def __init__(self, flows: int, stragglers: float = 0.0) -> None:
        self._most = max(1, _VALUES // flows)
        self._stragglers = stragglers
        self._tail_s = 0.0
        self._delays: list[Numbers] = []
        self._runs: list[Numbers] = []

    def add(self, flow: Flow) -> None:
        """Take in a flow."""
        delays_s = flow.sorted_s
        if delays_s.size > self._most:
            places = (np.arange(self._most) + 0.5) / self._most * delays_s.size
            delays_s = delays_s[places.astype(np.int64)]
        self._delays.append(delays_s)
        self._runs.append(count_runs(flow))
        latest = left_out(flow.delays_s.size, self._stragglers)
        if latest:
            self._tail_s = max(self._tail_s, float(flow.arrivals_s[-1] - flow.arrivals_s[-1 - latest]))

    def build(self) -> Reference:
        """Return what they have in common."""
        runs = np.array(self._runs)
        delays_s = np.sort(np.concatenate(self._delays))
        return Reference(delays_s, runs.mean(axis=0), runs.var(axis=0), self._stragglers, self._tail_s)


def count_runs(flow: Flow) -> Numbers:
    """Return how many loss runs there are of each bin of lengths, ``[bins]``."""
    bins = np.searchsorted(np.array(_RUN_EDGES), flow.loss_runs, side="right") - 1
    return np.bincount(bins, minlength=len(_RUN_EDGES)).astype(np.float64)


def quantile_of_sorted(values: Numbers, q: float) -> float:
    """Return the least value that a share ``q`` of ascending values does not exceed; NaN of none."""
    if not values.size:
        return math.nan
    return float(values[min(max(math.ceil(q * values.size) - 1, 0), values.size - 1)])
