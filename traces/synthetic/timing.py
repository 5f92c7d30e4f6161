"""Timing: how long a generated schedule is, in which steps, and by which seed; and how steps become one."""

from __future__ import annotations

import math
from collections.abc import Iterable

from msgspec import Struct

from netlab.errors import ProfileError
from netlab.traces.bound import bounded_count, bounded_number
from netlab.traces.profile import LinkProfile
from netlab.traces.schedule import MAX_SCHEDULE_S, MAX_STEPS, Schedule, Step
from netlab.traces.synthetic.chance import Chance

__all__ = ["Timing", "rounded_s"]

LEAST_STEP_S = 1e-3
_DIGITS = 6


class Timing(Struct, frozen=True, kw_only=True):
    """What every generator is asked beside its own parameters.

    Attributes:
        seed: The same seed gives the same schedule for ever.
        duration_s: Length of one pass.
        step_s: A walk takes a step so often, and no stay is shorter.
        loop: Begin again after the duration.

    Raises:
        ProfileError: A number is out of range, or these are more steps than a schedule may have.
    """

    seed: int = 7
    duration_s: float = 60.0
    step_s: float = 0.1
    loop: bool = True

    def __post_init__(self) -> None:
        bounded_count("seed", self.seed, 0, 2**64 - 1)
        bounded_number("duration", self.duration_s, LEAST_STEP_S, MAX_SCHEDULE_S)
        bounded_number("step", self.step_s, LEAST_STEP_S, 3600.0)
        if self.duration_s / self.step_s > MAX_STEPS:
            raise ProfileError(
                f"duration = {self.duration_s:g} s in steps of {self.step_s:g} s: "
                f"a schedule has at most {MAX_STEPS} of them",
                hint="take longer steps, or a shorter duration; it loops",
            )

    @property
    def steps(self) -> int:
        """How many steps cover the duration; the last may be cut short."""
        return max(math.ceil(self.duration_s / self.step_s - 1e-9), 1)

    def chance(self, purpose: str) -> Chance:
        """Return numbers for one purpose."""
        return Chance(self.seed, purpose)

    def schedule(self, timed: Iterable[tuple[float, LinkProfile]]) -> Schedule:
        """Return profiles and their starts as a schedule.

        Starts are rounded to microseconds; what lies past the duration is left out, of two profiles at one
        time the later one holds, and equal neighbours are one step.
        """
        steps: list[Step] = []
        for exact_s, profile in timed:
            start_s = rounded_s(exact_s)
            if start_s >= self.duration_s:
                break
            if steps and steps[-1].start_s == start_s:
                steps.pop()
            if steps and steps[-1].profile == profile:
                continue
            steps.append(Step(start_s, profile))
        return Schedule(tuple(steps), self.duration_s, self.loop)


def rounded_s(duration_s: float) -> float:
    """Return a time to the microsecond: machines may differ in the last bits of a logarithm, not in this."""
    return round(duration_s, _DIGITS)
