"""Clocks: what a measurement tells of the clocks of its two ends, and delays and times by it. Pure.

::

    forward, back by two clocks --> Clocks; delays; when each reply was sent, by the prober's clock
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from netlab.probe.one_way import OneWay
from netlab.traces.clock_sync import ClockSync, synchronise
from netlab.traces.trace import ClockVerdict

__all__ = ["Clocks", "Reckoning", "reckon"]

_NANOSECONDS = 1e9
_BASE_NS = 1_000 * 1_000_000_000
"""Clocks further apart than this are first brought near by whole multiples of it, so that no digit is lost."""


class Clocks(Struct, frozen=True, kw_only=True):
    """What was found out about the two ends' clocks.

    Attributes:
        verdict: What the delays of one direction are.
        offset_s: What the reflector's clock is ahead of the prober's; None where unknown, or one clock.
        drift: What it gains, seconds a second.
        error_s: Standard error of the offset, an asymmetric path's share aside; None where unknown.
        words: For a person.
    """

    verdict: ClockVerdict
    offset_s: float | None = None
    drift: float = 0.0
    error_s: float | None = None
    words: str = "one clock stamped both ends"


class Reckoning(NamedTuple):
    """What two ways are by what is known of the clocks.

    Attributes:
        clocks: What is known of them.
        forward_s: Delays forward; NaN where unknown, ``[n]``.
        back_s: Delays back, ``[m]``.
        t_back_s: When each packet back was sent, by the prober's clock, from the first packet forward, ``[m]``.
    """

    clocks: Clocks
    forward_s: NDArray[np.float64]
    back_s: NDArray[np.float64]
    t_back_s: NDArray[np.float64]


def reckon(forward: OneWay, back: OneWay, *, one_clock: bool) -> Reckoning:
    """Return what both ways are.

    Args:
        forward: From the prober to the reflector.
        back: From the reflector to the prober.
        one_clock: Whether it is said that one clock stamps both ends.
    """
    forward_s, back_s = forward.raw_s(), back.raw_s()
    least_s = min(np.nanmin(known) for known in (forward_s, back_s, np.zeros(1)) if not np.isnan(known).all())
    begin_ns = int(forward.sent_ns[0]) if forward.sent_ns.size else 0
    if one_clock and least_s >= 0.0:
        t_back_s = (back.sent_ns - begin_ns) / _NANOSECONDS
        return Reckoning(Clocks(verdict=ClockVerdict.ONE_CLOCK), forward_s, back_s, _rising(t_back_s))
    base_ns = _base_ns(forward)
    sync = synchronise(
        forward.t_s,
        forward.raw_s(base_ns),
        np.where(back.has_arrived, back.first_ns - begin_ns, 0) / _NANOSECONDS,
        back.raw_s(-base_ns),
        base_ns / _NANOSECONDS,
    )
    t_back_s = sync.by_first_clock((back.sent_ns - begin_ns - base_ns) / _NANOSECONDS)
    clocks = _clocks(sync, base_ns / _NANOSECONDS, one_clock=one_clock)
    return Reckoning(clocks, sync.forward_s, sync.back_s, _rising(t_back_s))


def _clocks(sync: ClockSync, base_s: float, *, one_clock: bool) -> Clocks:
    denied = "said to be one clock, yet some delays are negative; " if one_clock else ""
    return Clocks(
        verdict=sync.verdict,
        offset_s=None if np.isnan(sync.offset_s) else sync.offset_s + base_s,
        drift=sync.drift,
        error_s=None if np.isnan(sync.error_s) else sync.error_s,
        words=denied + sync.words,
    )


def _base_ns(forward: OneWay) -> int:
    """Return whole thousands of seconds that the clocks are apart."""
    apart_ns = (forward.first_ns - forward.sent_ns)[forward.has_arrived]
    return round(int(apart_ns[apart_ns.size // 2]) / _BASE_NS) * _BASE_NS if apart_ns.size else 0


def _rising(t_s: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return times of which none is before the beginning or the one before it."""
    return np.maximum.accumulate(np.maximum(t_s, 0.0)) if t_s.size else t_s
