"""Round-trip split: laws of two independent directions whose sum is the round trip that was measured.

::

    scaled      X = s m + sqrt(s) (R - m)             right in mean and deviation, whatever the shape
    unfolded    X + X' ~ R, X and X' of one law       right in shape too, where R is such a sum at all

The second is a deconvolution of R with itself, by expectation maximisation over a grid: given the law f so
far, a round trip of r came from X = x with probability f(x) f(r - x) / (f * f)(r); the mean of that over all
round trips is the next f. It never leaves what is positive and comes nearer to the data (in likelihood) with
every turn. Late turns fit the few extreme values at the cost of the rest, so the turn whose round trip is
nearest to the data (Wasserstein) is kept. Whether the law is used, data decide that it was not made of: the
round trips are dealt into two halves, both laws made of each and held against the other. What unfolding a
sample widens is taken back, to exactly half of the round trip's mean and variance.

Source: Richardson 1972, Lucy 1974 (the same iteration for a known second law); Dempster, Laird, Rubin 1977.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from netlab.traces.distance import wasserstein_1
from netlab.traces.distribution import TABLE_ENTRIES
from netlab.traces.fit.split import Split

__all__ = [
    "SplitDelays",
    "scaled_way_s",
    "split_round_trip",
    "sum_values_s",
    "unfolded_way_s",
    "unfolding_gain",
]

TURNS = 100
LEAST_BINS, MOST_BINS = 512, 2**15
BINS_A_QUARTILE_RANGE = 200
WORTH_UNFOLDING = 0.95
"""The unfolded law has to be so much nearer to data it was not made of than the scaled one."""

LEAST_UNFOLDED = 100
"""Of fewer round trips a shape is chance."""

_FLOOR = 1e-13
_SUM_POINTS = 512


class SplitDelays(NamedTuple):
    """Delays of both directions, equally likely each, and how they were found.

    Attributes:
        forward_s: Of the way there, ``[n]``.
        back_s: Of the way back, ``[m]``.
        method: In words, for the provenance, with the deviations that came of it.
        clipped_ratio: Share of the scaled delays that fell below zero and were put there.
    """

    forward_s: NDArray[np.float64]
    back_s: NDArray[np.float64]
    method: str
    clipped_ratio: float = 0.0


def split_round_trip(round_trip_s: NDArray[np.float64], split: Split) -> SplitDelays:
    """Return the delays of both directions for a round trip, ``[n]``."""
    forward_s, back_s = (scaled_way_s(round_trip_s, share) for share in split.shares)
    below = max(_below_zero(round_trip_s, share) for share in split.shares)
    if split.is_symmetric and unfolding_gain(round_trip_s) < WORTH_UNFOLDING:
        way_s = _of_half_variance(unfolded_way_s(round_trip_s), round_trip_s)
        words = "the law whose sum of two is the round trip's (deconvolution)"
        return SplitDelays(way_s, way_s, f"{words}; {_deviations(way_s)}")
    words = "the round trip's quantiles, scaled to a direction"
    return SplitDelays(forward_s, back_s, f"{words}; {_deviations(forward_s, back_s)}", below)


def unfolding_gain(round_trip_s: NDArray[np.float64]) -> float:
    """Return how far the unfolded law's round trip is from data that it was not made of, in the scaled one's.

    Both laws are made of a random half and compared with the other, and the other way round.

    Args:
        round_trip_s: Round trips, ``[n]``.

    Returns:
        The ratio of both Wasserstein distances; infinite for too few round trips, or such as are alike.
    """
    if round_trip_s.size < LEAST_UNFOLDED or float(np.ptp(round_trip_s)) < 1e-9:
        return np.inf
    dealt_s = np.random.default_rng(0).permutation(round_trip_s)
    halves = dealt_s[::2], dealt_s[1::2]
    unfolded = scaled = 0.0
    for made_of, held_out in (halves, halves[::-1]):
        if float(np.ptp(made_of)) < 1e-9:
            return np.inf
        way_s = _of_half_variance(unfolded_way_s(made_of), made_of)
        unfolded += wasserstein_1(sum_values_s(way_s, way_s), held_out)
        way_s = scaled_way_s(made_of, 0.5)
        scaled += wasserstein_1(sum_values_s(way_s, way_s), held_out)
    return unfolded / scaled if scaled > 0.0 else np.inf


def _of_half_variance(way_s: NDArray[np.float64], round_trip_s: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return a law moved and scaled to half of the round trip's mean and variance, where none falls below zero."""
    mean_s, sd_s = 0.5 * float(round_trip_s.mean()), float(round_trip_s.std()) / 2.0**0.5
    own_s = float(way_s.std())
    if own_s <= 0.0:
        return way_s
    exact = mean_s + (way_s - float(way_s.mean())) * (sd_s / own_s)
    return np.round(exact, 7) if float(exact.min()) >= 0.0 else way_s


