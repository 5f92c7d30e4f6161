"""TimedStates: what a schedule does to a qdisc within an episode: states, and when each takes hold.

::

    begins   0 ns        step 1        step 2     duration
               |- state 0 --|- state 1 ---|- state 2 --|- loop: step 3 is state 0 again ...

A step that begins at a moment holds for the packets of that moment. Each has a seed of its own, ``step_seed``.
Knows no packet and no generator.
"""

from __future__ import annotations

from msgspec import Struct

from netlab.errors import ProfileError
from netlab.traces.model.step_times import StepTimes
from netlab.traces.profile import LinkProfile
from netlab.traces.qdisc_state import QdiscState
from netlab.traces.schedule import Schedule

__all__ = ["NO_CHANGE_NS", "LinkStates", "TimedStates", "link_states"]

NO_CHANGE_NS = 2**63 - 1
"""Later than any moment."""


class TimedStates(Struct, frozen=True):
    """States and the moments from an episode's beginning at which they take hold.

    Attributes:
        times: The moments.
        states: One a start; their seeds mean nothing.

    Raises:
        ProfileError: There are more or fewer states than moments.
    """

    times: StepTimes
    states: tuple[QdiscState, ...]

    def __post_init__(self) -> None:
        if len(self.states) != len(self.times.starts_s):
            raise ProfileError(
                f"starts_s: {len(self.times.starts_s)} starts of {len(self.states)} states",
                hint="give a state for each, or compile a schedule: link_states(schedule)",
            )

    def step_at(self, elapsed_ns: int) -> int:
        """Return which step holds so long after the beginning, counted over the passes of a loop."""
        return self.times.step_at(elapsed_ns)

    def start_ns(self, step: int) -> int:
        """Return how long after the beginning a step begins; ``NO_CHANGE_NS`` for one that never does."""
        begins_ns = self.times.start_ns(step)
        return NO_CHANGE_NS if begins_ns is None else begins_ns

    def state(self, step: int) -> QdiscState:
        """Return the state of a step, which may be one of a later pass."""
        return self.states[step % len(self.states)]


LinkStates = QdiscState | TimedStates
"""One direction of a link in the kernel's units."""


def link_states(link: LinkProfile | Schedule) -> LinkStates:
    """Return one direction of a link compiled, without seeds."""
    if isinstance(link, LinkProfile):
        return link.to_qdisc_state(None)
    times = StepTimes(tuple(step.start_s for step in link.steps), link.duration_s if link.loop else None)
    return TimedStates(times, link.to_qdisc_states(lambda step: None))
