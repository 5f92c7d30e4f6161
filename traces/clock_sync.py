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
3. Both shortest delays as measured are positive, there is no drift and the offset is at most half the shortest
   delay, which the path's own asymmetry may as well be: IN_STEP, the delays stay as they are.
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

MAX_PATH_ASYMMETRY = 0.5
"""Offset as a share of the shortest delay that is as well the path's: one way three times the other."""

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
    """

    offset_s: float
    drift: float
    error_s: float
    verdict: ClockVerdict
    forward_s: NDArray[np.float64]
    back_s: NDArray[np.float64]
    words: str


class _Direction(Struct, frozen=True, eq=False):
    """Known delays of one direction, ``[n]`` each; times from the earliest of both directions."""

    t_s: NDArray[np.float64]
    delay_s: NDArray[np.float64]
    envelope: LowerEnvelope | None

    @classmethod
    def of(cls, t_s: NDArray[np.float64], delay_s: NDArray[np.float64]) -> _Direction:
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
    """What the envelopes of both directions say."""

    offset_s: float
    drift: float
    error_s: float
    shortest_s: float

    @classmethod
    def between(cls, forward: _Direction, back: _Direction, drift: float) -> _Clocks:
        floors_s = forward.floor_s(drift), back.floor_s(-drift)
        return cls(
            offset_s=(floors_s[0] - floors_s[1]) / 2.0,
            drift=drift,
            error_s=math.hypot(forward.error_s(drift), back.error_s(-drift)) / 2.0,
            shortest_s=(floors_s[0] + floors_s[1]) / 2.0,
        )

    @property
    def in_step(self) -> bool:
        """Tell whether the path's own asymmetry may be all there is."""
        return self.drift == 0.0 and abs(self.offset_s) <= MAX_PATH_ASYMMETRY * self.shortest_s

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
        return f"an offset of {_ms(self.offset_s)} (+- {_ms(self.error_s)}){drifting}"


def synchronise(
    t_forward_s: NDArray[np.float64],
    forward_s: NDArray[np.float64],
    t_back_s: NDArray[np.float64],
    back_s: NDArray[np.float64],
) -> ClockSync:
    """Estimate two clocks' offset and drift from the one-way delays between their hosts, and correct the delays.

    Only for delays that two clocks have measured: where one clock stamps both ends, they are right as they are.

    Args:
        t_forward_s: When each packet forward was sent or came, by the first host's clock, in any order, ``[n]``.
        forward_s: What the second clock showed at its arrival minus what the first showed at its sending; NaN
            where it is lost, ``[n]``.
        t_back_s: When each packet back was sent or came, by the *first* host's clock too, ``[m]``.
        back_s: What the first clock showed at its arrival minus what the second showed at its sending, ``[m]``.

    Returns:
        The clocks, and delays none of which is negative.
    """
    known = np.isfinite(forward_s), np.isfinite(back_s)
    times = np.concatenate((t_forward_s[known[0]], t_back_s[known[1]]))
    begin_s = float(times.min()) if times.size else 0.0
    forward = _Direction.of(t_forward_s[known[0]] - begin_s, forward_s[known[0]])
    back = _Direction.of(t_back_s[known[1]] - begin_s, back_s[known[1]])
    drift = _drift(forward, back, float(np.ptp(times)) if times.size else 0.0)
    clocks, verdict, words = _judge(forward, back, drift)
    if verdict is ClockVerdict.IN_STEP:
        floors_s = 0.0, 0.0
    elif verdict is ClockVerdict.CORRECTED:
        floors_s = clocks.offset_s, -clocks.offset_s
    else:
        floors_s = forward.floor_s(clocks.drift), back.floor_s(-clocks.drift)
    return ClockSync(
        offset_s=clocks.offset_s,
        drift=clocks.drift,
        error_s=clocks.error_s,
        verdict=verdict,
        forward_s=_above(forward_s, floors_s[0] + clocks.drift * (t_forward_s - begin_s)),
        back_s=_above(back_s, floors_s[1] - clocks.drift * (t_back_s - begin_s)),
        words=words,
    )


def _judge(forward: _Direction, back: _Direction, drift: float) -> tuple[_Clocks, ClockVerdict, str]:
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
    clocks = _Clocks.between(forward, back, drift)
    if clocks.in_step:
        return clocks, ClockVerdict.IN_STEP, f"{clocks}: no more than the path's two ways may differ by"
    if clocks.unsettled:
        return clocks, ClockVerdict.VARIATION_ONLY, f"{clocks.unsettled}: {only_variation}"
    return (
        clocks,
        ClockVerdict.CORRECTED,
        f"{clocks}: corrected as if the shortest ways there and back were alike",
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
