"""TimedStates: what a schedule does to a qdisc within an episode: states, and when each takes hold.

::

    begins   0 ns        step 1        step 2     duration
               |- state 0 --|- state 1 ---|- state 2 --|- loop: step 3 is state 0 again ...

A step that begins at a moment holds for the packets of that moment. Each has a seed of its own, ``step_seed``.
Knows no packet and no generator.
"""

from __future__ import annotations

from bisect import bisect_right
from itertools import pairwise

from msgspec import Struct

from netlab.errors import ProfileError
from netlab.traces.profile import LinkProfile
from netlab.traces.qdisc_state import QdiscState
from netlab.traces.schedule import Schedule

__all__ = ["NO_CHANGE_NS", "LinkStates", "TimedStates", "link_states"]

NO_CHANGE_NS = 2**63 - 1
"""Later than any moment."""


class TimedStates(Struct, frozen=True):
    """States and the moments from an episode's beginning at which they take hold.

    Attributes:
        starts_ns: The first is 0, each later than the one before.
        states: One a start; their seeds mean nothing.
        duration_ns: Length of one pass, longer than the last start.
        loop: Begin again after the duration; else the last state stays.

    Raises:
        ProfileError: The moments are not so.
    """

    starts_ns: tuple[int, ...]
    states: tuple[QdiscState, ...]
    duration_ns: int
    loop: bool = False

    def __post_init__(self) -> None:
        starts_ns = self.starts_ns
        ascend = all(a < b for a, b in pairwise((*starts_ns, self.duration_ns)))
        if not starts_ns or starts_ns[0] != 0 or not ascend or len(self.states) != len(starts_ns):
            raise ProfileError(
                f"starts_ns: {len(starts_ns)} starts of {len(self.states)} states, {self.duration_ns} ns in all: "
                "they begin at 0, ascend, and end before the duration",
                hint="compile a Schedule, which is checked: link_states(schedule)",
            )

    def step_at(self, elapsed_ns: int) -> int:
        """Return which step holds so long after the beginning, counted over the passes of a loop."""
        passes, within_ns = divmod(elapsed_ns, self.duration_ns) if self.loop else (0, elapsed_ns)
        return passes * len(self.states) + bisect_right(self.starts_ns, within_ns) - 1

    def start_ns(self, step: int) -> int:
        """Return how long after the beginning a step begins; ``NO_CHANGE_NS`` for one that never does."""
        passes, index = divmod(step, len(self.states))
        if passes and not self.loop:
            return NO_CHANGE_NS
        return passes * self.duration_ns + self.starts_ns[index]

    def state(self, step: int) -> QdiscState:
        """Return the state of a step, which may be one of a later pass."""
        return self.states[step % len(self.states)]


LinkStates = QdiscState | TimedStates
"""One direction of a link in the kernel's units."""


def link_states(link: LinkProfile | Schedule) -> LinkStates:
    """Return one direction of a link compiled, without seeds."""
    if isinstance(link, LinkProfile):
        return link.to_qdisc_state(None)
    starts_ns = tuple(round(step.start_s * 1e9) for step in link.steps)
    return TimedStates(starts_ns, link.to_qdisc_states(lambda step: None), round(link.duration_s * 1e9), link.loop)
