"""Schedule: one direction of a link over time: profiles and when each begins.

Pure description; what plays it on absolute deadlines is the Player. A step holds until the next one, the
last until the duration is over; after that a looping schedule begins again and another one keeps its last
step.

::

    start 0 s          2 s               7 s     duration 8 s
      |--- clean ------|--- wifi --------|-- outage --|--- loop: clean ...
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import msgspec
import numpy as np
from msgspec import Struct

from netlab.errors import ProfileError
from netlab.traces.bound import bounded_number
from netlab.traces.caution import Caution
from netlab.traces.loss import FourState, GilbertElliott
from netlab.traces.profile import LinkProfile, Segment
from netlab.traces.qdisc_state import QdiscState

__all__ = ["Schedule", "Step"]

MAX_STEPS = 100_000
MAX_SCHEDULE_S = 30 * 24 * 3600.0
LEAST_STEP_S = 1e-6
"""No step, and so no pass, is shorter: no packet could tell, and a player would never be done with a moment."""
_ROUNDING_S = 1e-9
"""What a difference of two starts may be off: a double of 30 days knows half a nanosecond."""

LEAST_BURSTS_A_STEP = 20
"""Each change restarts a loss chain in GOOD; a step of 20 mean bursts keeps the bias near 5 %."""

MAX_EXAMINED = 50
"""Different steps whose warnings are looked for."""

MAX_OWN_TABLES = 2000
"""Steps that may have a table of their own (a clipped law): each holds 4096 numbers when compiled."""


class Step(Struct, frozen=True):
    """A profile and the time, from the schedule's beginning, at which it takes hold."""

    start_s: float
    profile: LinkProfile


