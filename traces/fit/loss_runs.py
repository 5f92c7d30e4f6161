"""Loss runs: how losses come, alone or in bursts, in time, and the chain that loses so at a flow's packet rate.

A path is good or bad. Packets sent while it is bad are lost with a probability h, others never: Gilbert's
model. A loss tells that the path was bad, so the distances from one loss to the next are independent of one
another, and their law is a mixture of two geometric ones, which expectation maximisation finds:

::

    sent    . x x . x . . . . . . . . x x x . .      distances 1 2 9 1 1
            distances --> w, a, b --> r, h           mean loss --> p

Good and bad last for exponential times, of means 1/lambda and 1/mu, whatever the packet rate. At packets D
seconds apart, with k = lambda + mu and the share of bad time b = lambda / k:

::

    p = b (1 - exp(-k D))      r = (1 - b) (1 - exp(-k D))      1 - p - r = exp(-k D)

So the chain fitted at the trace's rate gives k, and k the chain at the flow's. D is the mean interval: of a sender
that is not even the median would be too short, and so every outage. Whether there are bursts at all
is asked first: in how many runs so many losses fall by chance is known exactly (Wald and Wolfowitz 1940).

Source: Gilbert 1960; Dempster, Laird, Rubin 1977.
"""

from __future__ import annotations

import math

import msgspec
import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from netlab.traces.fit.geometric_mixture import Bursts, fit_bursts, resampled_bursts
from netlab.traces.fit.outages import Outages, find_outages
from netlab.traces.fit.sources import LossSource
from netlab.traces.fit.split import Split
from netlab.traces.loss import GilbertElliott
from netlab.traces.loss_run import runs_of
from netlab.traces.ratio_interval import wilson_interval
from netlab.traces.trace import UNKNOWN

__all__ = ["Interval", "LossFit", "chance_of_runs", "fit_loss"]

LEVEL = 0.01
"""Bursts are taken for real where chance gives so few runs less often than this."""

_LONGEST_EXPONENT = 700.0


class Interval(Struct, frozen=True):
    """A figure and where it lies with 95 % confidence."""

    value: float
    low: float
    high: float


class LossFit(Struct, frozen=True, kw_only=True):
    """How a path loses packets.

    Attributes:
        packets: Packets of which it is known.
        lost: How many of them were lost.
        runs: In how many runs; None where it is not known which packets were lost, only how many.
        chance: How likely so few runs are where losses are independent.
        ratio: Share lost, of the round trip where it is one.
        outage_s: Mean time that the path is bad; None where losses are independent.
        gap_s: Mean time that it is good; None likewise.
        loss_in_bad: Share lost while it is bad; None likewise.
        share: The direction's share of a round trip's losses; None where they are its own.
        interval_s: How far apart the packets were on average: what lasts less is a lone loss, or is not seen.
        longest_s: How long the longest run lasted.
        longest_chance: How likely one so long or longer is by what was fitted.
    """

    packets: int
    lost: int
    runs: int | None
    chance: float
    ratio: Interval
    outage_s: Interval | None = None
    gap_s: Interval | None = None
    loss_in_bad: Interval | None = None
    share: float | None = None
    interval_s: float = 0.0
    longest_s: float = 0.0
    longest_chance: float = 1.0

    @property
    def is_unlike(self) -> bool:
        """Tell whether the longest run is none that what was fitted makes: outages of another kind."""
        return self.longest_chance < LEVEL

    def for_direction(self, share: float | None) -> LossFit:
        """Return the same with a direction's share of it."""
        return msgspec.structs.replace(self, share=share)

    @property
    def direction_ratio(self) -> float:
        """Return the share of packets that the direction loses."""
        return self.ratio.value if self.share is None else Split.of_loss(self.ratio.value, self.share)

    def at_rate(self, packet_rate_hz: float) -> float | GilbertElliott:
        """Return the loss of the direction for a flow: a ratio, or a chain that counts its packets.

        Outages last as long as measured whatever the direction's share; there are fewer of them.
        """
        ratio = self.direction_ratio
        if self.outage_s is None or self.loss_in_bad is None or not 0.0 < ratio < self.loss_in_bad.value:
            return float(f"{ratio:.4g}")
        bad = ratio / self.loss_in_bad.value
        # 1/mu is the mean outage, and mu = k (1 - b).
        rate_k = 1.0 / (self.outage_s.value * (1.0 - bad))
        changed = -math.expm1(-min(rate_k / packet_rate_hz, _LONGEST_EXPONENT))
        return GilbertElliott(
            p=float(f"{max(bad * changed, 1e-9):.4g}"),
            r=float(f"{max((1.0 - bad) * changed, 1e-9):.4g}"),
            loss_in_bad=float(f"{self.loss_in_bad.value:.4g}"),
        )


