"""Two clocks, from the delays measured between them: how far apart, how fast apart, and what is left to believe.

::

    measured forward = delay + what the second clock is ahead     measured back = delay - what it is ahead

           forward   . . .   .  .          shortest forward    10 486 ms = 8 + 10 478
                    ------------------     shortest back      -10 470 ms = 8 - 10 478
           back      .  .   . .  .

What the second clock is ahead is taken for a straight line in time: an offset and a drift. The delays that
waited least lie on the lower envelope of each direction (``lower_envelope.py``), and half the difference of the
two envelopes is the offset, *if the shortest delays of both directions are alike*. Nothing in the data can tell
whether they are: a path that takes longer one way, by a, shifts offset and delays by a / 2.

The rules, in this order:

1. The drift is the common slope of both envelopes, where each direction has at least 20 delays and the slope is
   beyond its own error; else 0. Beyond 500 parts in a million it is no clock's: VARIATION_ONLY.
2. A direction with fewer than 5 delays, or none: VARIATION_ONLY.
3. Both shortest delays as measured are positive, there is no drift and the offset is at most a fifth of the
   shortest delay, which the path's own asymmetry may as well be: IN_STEP, the delays stay as they are. It says
   that the clocks were not shown to be out of step: each delay may be off by that offset, which ``words`` tell.
4. The shortest delay comes out at 0 or below: a clock was set in between, or is not steady: VARIATION_ONLY.
5. The envelope's error is above a tenth of the shortest delay: VARIATION_ONLY. Otherwise CORRECTED.

The error of an envelope is read from how sparse the delays nearest to it are: the mean of i times the i-th spacing
of the lowest six (Weissman, "Estimation of Parameters and Large Quantiles Based on the k Largest Observations",
JASA 1978). It is right for delays whose tails thin out, as a normal law's do, and up to three times too large for
waits in a queue, of which many are nearly zero.

VARIATION_ONLY delays are waits above the own envelope of their direction: jitter is right, the level is unknown.
"""

from __future__ import annotations

import math

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from netlab.traces.lower_envelope import LowerEnvelope, common_slope
from netlab.traces.trace import ClockVerdict

__all__ = ["ClockSync", "synchronise"]

MIN_DELAYS = 5
"""Fewer delays a direction say nothing of how near the shortest is to the path's own."""

MIN_DRIFT_DELAYS = 20
"""Fewer show no drift: a line through two short delays of a few."""

MAX_DRIFT = 500e-6
"""No clock in order is off by more: crystals by up to 100 parts in a million, NTP slews by at most 500."""

MAX_PATH_ASYMMETRY = 0.2
"""Offset as a share of the shortest delay that is as well the path's: one way half as long again as the other."""

MAX_ERROR_RATIO = 0.1
"""Error of the envelope as a share of the shortest delay above which no level is claimed."""

MAX_NEAREST = 6
"""So many of the delays nearest to an envelope tell how sparse they are there."""

_DRIFT_ERRORS = 8.0
"""How many errors of the envelope a drift must make up over the whole time: of a hundred measurements by clocks
without drift, about one shows one or none does (simulated: exponential, gamma, normal and lognormal delays, 20 to
10,000 of them)."""


