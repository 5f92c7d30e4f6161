"""Jamming: windows in which a jammer sends, laid over whatever the link does otherwise.

::

    link      ~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
    jammer         [####]        [####]          periodic: windows of one length at one distance
    delivered ~~~~~      ~~~~~~~~      ~~~~~     memoryless: windows and pauses exponentially long

Source: the jammers of Xu, Trappe, Zhang and Wood, MobiHoc 2005 (constant, random), and of Bayraktaroglu et
al., "Performance of IEEE 802.11 under jamming", doi 10.1007/s11036-011-0340-4 (periodic, memoryless).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import Annotated, NamedTuple

from msgspec import Meta, Struct

from netlab.errors import ProfileError
from netlab.traces.bound import bounded_duration_s, bounded_number, bounded_ratio
from netlab.traces.distribution import Law
from netlab.traces.profile import LinkProfile
from netlab.traces.schedule import Schedule, Step
from netlab.traces.synthetic.chance import Chance
from netlab.traces.synthetic.timing import Timing

__all__ = ["Jamming", "Window"]


class Window(NamedTuple):
    """A time in which the jammer sends."""

    begin_s: float
    end_s: float


class Jamming(Struct, frozen=True, kw_only=True):
    """A jammer, and the link that it jams."""

    window_s: Annotated[float, Meta(description="how long a window lasts, on average if random")] = 1.0
    pause_s: Annotated[float, Meta(description="how long it is quiet after it, on average if random")] = 4.0
    random: Annotated[bool, Meta(description="windows and pauses of random length, without memory")] = False
    jammed_loss_ratio: Annotated[float, Meta(description="share lost within a window")] = 1.0
    jammed_delay_s: Annotated[float, Meta(description="delay on top within a window, for the rest")] = 0.0
    delay_s: Annotated[float, Meta(description="delay of the link, each way")] = 0.005
    jitter_s: Annotated[float, Meta(description="its deviation")] = 0.001
    law: Annotated[Law, Meta(description="its law")] = "normal"
    loss_ratio: Annotated[float, Meta(description="share lost outside of windows")] = 0.0

    def __post_init__(self) -> None:
        bounded_number("window", self.window_s, 1e-3, 1e6)
        bounded_number("pause", self.pause_s, 1e-3, 1e6)
        bounded_ratio("jammed_loss", self.jammed_loss_ratio)
        bounded_duration_s("jammed_delay", self.jammed_delay_s)
        bounded_ratio("loss", self.loss_ratio)
        if self.jammed_loss_ratio < self.loss_ratio:
            raise ProfileError(
                f"jammed_loss = {self.jammed_loss_ratio:g} is below loss = {self.loss_ratio:g}",
                hint="a jammer makes it worse: exchange the two",
            )

    def schedules(self, timing: Timing) -> tuple[Schedule, Schedule]:
        """Return both directions, which are jammed at the same times."""
        link = LinkProfile(delay_s=self.delay_s, jitter_s=self.jitter_s, law=self.law, loss=self.loss_ratio)
        both = self.laid_over([Step(0.0, link)], timing)
        return both, both

    def laid_over(self, steps: Sequence[Step], timing: Timing) -> Schedule:
        """Return what a link does otherwise, with the windows of this jammer over it.

        Args:
            steps: What it does otherwise.
            timing: How long, and by which seed.
        """
        windows = list(self.windows(timing))
        edges_s = sorted({edge_s for window in windows for edge_s in window} | {step.start_s for step in steps})
        return timing.schedule(self._steps(edges_s, steps, windows))

    def windows(self, timing: Timing) -> Iterator[Window]:
        """Return when the jammer sends; it begins with a pause, so that a link is up at first."""
        chance = timing.chance("jamming")
        now_s = 0.0
        while now_s < timing.duration_s:
            begin_s = now_s + self._length_s(self.pause_s, chance, timing)
            now_s = begin_s + self._length_s(self.window_s, chance, timing)
            yield Window(begin_s, now_s)

    def _length_s(self, mean_s: float, chance: Chance, timing: Timing) -> float:
        return max(chance.exponential(mean_s), timing.step_s) if self.random else mean_s

    def _steps(
        self, edges_s: Sequence[float], steps: Sequence[Step], windows: Sequence[Window]
    ) -> Iterator[tuple[float, LinkProfile]]:
        """Return what holds from each edge on."""
        starts_s = [step.start_s for step in steps]
        begins_s = [window.begin_s for window in windows]
        for edge_s in edges_s:
            profile = steps[bisect_right(starts_s, edge_s) - 1].profile
            number = bisect_right(begins_s, edge_s) - 1
            if number >= 0 and edge_s < windows[number].end_s:
                lost = max(self.jammed_loss_ratio, profile.loss_ratio_mean)
                profile = profile.replace(loss=lost, delay_s=profile.delay_s + self.jammed_delay_s)
            yield edge_s, profile