def fit_loss(source: LossSource) -> LossFit:
    """Return how the packets of a trace were lost, and how sure that is; of spread losses their ratio alone."""
    trace = source.trace
    known = trace.lost != UNKNOWN
    lost = trace.lost[known] == 1
    where = np.flatnonzero(lost)
    runs = int(runs_of(lost)[0].size) if trace.has_loss_runs else None
    outages = find_outages(trace)
    chance = 1.0 if runs is None else chance_of_runs(lost.size, where.size, runs)
    fit = LossFit(
        packets=int(lost.size),
        lost=int(where.size),
        runs=runs,
        chance=chance,
        ratio=Interval(where.size / lost.size, *wilson_interval(where.size, lost.size)),
        share=source.share,
        interval_s=outages.interval_s,
    )
    if chance < LEVEL and fit.interval_s and 2 <= where.size < lost.size:
        # From the last loss on round to the first: else the run that ended last would have no end.
        fit = _with_bursts(fit, np.diff(np.append(where, where[0] + lost.size)))
    return _with_longest(fit, outages)


def _with_longest(fit: LossFit, outages: Outages) -> LossFit:
    """Return the fit with its longest run, and how likely that is among so many of geometric length."""
    if not fit.runs:
        return fit
    again = fit.ratio.value
    if fit.interval_s and fit.loss_in_bad is not None:
        chain = fit.for_direction(None).at_rate(1.0 / fit.interval_s)
        again = (1.0 - chain.r) * chain.loss_in_bad if isinstance(chain, GilbertElliott) else again
    longer = again ** (int(outages.packets.max()) - 1)
    chance = -math.expm1(fit.runs * math.log1p(-longer)) if longer < 1.0 else 1.0
    return msgspec.structs.replace(fit, longest_s=float(outages.length_s.max()), longest_chance=chance)


def _with_bursts(fit: LossFit, distances: NDArray[np.int64]) -> LossFit:
    found = fit_bursts(distances)
    if found is None:
        return fit
    ratio = fit.ratio.value
    best = _in_time(found, ratio, fit.interval_s)
    if best is None:
        return fit
    again = [
        _in_time(Bursts(*one), mean, fit.interval_s)
        for *one, mean in resampled_bursts(distances, found.loss_in_bad < 1.0).tolist()
    ]
    spread = np.array([one for one in again if one is not None] or [best])
    low, high = np.quantile(spread, (0.025, 0.975), axis=0)
    outage, gap, in_bad, mean = (
        Interval(value, min(float(below), value), max(float(above), value))
        for value, below, above in zip(best, low, high, strict=True)
    )
    return msgspec.structs.replace(fit, ratio=mean, outage_s=outage, gap_s=gap, loss_in_bad=in_bad)


def _in_time(bursts: Bursts, ratio: float, interval_s: float) -> tuple[float, float, float, float] | None:
    """Return mean outage and gap in seconds, loss in bad and mean loss; None where the chain has no memory."""
    bad = ratio / bursts.loss_in_bad
    if not 0.0 < bad < 1.0:
        return None
    # r = (1 - b) (1 - exp(-k D)), so what is remembered from packet to packet is 1 - r / (1 - b).
    remembered = 1.0 - bursts.r / (1.0 - bad)
    if remembered <= 0.0:
        return None
    rate_k = -math.log(remembered) / interval_s
    return 1.0 / (rate_k * (1.0 - bad)), 1.0 / (rate_k * bad), bursts.loss_in_bad, ratio


def chance_of_runs(packets: int, lost: int, runs: int) -> float:
    """Return how likely losses fall into so few runs or fewer where each order of them is as likely.

    P(R = k) = C(lost - 1, k - 1) C(packets - lost + 1, k) / C(packets, lost).
    """
    if lost in (0, packets):
        return 1.0
    k = np.arange(1, runs + 1)
    factorials = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, packets + 2)))])

    def choose(n: int, of: NDArray[np.int64]) -> NDArray[np.float64]:
        fits = of <= n
        some = np.where(fits, of, 0)
        return np.where(fits, factorials[n] - factorials[some] - factorials[n - some], -np.inf)

    logs = choose(lost - 1, k - 1) + choose(packets - lost + 1, k) - choose(packets, np.array([lost]))
    return float(min(np.exp(logs).sum(), 1.0))
