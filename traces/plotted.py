"""Plotted: a trace in a picture, and the words for it. Knows no drawing."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from netlab.traces.axis_unit import AxisUnit
from netlab.traces.distance import ks_distance, wasserstein_1
from netlab.traces.trace import ClockVerdict, Trace

__all__ = ["Plotted", "delay_name"]

_ABOVE = "delay above the shortest"


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

    @property
    def is_above_shortest(self) -> bool:
        """Tell whether its delays are above the shortest of them, not absolute."""
        return self.trace.clocks is ClockVerdict.VARIATION_ONLY

    def beside(self, first: Plotted) -> str:
        """Return what is to be said of it in one picture with others, the first of which it is compared with."""
        above = f"; {_ABOVE}" if self.is_above_shortest else ""
        distances = self.distances_from(first)
        return f"{self.about}{above}{f'; from the first: {distances}' if distances else ''}"

    def distances_from(self, first: Plotted) -> str:
        """Return how far its delays are from another's; empty where the two cannot be compared."""
        one, other = self.trace, first.trace
        if one is other or one.path is not other.path or self.is_above_shortest is not first.is_above_shortest:
            return ""
        if not (one.has_delays and other.has_delays):
            return ""
        w1_s = wasserstein_1(other.delays_s, one.delays_s)
        unit = AxisUnit.for_delay(w1_s)
        return f"KS {ks_distance(other.delays_s, one.delays_s):.3g}, W1 {w1_s / unit.size:.3g} {unit.name}"


def delay_name(shown: Iterable[Plotted]) -> str:
    """Return what the delays of some traces are on one axis; where they differ, each says so beside its label."""
    return _ABOVE if all(one.is_above_shortest for one in shown) else "delay"
