"""EpisodesAhead: the seeds of the next episodes of N rows, made many at once.

A seed is a hash, and an episode has four: one by one, as episodes end, they would take longer than the tick.

::

    row 0    episode 4 | 5 | 6 ...      take(rows) -> the next of each of these rows
    row 1    episode 9 | 10 | 11 ...    where one has none left, all that are low are made up
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from netlab.envs.vector.flights import Numbers, Places
from netlab.envs.virtual.seeds import MAX_EPISODES, change_seeds, episode_seed, network_seed
from netlab.errors import SpecError

__all__ = ["Episodes", "EpisodesAhead"]

_DEPTH = 16
"""Episodes of a row that are made at once."""

_EPISODE, _NETWORK, _FORWARD, _BACK = range(4)


class Episodes(NamedTuple):
    """Some rows' next episodes, ``[m]`` each.

    Attributes:
        numbers: Within their runs.
        seeds: Of the task.
        networks: Seeds of the networks that are drawn.
        forward: Seeds of the links' ways forward.
        back: Seeds of their ways back.
    """

    numbers: Numbers
    seeds: Numbers
    networks: NDArray[np.uint64]
    forward: NDArray[np.uint64]
    back: NDArray[np.uint64]


class EpisodesAhead:
    """Episodes of N runs, each from its first on.

    Args:
        run_seeds: Of the rows, N.
        link: Name of the link, which is in its seeds.
        draws_networks: Whether seeds of networks are needed.
        prepare: Is told the task's seeds ``[m]`` ahead.
    """

    def __init__(
        self, run_seeds: list[int], link: str, *, draws_networks: bool, prepare: Callable[[Numbers], None]
    ) -> None:
        self.run_seeds = run_seeds
        self._link = link
        self._draws_networks = draws_networks
        self._prepare = prepare
        n = len(run_seeds)
        self._seeds = np.zeros((4, n, _DEPTH), dtype=np.uint64)
        self._first = np.zeros(n, dtype=np.int64)  # number of the episode that stands first
        self._used = np.full(n, _DEPTH, dtype=np.int64)
        self._first -= _DEPTH

    def take(self, rows: Places) -> Episodes:
        """Return the next episodes of some rows.

        Raises:
            SpecError: A run has no more.
        """
        used = self._used.take(rows)
        if (used == _DEPTH).any():
            self._make_up()
            used = self._used.take(rows)
        self._used[rows] = used + 1
        seeds = self._seeds[:, rows, used]
        return Episodes(
            self._first.take(rows) + used,
            seeds[_EPISODE].astype(np.int64),
            seeds[_NETWORK],
            seeds[_FORWARD],
            seeds[_BACK],
        )

    def _make_up(self) -> None:
        """Make the next episodes of all rows that have used at least half of theirs."""
        made = []
        for row in np.flatnonzero(2 * self._used >= _DEPTH).tolist():
            used = int(self._used[row])
            first, left = int(self._first[row]) + used, _DEPTH - used
            if first + _DEPTH > MAX_EPISODES:
                raise SpecError(f"{MAX_EPISODES} episodes of one run", key="seed", hint="reset with another seed")
            run_seed, numbers = self.run_seeds[row], range(first + left, first + _DEPTH)
            self._seeds[:, row, :left] = self._seeds[:, row, used:]
            seeds = self._seeds[:, row, left:]
            seeds[_EPISODE] = [episode_seed(run_seed, number) for number in numbers]
            if self._draws_networks:
                seeds[_NETWORK] = [network_seed(run_seed, number) for number in numbers]
            seeds[_FORWARD] = change_seeds(run_seed, self._link, "forward", numbers)
            seeds[_BACK] = change_seeds(run_seed, self._link, "back", numbers)
            self._first[row], self._used[row] = first, 0
            made.append(seeds[_EPISODE])
        self._prepare(np.concatenate(made).astype(np.int64))
