"""Run seeds of N rows from what Gymnasium's ``reset`` takes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from netlab.envs.virtual.seeds import MAX_DRAWN_SEED, MAX_RUN_SEED
from netlab.errors import SpecError

__all__ = ["run_seeds"]


def run_seeds(seed: int | Sequence[int | None] | None, n: int, generator: np.random.Generator) -> list[int]:
    """Return the run seeds of N rows.

    Args:
        seed: The first row's, whose successors are the others'; or one a row; None draws the first.
        n: How many.
        generator: Draws it.

    Raises:
        SpecError: Not as many seeds, or one out of range.
    """
    if seed is None:
        seed = int(generator.integers(MAX_DRAWN_SEED))
    seeds = list(seed) if isinstance(seed, Sequence) else [int(seed) + row for row in range(n)]
    if len(seeds) != n or any(one is None or not 0 <= one <= MAX_RUN_SEED for one in seeds):
        raise SpecError(f"{seed!r:.80}: must be {n} seeds, each 0 .. 2^64 - 1, or the first of them", key="seed")
    return [int(one) for one in seeds if one is not None]
