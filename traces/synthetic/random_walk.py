r"""Random walk: a delay that wanders, drawn back to its mean or not, each direction by itself.

::

    most  ------------.--------      each step a normal stride; with ``return`` the Ornstein-Uhlenbeck process
    delay --.~~--./~~---\~~~.~       x' = mean + a (x - mean) + noise,  a = exp(-step / return)
    least ----------------------     at the walls the walk is reflected

Source: Uhlenbeck and Ornstein 1930, "On the theory of the Brownian motion"; the exact discretisation of
Gillespie 1996, Phys. Rev. E 54, 2084 (Eqs. 3.1).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Annotated

from msgspec import Meta, Struct

from netlab.errors import ProfileError
from netlab.traces.bound import bounded_duration_s, bounded_ratio
from netlab.traces.profile import LinkProfile
from netlab.traces.schedule import Schedule
from netlab.traces.synthetic.spread import require_room
from netlab.traces.synthetic.timing import Timing, rounded_s

__all__ = ["RandomWalk"]


class RandomWalk(Struct, frozen=True, kw_only=True):
    """A walk of the delay within bounds.

    With ``return_s`` the deviation in the long run is ``stride_s`` times the root of half of it in seconds.
    """

    delay_s: Annotated[float, Meta(description="where it begins, or returns to, each way")] = 0.03
    stride_s: Annotated[float, Meta(description="deviation of the change within one second")] = 0.008
    return_s: Annotated[float, Meta(description="time in which it returns to within 1/e; 0 for never")] = 2.0
    least_s: Annotated[float, Meta(description="lower wall")] = 0.005
    most_s: Annotated[float, Meta(description="upper wall")] = 0.2
    jitter_s: Annotated[float, Meta(description="deviation of the delay within a step")] = 0.0
    loss_ratio: Annotated[float, Meta(description="share lost, independently")] = 0.0

    def __post_init__(self) -> None:
        for name in ("delay", "stride", "return", "least", "most", "jitter"):
            bounded_duration_s(name, getattr(self, f"{name}_s"))
        bounded_ratio("loss", self.loss_ratio)
        if not self.least_s < self.most_s:
            raise ProfileError(f"least = {self.least_s:g} s: must be below most = {self.most_s:g} s")
        if not self.least_s <= self.delay_s <= self.most_s:
            raise ProfileError(
                f"delay = {self.delay_s:g} s: must lie within least .. most, {self.least_s:g} .. {self.most_s:g} s"
            )
        require_room(self.jitter_s, self.least_s, "normal", ("jitter", "least"))

    def schedules(self, timing: Timing) -> tuple[Schedule, Schedule]:
        """Return both directions, which walk apart from one another."""
        forward, back = (timing.schedule(self._walk(timing, way)) for way in ("forward", "back"))
        return forward, back

    def _walk(self, timing: Timing, way: str) -> Iterator[tuple[float, LinkProfile]]:
        chance = timing.chance(f"random-walk {way}")
        kept, noise_s = 1.0, self.stride_s * math.sqrt(timing.step_s)
        off_s = 0.0
        if self.return_s:
            sd_s = self.stride_s * math.sqrt(self.return_s / 2.0)
            kept = math.exp(-timing.step_s / self.return_s)
            noise_s = sd_s * math.sqrt(1.0 - kept * kept)
            off_s = sd_s * chance.normal()  # as if it had walked for long
        for step in range(timing.steps):
            delay_s = self._reflected_s(self.delay_s + off_s)
            off_s = delay_s - self.delay_s
            profile = LinkProfile(
                delay_s=rounded_s(delay_s),
                jitter_s=min(self.jitter_s, rounded_s(delay_s)),
                loss=self.loss_ratio,
            )
            yield step * timing.step_s, profile
            off_s = off_s * kept + noise_s * chance.normal()

    def _reflected_s(self, delay_s: float) -> float:
        """Return where a walk between two walls is, which without them would be there."""
        width_s = self.most_s - self.least_s
        past_s = (delay_s - self.least_s) % (2.0 * width_s)
        return self.least_s + min(past_s, 2.0 * width_s - past_s)
