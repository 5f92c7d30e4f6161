"""Plotted: a trace in a picture, and the words for it. Knows no drawing."""

from __future__ import annotations

from typing import NamedTuple

from netlab.traces.axis_unit import AxisUnit
from netlab.traces.distance import ks_distance, wasserstein_1
from netlab.traces.trace import Trace

__all__ = ["Plotted"]


class Plotted(NamedTuple):
    """A trace in a picture.

    Attributes:
        label: What a person calls it.
        trace: Its samples.
        is_asked: What was asked for, not what was measured: not drawn over time, and grey.
    """

    label: str
    trace: Trace
    is_asked: bool = False

    @property
    def about(self) -> str:
        """Return its label, its path, how many samples it has and how many of them were lost."""
        ratio = self.trace.loss_ratio
        lost = "" if ratio is None else f", {100 * ratio:.3g} % lost"
        return f"{self.label} ({self.trace.path.value.replace('-', ' ')}, n = {self.trace.n:,}{lost})"

    def distances_from(self, first: Plotted) -> str:
        """Return how far its delays are from another's; empty where the two cannot be compared."""
        one, other = self.trace, first.trace
        if one is other or one.path is not other.path or not (one.has_delays and other.has_delays):
            return ""
        w1_s = wasserstein_1(other.delays_s, one.delays_s)
        unit = AxisUnit.for_delay(w1_s)
        return f"KS {ks_distance(other.delays_s, one.delays_s):.3g}, W1 {w1_s / unit.size:.3g} {unit.name}"