class ClockSync(Struct, frozen=True, kw_only=True, eq=False):
    """What is known of two clocks, and the delays by it.

    Attributes:
        offset_s: What the second host's clock is ahead of the first's at the earliest time; NaN where unknown.
        drift: What it gains on it, seconds a second; 0 where none is seen.
        error_s: Standard error of the offset, rather too large than too small; NaN where unknown. An
            asymmetric path adds half its asymmetry, which nobody can see.
        verdict: What the delays below are: IN_STEP as measured, CORRECTED, or VARIATION_ONLY.
        forward_s: Delays from the first host to the second; NaN where they were, ``[n]``.
        back_s: Delays from the second host to the first, ``[m]``.
        words: The verdict and its reason, for a person.
        begin_s: The earliest time of a known delay, by the first host's clock.
        taken_off_s: What was taken off a delay forward at ``begin_s``; later more, by the drift.
    """

    offset_s: float
    drift: float
    error_s: float
    verdict: ClockVerdict
    forward_s: NDArray[np.float64]
    back_s: NDArray[np.float64]
    words: str
    begin_s: float
    taken_off_s: float

    def by_first_clock(self, t_second_s: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return times of the second host's clock as the first's: sending plus delay of a packet forward."""
        passed_s: NDArray[np.float64] = (t_second_s - self.begin_s - self.taken_off_s) / (1.0 + self.drift)
        return self.begin_s + passed_s


class _Direction(Struct, frozen=True, eq=False):
    """Known delays of one direction, ``[n]`` each; times from the earliest of both directions."""

    t_s: NDArray[np.float64]
    delay_s: NDArray[np.float64]
    envelope: LowerEnvelope | None

    @classmethod
    def of(cls, t_s: NDArray[np.float64], delay_s: NDArray[np.float64], begin_s: float) -> _Direction:
        known = np.isfinite(delay_s)
        t_s, delay_s = t_s[known] - begin_s, delay_s[known]
        return cls(t_s, delay_s, LowerEnvelope.of(t_s, delay_s) if t_s.size else None)

    @property
    def n(self) -> int:
        return int(self.t_s.size)

    def floor_s(self, slope: float) -> float:
        """Return the height at time 0 of the line of this slope under the delays; NaN where there are none."""
        return self.envelope.height_s(slope) if self.envelope is not None else math.nan

    def error_s(self, slope: float) -> float:
        """Return how far off that line may be: the weighted spacing of the delays nearest to it."""
        waits_s = self.delay_s - (self.floor_s(slope) + slope * self.t_s)
        nearest = min(self.n // 2 + 1, MAX_NEAREST)
        spacing_s = np.diff(np.sort(np.partition(waits_s, nearest - 1)[:nearest]))
        return float((np.arange(1, nearest) * spacing_s).mean()) if nearest > 1 else math.inf


class _Clocks(Struct, frozen=True):
    """What the envelopes of both directions say, beside what the clocks were already known to be apart."""

    offset_s: float
    drift: float
    error_s: float
    shortest_s: float
    apart_s: float = 0.0

    @classmethod
    def between(cls, forward: _Direction, back: _Direction, drift: float, apart_s: float) -> _Clocks:
        floors_s = forward.floor_s(drift), back.floor_s(-drift)
        return cls(
            offset_s=(floors_s[0] - floors_s[1]) / 2.0,
            drift=drift,
            error_s=math.hypot(forward.error_s(drift), back.error_s(-drift)) / 2.0,
            shortest_s=(floors_s[0] + floors_s[1]) / 2.0,
            apart_s=apart_s,
        )

    @property
    def in_step(self) -> bool:
        """Tell whether the path's own asymmetry may be all there is."""
        return self.drift == self.apart_s == 0.0 and abs(self.offset_s) <= MAX_PATH_ASYMMETRY * self.shortest_s

    @property
    def unsettled(self) -> str:
        """Return why no level can be claimed; empty where one can."""
        if self.shortest_s <= 0.0:
            return f"{self} would make delays of 0 or less, so a clock was set or is not steady"
        if self.error_s > MAX_ERROR_RATIO * self.shortest_s:
            return f"{self} is not known well enough for delays of {_ms(self.shortest_s)}"
        return ""

    def __str__(self) -> str:
        drifting = f", drifting {_ppm(self.drift)}" if self.drift else ""
        apart = f"{self.apart_s:,.0f} s and " if self.apart_s else ""
        return f"an offset of {apart}{_ms(self.offset_s)} (+- {self.error_s * 1e3:.3g} ms){drifting}"


def synchronise(
    t_forward_s: NDArray[np.float64],
    forward_s: NDArray[np.float64],
    t_back_s: NDArray[np.float64],
    back_s: NDArray[np.float64],
    apart_s: float = 0.0,
) -> ClockSync:
    """Estimate two clocks' offset and drift from the one-way delays between their hosts, and correct the delays.

    Only for delays that two clocks have measured: where one clock stamps both ends, they are right as they are.

    Args:
        t_forward_s: When each packet forward was sent or came, by the first host's clock, in any order, ``[n]``.
        forward_s: What the second clock showed at its arrival minus what the first showed at its sending; NaN
            where it is lost, ``[n]``.
        t_back_s: When each packet back was sent or came, by the *first* host's clock too, ``[m]``.
        back_s: What the first clock showed at its arrival minus what the second showed at its sending, ``[m]``.
        apart_s: What the second clock is known to be ahead, already taken off ``forward_s`` and put onto
            ``back_s`` so that no digit is lost; the offset that is returned is beside it.

    Returns:
        The clocks, and delays none of which is negative.
    """
    times = np.concatenate((t_forward_s[np.isfinite(forward_s)], t_back_s[np.isfinite(back_s)]))
    begin_s, span_s = (float(times.min()), float(np.ptp(times))) if times.size else (0.0, 0.0)
    forward, back = _Direction.of(t_forward_s, forward_s, begin_s), _Direction.of(t_back_s, back_s, begin_s)
    drift = _drift(forward, back, span_s)
    clocks, verdict, words = _judge(forward, back, drift, apart_s)
    floors_s = _floors_s(clocks, verdict, forward, back)
    return ClockSync(
        offset_s=clocks.offset_s,
        drift=clocks.drift,
        error_s=clocks.error_s,
        verdict=verdict,
        forward_s=_above(forward_s, floors_s[0] + clocks.drift * (t_forward_s - begin_s)),
        back_s=_above(back_s, floors_s[1] - clocks.drift * (t_back_s - begin_s)),
        words=words,
        begin_s=begin_s,
        taken_off_s=floors_s[0] if math.isfinite(floors_s[0]) else 0.0,
    )


def _floors_s(
    clocks: _Clocks, verdict: ClockVerdict, forward: _Direction, back: _Direction
) -> tuple[float, float]:
    """Return what is to be taken off the delays forward and back at the earliest time."""
    if verdict is ClockVerdict.IN_STEP:
        return 0.0, 0.0
    if verdict is ClockVerdict.CORRECTED:
        return clocks.offset_s, -clocks.offset_s
    return forward.floor_s(clocks.drift), back.floor_s(-clocks.drift)


def _judge(
    forward: _Direction, back: _Direction, drift: float, apart_s: float
) -> tuple[_Clocks, ClockVerdict, str]:
    """Apply the rules of this module's text in their order."""
    only_variation = "the delays are those above the shortest of their direction"
    if abs(drift) > MAX_DRIFT:
        why = f"the delays drift by {_ppm(drift)}, which is no clock's"
        return _Clocks(math.nan, 0.0, math.nan, math.nan), ClockVerdict.VARIATION_ONLY, f"{why}: {only_variation}"
    nothing = _Clocks(math.nan, drift, math.nan, math.nan)
    few = min(forward.n, back.n)
    if few == 0:
        why = "delays of one direction alone do not show how far apart two clocks are"
        return nothing, ClockVerdict.VARIATION_ONLY, f"{why}: {only_variation}"
    if few < MIN_DELAYS:
        why = f"{few} delays in a direction, and at least {MIN_DELAYS} are needed to set clocks by"
        return nothing, ClockVerdict.VARIATION_ONLY, f"{why}: {only_variation}"
    clocks = _Clocks.between(forward, back, drift, apart_s)
    if clocks.in_step:
        # No delay is negative: so the clocks cannot be further apart than the longer of the shortest delays.
        most = _ms(clocks.shortest_s + abs(clocks.offset_s))
        words = f"not shown to be out of step: {clocks} is the clocks' or the path's own"
        return clocks, ClockVerdict.IN_STEP, f"{words}; each delay may be off by it, at most by {most}"
    if clocks.unsettled:
        return clocks, ClockVerdict.VARIATION_ONLY, f"{clocks.unsettled}: {only_variation}"
    words = f"{clocks}: corrected as if the shortest ways there and back were alike"
    most = _ms(clocks.shortest_s)
    return (
        clocks,
        ClockVerdict.CORRECTED,
        f"{words}; each delay is off by half their difference, at most by {most}",
    )


def _drift(forward: _Direction, back: _Direction, span_s: float) -> float:
    """Return the slope of what the second clock is ahead, 0 where none is beyond its own error."""
    used = [one for one in (forward, back) if one.n]
    if not used or span_s <= 0.0 or min(one.n for one in used) < MIN_DRIFT_DELAYS:
        return 0.0
    slope = common_slope(forward.envelope, back.envelope)
    errors_s = [one.error_s(slope if one is forward else -slope) for one in used]
    return slope if abs(slope) * span_s > _DRIFT_ERRORS * math.hypot(*errors_s) else 0.0


def _above(delay_s: NDArray[np.float64], floor_s: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return delays above a line under them all; rounding may leave a negative one."""
    above: NDArray[np.float64] = np.where(np.isfinite(delay_s), np.maximum(delay_s - floor_s, 0.0), np.nan)
    return above


def _ms(duration_s: float) -> str:
    return f"{duration_s * 1e3:.6g} ms"


def _ppm(drift: float) -> str:
    return f"{drift * 1e6:+.3g} ppm"
