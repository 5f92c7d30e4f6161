"""Run seeds of N rows from what Gymnasium's ``reset`` takes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from netlab.envs.virtual.seeds import MAX_DRAWN_SEED, as_run_seed
from netlab.errors import SpecError
from netlab.traces.quantity import shown

__all__ = ["Seeds", "run_seeds"]

Seeds = int | Sequence[int | None] | NDArray[np.integer[Any]] | None


def run_seeds(seed: Seeds, n: int, generator: np.random.Generator) -> list[int]:
    """Return the run seeds of N rows.

    Args:
        seed: The first row's, whose successors are the others'; or one a row, also as an array; None draws the
            first.
        n: How many.
        generator: Draws it.

    Raises:
        SpecError: Not as many seeds, or what is no seed.
    """
    if seed is None:
        seed = int(generator.integers(MAX_DRAWN_SEED))
    given = seed.tolist() if isinstance(seed, np.ndarray) else seed
    if isinstance(given, Sequence):
        seeds = [one for one in map(as_run_seed, given) if one is not None] if len(given) == n else []
        if len(seeds) == n:
            return seeds
    elif (first := as_run_seed(given, n)) is not None:
        return list(range(first, first + n))
    raise SpecError(
        f"{shown(given)}: must be {n} seeds, whole numbers 0 .. 2^64 - 1, or the first of them",
        key="seed",
        hint="seed=7 is 7 for the first row, 8 for the second; a list has one for each row",
    )
