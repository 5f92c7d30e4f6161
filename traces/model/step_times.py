"""StepTimes: when each step of a schedule begins, in nanoseconds from the beginning, over all passes of a loop.

::

    step     0        1          2            3 = 0 of pass 1
             |--------|----------|------------|--------|--- ...
    seconds  0        0.1        0.23         pass_s

One rule for whoever plays a schedule on the link model: ``(passes * pass_s + start_s) * 1e9``, rounded once. Knows
no state.
"""

from __future__ import annotations

from bisect import bisect_right
from itertools import pairwise

from msgspec import Struct

from netlab.errors import ProfileError

__all__ = ["StepTimes"]

_LATEST_NS = 2.0**63
"""What begins from here on, 292 years after the beginning, never does."""


class StepTimes(Struct, frozen=True):
    """Moments at which steps begin.

    Attributes:
        starts_s: The first is 0, each at least a nanosecond later than the one before.
        pass_s: After which all begins again, longer than the last start; None where the last step stays.

    Raises:
        ProfileError: The moments are not so.
    """

    starts_s: tuple[float, ...]
    pass_s: float | None = None

    def __post_init__(self) -> None:
        moments = (*self.starts_s,) if self.pass_s is None else (*self.starts_s, self.pass_s)
        begin = [_whole_ns(at_s) for at_s in moments]
        ascend = all(a is None or b is None or a < b for a, b in pairwise(begin))
        if not self.starts_s or begin[0] != 0 or not ascend:
            raise ProfileError(
                f"starts_s: {len(self.starts_s)} steps, "
                f"{'the last stays' if self.pass_s is None else f'again after {self.pass_s!r} s'}: "
                "they begin at 0 and ascend by a nanosecond or more, and a pass ends after the last",
                hint="begin with a step at 0, then later ones; a loop of next to no length cannot be played",
            )

    def start_ns(self, step: int) -> int | None:
        """Return when a step begins, counted over the passes of a loop; None for one that never does."""
        passes, within = divmod(step, len(self.starts_s))
        if not passes:
            return _whole_ns(self.starts_s[within])
        if self.pass_s is None:
            return None
        return _whole_ns(passes * self.pass_s + self.starts_s[within])

    def step_at(self, elapsed_ns: int) -> int:
        """Return which step holds so long after the beginning, counted over the passes of a loop."""
        count = len(self.starts_s)
        passes = 0 if self.pass_s is None else int(elapsed_ns / 1e9 / self.pass_s)
        # A division of floats finds the pass or one beside it.
        while passes and not self._has_begun(passes * count, elapsed_ns):
            passes -= 1
        while self._has_begun((passes + 1) * count, elapsed_ns):
            passes += 1
        first = passes * count
        later = range(first + 1, first + count)
        return first + bisect_right(later, False, key=lambda step: not self._has_begun(step, elapsed_ns))

    def _has_begun(self, step: int, elapsed_ns: int) -> bool:
        begins_ns = self.start_ns(step)
        return begins_ns is not None and begins_ns <= elapsed_ns


def _whole_ns(at_s: float) -> int | None:
    at_ns = at_s * 1e9
    return round(at_ns) if at_ns < _LATEST_NS else None
