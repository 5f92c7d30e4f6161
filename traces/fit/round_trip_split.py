"""Round-trip split: laws of two independent directions whose sum is the round trip that was measured.

::

    scaled      X = s m + sqrt(s) (R - m)             right in mean and deviation, whatever the shape
    unfolded    X + X' ~ R, X and X' of one law       right in shape too, where R is such a sum at all

The second is a deconvolution of R with itself, by expectation maximisation over a grid: given the law f so
far, a round trip of r came from X = x with probability f(x) f(r - x) / (f * f)(r); the mean of that over all
round trips is the next f. It never leaves what is positive and comes nearer to the data (in likelihood) with
every turn. Late turns fit the few extreme values at the cost of the rest, so the turn whose round trip is
nearest to the data (Wasserstein) is kept; and the law is used where that is nearer than the scaled one's.

Source: Richardson 1972, Lucy 1974 (the same iteration for a known second law); Dempster, Laird, Rubin 1977.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from netlab.traces.distance import wasserstein_1
from netlab.traces.distribution import TABLE_ENTRIES
from netlab.traces.fit.split import Split

__all__ = ["SplitDelays", "scaled_way_s", "split_round_trip", "sum_values_s", "unfolded_way_s"]

TURNS = 100
LEAST_BINS, MOST_BINS = 512, 2**15
BINS_A_QUARTILE_RANGE = 200
WORTH_UNFOLDING = 0.9
"""The unfolded law has to be so much nearer to the data than the scaled one."""

_FLOOR = 1e-13
_SUM_POINTS = 512


class SplitDelays(NamedTuple):
    """Delays of both directions, equally likely each, and how they were found.

    Attributes:
        forward_s: Of the way there, ``[n]``.
        back_s: Of the way back, ``[m]``.
        method: In words, for the provenance.
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
    scaled = SplitDelays(forward_s, back_s, "the round trip's quantiles, scaled to a direction", below)
    if not split.is_symmetric or float(np.ptp(round_trip_s)) < 1e-9:
        return scaled
    unfolded_s = unfolded_way_s(round_trip_s)
    far = [wasserstein_1(sum_values_s(way_s, way_s), round_trip_s) for way_s in (unfolded_s, forward_s)]
    if far[0] > WORTH_UNFOLDING * far[1]:
        return scaled
    return SplitDelays(unfolded_s, unfolded_s, "the law whose sum of two is the round trip's (deconvolution)")


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