class Schedule(Struct, frozen=True):
    """Profiles with start times.

    Attributes:
        steps: The first starts at 0, each a microsecond or more after the one before.
        duration_s: Length of one pass, as much longer than the last start.
        loop: Begin again after the duration.
        packet_rate_hz: Packets a second of the flow under test; needed by loss chains, which count packets.

    Raises:
        ProfileError: The steps do not follow one another, or a loss chain has steps too short for it.
    """

    steps: tuple[Step, ...]
    duration_s: float
    loop: bool = False
    packet_rate_hz: float | None = None

    def __post_init__(self) -> None:
        if isinstance(self.steps, list):
            msgspec.structs.force_setattr(self, "steps", tuple(self.steps))
        if not 1 <= len(self.steps) <= MAX_STEPS:
            raise ProfileError(f"a schedule of {len(self.steps)} steps: must have 1 .. {MAX_STEPS}")
        if not isinstance(self.loop, bool):
            raise ProfileError(f"loop = {self.loop!r}: must be true or false")
        if self.packet_rate_hz is not None:
            bounded_number("packet_rate_hz", self.packet_rate_hz, 1e-3, 1e9)
        self._check_times()
        self._check_chains()
        self._check_tables()

    def _check_times(self) -> None:
        before = -math.inf
        for index, step in enumerate(self.steps):
            bounded_number(f"step {index + 1}: start_s", step.start_s, 0.0, MAX_SCHEDULE_S)
            if index == 0 and step.start_s != 0.0:
                raise ProfileError(
                    f"step 1: starts at {step.start_s!r} s: the first step must start at 0 s",
                    hint="say what the link does from the beginning, for example a step without delay",
                )
            what = f"step {index + 1}: starts at {step.start_s!r} s: must be later than the step before"
            _check_follows(what, step.start_s, before)
            if not isinstance(step.profile, LinkProfile):
                raise ProfileError(f"step {index + 1}: profile = {step.profile!r}: must be a LinkProfile")
            before = step.start_s
        bounded_number("duration_s", self.duration_s, 0.0, MAX_SCHEDULE_S)
        what = f"duration_s = {self.duration_s!r}: must be longer than the last start"
        _check_follows(what, self.duration_s, before)

    def _check_chains(self) -> None:
        """Refuse loss chains that each change would restart before they mean anything."""
        if len(self.steps) == 1 and not self.loop:
            return
        for index, segment in enumerate(self.segments()):
            chain = segment.profile.loss
            if not isinstance(chain, GilbertElliott | FourState):
                continue
            if self.packet_rate_hz is None:
                raise ProfileError(
                    f"step {index + 1}: a loss chain in a schedule without packet_rate_hz: each step "
                    "restarts the chain, so its steps must be long against its bursts, which count packets",
                    hint="say how many packets a second the flow sends: packet_rate_hz = 50",
                )
            packets = segment.length_s * self.packet_rate_hz
            if packets < LEAST_BURSTS_A_STEP * chain.burst_packets:
                raise ProfileError(
                    f"step {index + 1}: a loss chain in a step of {segment.length_s:g} s, "
                    f"{packets:.3g} packets at {self.packet_rate_hz:g} Hz: must last {LEAST_BURSTS_A_STEP} "
                    f"mean bursts of {chain.burst_packets:.3g} packets, since each step restarts the chain",
                    hint="use timed outages instead: steps with loss = 100% of the length an outage has",
                )

    def _check_tables(self) -> None:
        own = {segment.profile.delay_law for segment in self.segments() if segment.profile.delay_law.clipped_ratio}
        if len(own) > MAX_OWN_TABLES:
            raise ProfileError(
                f"{len(own)} steps have a law that is clipped at zero, each with a table of its own: "
                f"at most {MAX_OWN_TABLES}",
                hint="lower the jitter below a quarter of the delay, or use fewer different steps",
            )

    @property
    def loops(self) -> bool:
        """Tell whether the schedule begins again after its duration."""
        return self.loop

    @property
    def delay_mean_s(self) -> float:
        """Return the mean delay over one pass, weighted by time."""
        return self._mean([segment.profile.delay_mean_s for segment in self.segments()])

    @property
    def delay_sd_s(self) -> float:
        """Return the deviation of the delay over one pass: within the steps and between them."""
        mean_s = self.delay_mean_s
        variances = [
            segment.profile.delay_sd_s**2 + (segment.profile.delay_mean_s - mean_s) ** 2
            for segment in self.segments()
        ]
        return math.sqrt(self._mean(variances))

    @property
    def loss_ratio_mean(self) -> float:
        """Return the mean loss ratio over one pass, weighted by time."""
        return self._mean([segment.profile.loss_ratio_mean for segment in self.segments()])

    def segments(self) -> tuple[Segment, ...]:
        """Return the steps of one pass with their lengths."""
        starts = [step.start_s for step in self.steps]
        ends = [*starts[1:], self.duration_s]
        return tuple(
            Segment(end - start, step.profile) for step, start, end in zip(self.steps, starts, ends, strict=True)
        )

    def to_qdisc_states(self, seed_of_step: Callable[[int], int | None]) -> tuple[QdiscState, ...]:
        """Return the qdisc states of one pass, each with a seed of its own.

        A uniform law is always sent as a table: a table of an earlier step would stay in the qdisc.

        Args:
            seed_of_step: Gives the seed of a step, for example
                ``lambda step: link_seed(run_seed, "link0", "forward", step)``.
        """
        return tuple(
            step.profile.to_qdisc_state(seed_of_step(index), within_schedule=True)
            for index, step in enumerate(self.steps)
        )

    def warnings(self) -> list[str]:
        """Return the warnings of the steps, one a kind: in how many different steps, and the worst of them.

        Of more different steps than ``MAX_EXAMINED`` those are looked at that vary most against their delay: "at
        least" so many have it then.
        """
        first: dict[LinkProfile, int] = {}
        for index, step in enumerate(self.steps):
            first.setdefault(step.profile, index)
        # What order costs takes a simulation of each: of very many the ones that vary most.
        widest = sorted(first, key=lambda profile: -profile.jitter_s / (profile.delay_s or math.inf))
        kinds: dict[str, list[_StepCaution]] = {}
        for profile in sorted(widest[:MAX_EXAMINED], key=lambda profile: first[profile]):
            for caution in profile.cautions():
                kinds.setdefault(caution.kind, []).append(_StepCaution(first[profile] + 1, caution))
        return [*(_in_a_line(found, len(first)) for found in kinds.values()), *self._dead_end()]

    def _dead_end(self) -> list[str]:
        """Say that a schedule which does not loop ends on an outage, if it does: its last step stays."""
        if self.loop or len(self.steps) < 2 or self.steps[-1].profile.loss_ratio_mean < 1.0:
            return []
        return [
            f"step {len(self.steps)}: everything is lost in the last step, which stays: after "
            f"{self.steps[-1].start_s:g} s the link is dead for ever (let it loop, or end on a step that delivers)"
        ]

    def _mean(self, values: list[float]) -> float:
        lengths_s = [segment.length_s for segment in self.segments()]
        return float(np.average(values, weights=lengths_s))


def _check_follows(what: str, at_s: float, before_s: float) -> None:
    """Refuse a moment that does not come after the one before it, or too soon."""
    if at_s <= before_s:
        raise ProfileError(f"{what}, {before_s!r} s")
    if at_s - before_s < LEAST_STEP_S - _ROUNDING_S:
        raise ProfileError(
            f"{what}, {before_s!r} s, by at least {LEAST_STEP_S:g} s",
            hint="no packet could tell so short a step: leave it out, or make it longer",
        )


class _StepCaution(NamedTuple):
    """A caution and the first step that has it, counted from 1."""

    step: int
    caution: Caution


def _in_a_line(found: list[_StepCaution], different: int) -> str:
    """Return the worst of some cautions of a kind, and in how many of the different steps there is one."""
    step, worst = max(found, key=lambda one: one.caution.severity)
    if len(found) == 1 and different <= MAX_EXAMINED:
        return f"step {step}: {worst.text}"
    least = "at least " if different > MAX_EXAMINED else ""
    return f"in {least}{len(found)} of {different} different steps, worst step {step}: {worst.text}"
