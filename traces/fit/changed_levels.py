"""Changed levels: what steps could not keep of a trace, in words: of each direction, or of both at once.

Knows levels, no trace.
"""

from __future__ import annotations

from collections.abc import Sequence

from netlab.traces.fit.counted import counted
from netlab.traces.fit.step_levels import MOST_SPREAD_S, DelayLevels, RateLevels

__all__ = ["changed_words"]


def changed_words(delays: Sequence[DelayLevels], rates: Sequence[RateLevels]) -> list[str]:
    """Return what was changed in the steps of both directions, a sentence each.

    Args:
        delays: Levels of the delay, forward first.
        rates: Of the rate, likewise.
    """
    there, back = (_of_direction(*both) for both in zip(delays, rates, strict=True))
    alike = [text for text in there if text in back]
    return [
        *(f"both ways: {text}" for text in alike),
        *(f"forward: {text}" for text in there if text not in alike),
        *(f"back: {text}" for text in back if text not in alike),
    ]


def _of_direction(delay: DelayLevels, rate: RateLevels) -> list[str]:
    words = []
    if delay.cut:
        words.append(
            f"in {counted(delay.cut, 'step')} the delay spread by more than {MOST_SPREAD_S:g} s: cut to that"
        )
    if rate.raised:
        words.append(f"in {counted(rate.raised, 'step')} with less than a full packet a step that rate is given")
    if dead := int(rate.dead.sum()):
        words.append(f"in {dead} steps, two or more in a row, nothing got through: all is lost then")
    return words
