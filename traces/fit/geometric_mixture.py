"""Geometric mixture: Gilbert's loss model from the distances between losses, by expectation maximisation.

Distances, in packets, from one loss to the next are independent, and so follow

::

    f(d) = w a (1 - a)^(d - 1)  +  (1 - w) b (1 - b)^(d - 1)

In terms of the chain, p, r and h (loss in bad): f(1) = h (1 - r), and the two rates at which survival falls
are the eigenvalues of [[1 - p, p (1 - h)], [r, (1 - r)(1 - h)]], whose sum and product give p + r and h. With
h = 1 one of the parts is all of distance 1: losses in a row. Many samples are fitted at once, a row each.

Source: Gilbert 1960; Dempster, Laird, Rubin 1977.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["Bursts", "fit_bursts", "resampled_bursts"]

TURNS = 300
RESAMPLES, FEWEST_RESAMPLES = 200, 40
MAX_CELLS = 200_000
BETTER = 5.41
"""Twice the gain in log likelihood that h < 1 must bring: chance brings it in 1 of 100 samples with h = 1.

(Half of a chi square of one degree, as h = 1 is the edge of what h can be: Self and Liang 1987.)
"""

_LEAST = 1e-12


class Bursts(NamedTuple):
    """How a chain of a good and a bad state leaves the bad one (a packet), and what is lost there."""

    r: float
    loss_in_bad: float


class _Mixture(NamedTuple):
    """The two parts: share and rate of the first, rate of the second, and the log likelihood, ``[rows]`` each."""

    share: NDArray[np.float64]
    first: NDArray[np.float64]
    second: NDArray[np.float64]
    likelihood: NDArray[np.float64]


def fit_bursts(distances: NDArray[np.int64]) -> Bursts | None:
    """Return the chain that distances between losses speak of; None where they speak of none.

    Args:
        distances: From each loss to the next, in packets, at least 1, ``[n]``.
    """
    values, counts = np.unique(distances, return_counts=True)
    rows = counts[None, :].astype(np.float64)
    total = _fit(values, rows, total=True)
    part = _fit(values, rows, total=False)
    if 2.0 * float(part.likelihood[0] - total.likelihood[0]) > BETTER:
        bursts = _chain(part)[0]
        if np.isfinite(bursts).all():
            return Bursts(*bursts.tolist())
    bursts = _chain(total)[0]
    return Bursts(*bursts.tolist()) if np.isfinite(bursts).all() else None


def resampled_bursts(distances: NDArray[np.int64], partial: bool) -> NDArray[np.float64]:
    """Return the chains of samples drawn anew from the distances, for the spread of what was found.

    Args:
        distances: As for ``fit_bursts``.
        partial: Whether not all is lost in bad.

    Returns:
        r, loss in bad and mean loss ratio of each sample that speaks of a chain, ``[samples, 3]``.

    Source: Efron 1979; the seed is fixed, so that a trace gives the same figures each time.
    """
    values, counts = np.unique(distances, return_counts=True)
    rng = np.random.default_rng(0)
    samples = min(RESAMPLES, max(FEWEST_RESAMPLES, MAX_CELLS // values.size))
    rows = rng.multinomial(distances.size, counts / distances.size, size=samples).astype(np.float64)
    chains = _chain(_fit(values, rows, total=not partial))
    found: NDArray[np.float64] = np.column_stack([chains, rows.sum(axis=1) / (rows @ values)])
    return found[np.isfinite(found).all(axis=1)]


def _fit(values: NDArray[np.int64], rows: NDArray[np.float64], *, total: bool) -> _Mixture:
    """Return the mixture of each row of counts; with ``total`` the first part is of distance 1 alone."""
    count, mean = rows.sum(axis=1), (rows @ values) / rows.sum(axis=1)
    after = values.astype(np.float64) - 1.0
    ones = np.zeros(values.size)
    ones[values == 1] = 1.0
    share = np.clip(rows @ ones / count, 0.05, 0.95)
    first = np.ones_like(share) if total else np.full_like(share, 0.7)
    second = np.clip((1.0 - share) / np.maximum(mean - share, _LEAST), 1e-9, 1.0 - 1e-9)
    likelihood = np.full_like(share, -np.inf)
    for _ in range(TURNS):
        of_first = share[:, None] * (ones if total else _geometric(first, after))
        density = of_first + (1.0 - share)[:, None] * _geometric(second, after)
        likelihood, before = (rows * np.log(np.maximum(density, 1e-300))).sum(axis=1), likelihood
        belongs = rows * (of_first / np.maximum(density, 1e-300))
        others = rows - belongs
        share = np.clip(belongs.sum(axis=1) / count, _LEAST, 1.0 - _LEAST)
        if not total:
            first = np.clip(belongs.sum(axis=1) / np.maximum(belongs @ values, _LEAST), _LEAST, 1.0)
        second = np.clip(others.sum(axis=1) / np.maximum(others @ values, _LEAST), _LEAST, 1.0 - 1e-9)
        if float(np.max(likelihood - before)) < 1e-7:
            break
    return _Mixture(share, first, second, likelihood)


def _geometric(rate: NDArray[np.float64], after: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the chance of each distance, ``[rows, values]``; 0^0 is 1."""
    chances: NDArray[np.float64] = rate[:, None] * np.power(1.0 - rate[:, None], after[None, :])
    return chances


def _chain(mixture: _Mixture) -> NDArray[np.float64]:
    """Return r and loss in bad of each row, NaN where no chain gives that mixture, ``[rows, 2]``."""
    survive = 1.0 - mixture.first, 1.0 - mixture.second
    at_once = mixture.share * mixture.first + (1.0 - mixture.share) * mixture.second
    moves = 2.0 - at_once - (survive[0] + survive[1])  # p + r
    with np.errstate(divide="ignore", invalid="ignore"):
        in_bad = 1.0 - survive[0] * survive[1] / (1.0 - moves)
        r = 1.0 - at_once / in_bad
    good = (in_bad > 0.0) & (in_bad <= 1.0) & (r > 0.0) & (r < 1.0) & (moves < 1.0) & (moves > r)
    return np.where(good[:, None], np.column_stack([r, in_bad]), np.nan)
