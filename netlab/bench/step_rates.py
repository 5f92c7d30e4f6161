"""Steps a second of several ways of stepping environments, taken in turn so that all meet the same other load.

::

    round 1: way a, way b, way c     round 2: way a, way b, way c     ...     ratios are taken within a round
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

__all__ = ["StepRates", "Stopwatch", "Way", "measure_in_turn", "rates_text", "ratios"]


class Stopwatch:
    """Adds up the time between ``start`` and ``stop``, by the clock on the wall and by the processor's."""

    def __init__(self) -> None:
        self.wall_s = self.processor_s = 0.0
        self._began = (0.0, 0.0)

    def start(self) -> None:
        """Begin to count."""
        self._began = time.perf_counter(), time.process_time()

    def stop(self) -> None:
        """Stop counting."""
        self.wall_s += time.perf_counter() - self._began[0]
        self.processor_s += time.process_time() - self._began[1]


class Way(NamedTuple):
    """One way of stepping.

    Attributes:
        name: In words.
        run: Steps, and has the watch count what is to be counted; returns how many steps that were.
    """

    name: str
    run: Callable[[Stopwatch], int]


class StepRates(NamedTuple):
    """Steps a second of one way, a number a round.

    Attributes:
        name: Of the way.
        wall: By the clock on the wall.
        processor: By this process's share of the processor: other programs' load is left out.
    """

    name: str
    wall: list[float]
    processor: list[float]


def measure_in_turn(ways: Sequence[Way], rounds: int, say: Callable[[str], None]) -> list[StepRates]:
    """Run each way once a round; return their rates in the same order."""
    rates = [StepRates(way.name, [], []) for way in ways]
    for turn in range(rounds):
        say(f"round {turn + 1} of {rounds}")
        for way, rate in zip(ways, rates, strict=True):
            watch = Stopwatch()
            steps = way.run(watch)
            rate.wall.append(steps / watch.wall_s)
            rate.processor.append(steps / max(watch.processor_s, 1e-9))
    return rates


def ratios(ours: Sequence[float], theirs: Sequence[float]) -> list[float]:
    """Return how many times theirs ours is, round by round."""
    return [mine / other for mine, other in zip(ours, theirs, strict=True)]


def rates_text(rates: Sequence[StepRates]) -> str:
    """Say the medians, and in brackets those of a second of processor time."""

    def text(rate: StepRates) -> str:
        wall, processor = (statistics.median(values) / 1e3 for values in (rate.wall, rate.processor))
        return f"{rate.name} {wall:.3g} [{processor:.3g}]"

    return "; ".join(map(text, rates)) + " thousand steps a second [of processor time]"