def _deviations(*ways_s: NDArray[np.float64]) -> str:
    return "deviation of a way " + " and ".join(f"{1e3 * float(way_s.std()):.4g} ms" for way_s in ways_s)


def scaled_way_s(round_trip_s: NDArray[np.float64], share: float) -> NDArray[np.float64]:
    """Return round trips scaled to a direction with a share of their mean and variance, none below zero."""
    mean_s = float(round_trip_s.mean())
    scaled: NDArray[np.float64] = np.maximum(share * mean_s + share**0.5 * (round_trip_s - mean_s), 0.0)
    return scaled


def _below_zero(round_trip_s: NDArray[np.float64], share: float) -> float:
    mean_s = float(round_trip_s.mean())
    return float((share * mean_s + share**0.5 * (round_trip_s - mean_s) < -1e-12).mean())


def unfolded_way_s(round_trip_s: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return equally likely delays of the law whose sum of two independent ones is nearest to round trips.

    Args:
        round_trip_s: Round trips, not all alike, ``[n]``.

    Returns:
        Delays, ascending, none below half of the least round trip, ``[16384]``.
    """
    least_s, range_s = float(round_trip_s.min()), float(np.ptp(round_trip_s))
    bins = _bins(round_trip_s, range_s)
    step_s = range_s / bins
    measured = _histogram((round_trip_s - least_s) / step_s, bins)
    reached = np.cumsum(_unfold(measured))
    wanted = (np.arange(TABLE_ENTRIES) + 0.5) / TABLE_ENTRIES * reached[-1]
    values: NDArray[np.float64] = 0.5 * least_s + step_s * np.searchsorted(reached, wanted)
    return np.round(values, 7)


def sum_values_s(first_s: NDArray[np.float64], second_s: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return equally likely sums of two independent delays, ``[at most 262144]``."""
    points = (np.arange(_SUM_POINTS) + 0.5) / _SUM_POINTS
    thin = [np.quantile(way_s, points) if way_s.size > _SUM_POINTS else way_s for way_s in (first_s, second_s)]
    return np.add.outer(*thin).ravel()


def _bins(round_trip_s: NDArray[np.float64], range_s: float) -> int:
    """Return how many steps the grid has: a middle half of the data gets 200."""
    low, high = np.quantile(round_trip_s, (0.25, 0.75))
    wanted = BINS_A_QUARTILE_RANGE * range_s / max(float(high - low), range_s / MOST_BINS)
    return int(min(max(wanted, LEAST_BINS), MOST_BINS))


def _histogram(place: NDArray[np.float64], bins: int) -> NDArray[np.float64]:
    """Return what share lies at each point 0 .. bins, ``[bins + 1]``."""
    counts = np.bincount(np.clip(np.rint(place), 0, bins).astype(np.int64), minlength=bins + 1)
    shares: NDArray[np.float64] = counts / place.size
    return shares


def _unfold(measured: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the law that expectation maximisation makes of a flat one, the best of its turns.

    Flat, because a law with a shape of its own may be led into one that cannot be left: the scaled law of a
    path with two levels has three.
    """
    law = np.full(measured.size, 1.0 / measured.size)
    size = 1 << int(2 * measured.size - 1).bit_length()
    reached = np.cumsum(measured)
    best, best_far = law, np.inf
    for _ in range(TURNS):
        spectrum = np.fft.rfft(law, size)
        folded = np.fft.irfft(spectrum * spectrum, size)[: measured.size]
        far = float(np.abs(np.cumsum(folded) - reached).sum())
        if far < best_far:
            best, best_far = law, far
        ratio = np.fft.rfft(measured / np.maximum(folded, _FLOOR), size)
        law = np.maximum(law * np.fft.irfft(ratio * spectrum.conj(), size)[: measured.size], 0.0)
        law /= law.sum()
    return best
