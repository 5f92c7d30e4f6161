"""Step levels: what a trace says of each step of a grid in time: delay and its spread, loss, rate.

::

    delay   . : .   :        .  .        a dot a packet
    step  |-------|-------|-------|      level = mean, spread = deviation; a step without packets holds the last

Everything is counted at once, without a loop over packets or steps. Knows traces and sources, no profile.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from netlab.errors import TraceError
from netlab.traces.bound import MAX_DURATION_S
from netlab.traces.fit.delivered_rate import carried_bits
from netlab.traces.fit.sources import DelaySource, LossSource, RateSource
from netlab.traces.fit.split import Split
from netlab.traces.trace import UNKNOWN

__all__ = ["DelayLevels", "Grid", "RateLevels", "delay_levels", "loss_levels", "rate_levels"]

LEAST_SPREAD_S, MOST_SPREAD_S = 10e-6, 2.0
"""Less is taken for none: netem would need a table of its own for it. More does not fit into its tables."""

FULL_PACKET_BITS = 12_000.0


class Grid(NamedTuple):
    """Steps of one length, from 0 on."""

    step_s: float
    steps: int

    def step_of(self, t_s: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return the step of each moment; one within a millionth before a step belongs to it, ``[n]``."""
        return np.clip(np.floor(t_s / self.step_s + 1e-6), 0, self.steps - 1).astype(np.int64)

    @property
    def edges_s(self) -> NDArray[np.float64]:
        """Return where the steps begin and the last one ends, ``[steps + 1]``."""
        return np.arange(self.steps + 1, dtype=np.float64) * self.step_s


class DelayLevels(NamedTuple):
    """Mean and deviation of the delay in each step, ``[steps]`` each, and how many deviations had to be cut."""

    level_s: NDArray[np.float64]
    spread_s: NDArray[np.float64]
    cut: int = 0


class RateLevels(NamedTuple):
    """What gets through in each step.

    Attributes:
        rate_bps: Mean rate, NaN for no limit, ``[steps]``.
        dead: Whether nothing gets through in it, nor in one beside it, ``[steps]``.
        raised: How many other steps had to be raised to the least rate.
    """

    rate_bps: NDArray[np.float64]
    dead: NDArray[np.bool_]
    raised: int = 0


def delay_levels(source: DelaySource | None, grid: Grid) -> DelayLevels:
    """Return level and spread of the delay of one direction in each step.

    A step in which no packet arrived holds what the last one had; before the first one, what that has.

    Raises:
        TraceError: The mean of a step is longer than a delay of a link may be.
    """
    if source is None:
        return DelayLevels(np.zeros(grid.steps), np.zeros(grid.steps))
    arrived = ~np.isnan(source.trace.delay_s)
    delay_s, step = source.delay_s[arrived], grid.step_of(source.trace.t_s[arrived])
    count = np.bincount(step, minlength=grid.steps)
    divisor = np.maximum(count, 1)
    level_s = np.bincount(step, delay_s, grid.steps) / divisor
    variance = np.bincount(step, (delay_s - level_s[step]) ** 2, grid.steps) / divisor
    held = _last_with(count > 0)
    level_s, spread_s = level_s[held], np.sqrt(variance[held])
    share = 1.0 if source.share is None else source.share
    if share * (longest_s := float(level_s.max())) > MAX_DURATION_S:
        raise TraceError(
            f"a mean delay of {longest_s:g} s in a step: a link's is at most {MAX_DURATION_S:g} s each way",
            source.trace.source or "trace",
            hint="check the unit of its delays",
        )
    spread_s = np.sqrt(share) * spread_s
    return DelayLevels(
        np.round(share * level_s, 6),
        _three_digits(np.minimum(spread_s, MOST_SPREAD_S)),
        int((spread_s > MOST_SPREAD_S).sum()),
    )


def loss_levels(source: LossSource | None, grid: Grid, outside: NDArray[np.bool_] | None) -> NDArray[np.float64]:
    """Return the loss ratio of one direction in each step, ``[steps]``.

    Args:
        source: Where losses are known.
        grid: The steps.
        outside: Which rows of its trace count: those within outages are not a ratio's business, ``[n]``.
    """
    if source is None:
        return np.zeros(grid.steps)
    known = source.trace.lost != UNKNOWN
    if outside is not None:
        known &= outside
    step, lost = grid.step_of(source.trace.t_s[known]), source.trace.lost[known] == 1
    ratio = np.bincount(step, lost, grid.steps) / np.maximum(np.bincount(step, minlength=grid.steps), 1)
    if source.share is not None:
        share = source.share
        values, where = np.unique(ratio, return_inverse=True)
        ratio = np.array([Split.of_loss(float(value), share) for value in values])[where]
    return np.round(ratio, 6)


def rate_levels(source: RateSource | None, grid: Grid) -> RateLevels:
    """Return the mean rate of each step, and where nothing gets through for longer than one.

    A rate is at least one full packet a step: netem decides when a packet leaves as it enters, so one that
    met a rate of nothing would wait, and all others behind it, long after the rate has come back. A step of
    nothing is a queue that waits; where there are several in a row the path is dead, and what is sent is lost.
    """
    if source is None:
        return RateLevels(np.full(grid.steps, np.nan), np.zeros(grid.steps, dtype=bool))
    reached_s, carried = carried_bits(source.trace)
    edges_s = grid.edges_s
    bits = np.diff(np.interp(edges_s, reached_s, carried[0]))
    held_s = np.diff(np.interp(edges_s, reached_s, carried[1]))
    known = held_s > 1e-9
    rate = np.where(known, bits, 0.0) / np.where(known, held_s, 1.0)
    # Sums of millions of bits leave a trifle of what was nothing.
    dead = _not_alone(known & (rate * grid.step_s < 0.5))
    rate = rate[_last_with(known & ~dead)]
    least = FULL_PACKET_BITS / grid.step_s
    rounded = np.round(np.maximum(rate, least), -1).astype(np.float64)
    return RateLevels(rounded, dead, int(((rate < least) & ~dead).sum()))


def _not_alone(steps: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return those steps that have another one of them beside them, ``[steps]``."""
    beside = np.zeros_like(steps)
    beside[1:] |= steps[:-1]
    beside[:-1] |= steps[1:]
    return steps & beside


def _last_with(known: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return for each step the last one up to it that is known, before the first known one that one."""
    if not known.any():
        return np.arange(known.size)
    index = np.where(known, np.arange(known.size), int(np.argmax(known)))
    held: NDArray[np.int64] = np.maximum.accumulate(index)
    return held


def _three_digits(spread_s: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return spreads to three digits: fewer different ones, and a shorter file."""
    enough = spread_s >= LEAST_SPREAD_S
    unit = 10.0 ** (np.floor(np.log10(np.where(enough, spread_s, 1.0))) - 2.0)
    rounded: NDArray[np.float64] = np.where(enough, np.round(np.round(spread_s / unit) * unit, 9), 0.0)
    return rounded
