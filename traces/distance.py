"""Distances between two distributions of delays: Kolmogorov-Smirnov's and Wasserstein's first.

Exact for samples of any sizes, by their sorted values; no bins. Equally likely values of a law
(``DelayLaw.delays_ns``) are a sample like any other. Pure numpy; knows no trace and no profile.

::

    1 |          .------------   F of a      KS: the greatest height between the two stairs
      |     .----'  .---------   F of b      W1: the area between them, in the unit of the values
    0 |-----'-------'
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["ks_distance", "wasserstein_1"]


def ks_distance(
    a: ArrayLike, b: ArrayLike, a_weights: ArrayLike | None = None, b_weights: ArrayLike | None = None
) -> float:
    """Return the greatest difference between two distribution functions, 0 .. 1.

    Args:
        a: Values in any order, ``[n]``.
        b: Values in any order and of the same unit, ``[m]``.
        a_weights: How much each value of ``a`` counts, ``[n]``; all alike unless given.
        b_weights: How much each value of ``b`` counts, ``[m]``; all alike unless given.

    Raises:
        ValueError: A sample is empty or holds what is not a finite number, or weights do not fit it.

    Source: Smirnov 1939.
    """
    _, height = _between(a, b, a_weights, b_weights)
    return float(height.max())


def wasserstein_1(
    a: ArrayLike, b: ArrayLike, a_weights: ArrayLike | None = None, b_weights: ArrayLike | None = None
) -> float:
    """Return how far a value has to be moved on average to make one distribution of the other.

    Arguments and errors as for ``ks_distance``; the result has the unit of the values.

    Source: Vallender 1974: in one dimension it is the area between the distribution functions.
    """
    points, height = _between(a, b, a_weights, b_weights)
    return float(np.dot(np.diff(points), height[:-1]))


def _between(
    a: ArrayLike, b: ArrayLike, a_weights: ArrayLike | None, b_weights: ArrayLike | None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return all values, ascending, and the height between both stairs from each on, ``[n + m]`` each."""
    (a_values, a_reached), (b_values, b_reached) = _stairs("a", a, a_weights), _stairs("b", b, b_weights)
    points = np.concatenate([a_values, b_values])
    points.sort(kind="stable")
    a_height = a_reached[np.searchsorted(a_values, points, side="right")]
    b_height = b_reached[np.searchsorted(b_values, points, side="right")]
    return points, np.abs(a_height - b_height)


def _stairs(
    name: str, sample: ArrayLike, weights: ArrayLike | None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the values, ascending, ``[n]``, and what share lies at or below the first 0 .. n, ``[n + 1]``."""
    values = np.asarray(sample, dtype=np.float64)
    if values.ndim != 1 or not values.size:
        raise ValueError(f"{name} has the shape {values.shape}: a distance needs one value or more")
    if not np.isfinite(values).all():
        raise ValueError(f"{name} holds values that are not finite numbers: leave lost packets out")
    if weights is None:
        return np.sort(values), np.arange(values.size + 1) / values.size
    weight = np.asarray(weights, dtype=np.float64)
    if weight.shape != values.shape or not np.isfinite(weight).all() or (weight < 0.0).any() or not weight.any():
        raise ValueError(f"{name} has {values.size} values and unfit weights: one each, none negative, not all 0")
    order = np.argsort(values, kind="stable")
    reached = np.concatenate([[0.0], np.cumsum(weight[order])])
    return values[order], reached / reached[-1]
