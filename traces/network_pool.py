"""NetworkPool: networks drawn from a distribution once, so that an episode takes one of them by its number.

::

    distribution --draw, size times--> pair 0, pair 1, ...     seed of an episode % size --> number
                                          |
                                          `--> StateTable: forward_rows[number], back_rows[number]

A single environment asks for the pair of its number, many at once for rows of the table: the network is the same.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from netlab.errors import ProfileError
from netlab.traces.bound import bounded_count
from netlab.traces.model.state_table import StateTable
from netlab.traces.network_distribution import PERFECT_LINK, NetworkDistribution
from netlab.traces.pair import ProfilePair
from netlab.traces.profile import LinkProfile
from netlab.traces.schedule import Schedule
from netlab.traces.seed import link_seed
from netlab.whole_number import whole_number

__all__ = ["DEFAULT_SIZE", "NetworkPool"]

DEFAULT_SIZE = 1024
MAX_SIZE = 65536

Link = LinkProfile | Schedule

_PERFECT = ProfilePair("clean", PERFECT_LINK, PERFECT_LINK)


class NetworkPool:
    """So many networks of a distribution.

    Args:
        distribution: What they are drawn from.
        run_seed: 64 bits; network ``n`` is drawn with ``link_seed(run_seed, "networks", "forward", n)``.
        size: How many; 1 for a distribution that has but one.

    Raises:
        ProfileError: The size or the seed is no whole number or out of range, or it is no distribution.
    """

    def __init__(self, distribution: NetworkDistribution, run_seed: int = 0, size: int = DEFAULT_SIZE) -> None:
        if not isinstance(distribution, NetworkDistribution):
            what = type(distribution).__name__
            hint = "parse_network(words) of netlab.traces.toml_network makes one"
            raise ProfileError(f"{what}: a pool draws from a NetworkDistribution", hint=hint)
        size = bounded_count("size", _plain(size), 1, MAX_SIZE)
        self._run_seed = bounded_count("run_seed", _plain(run_seed), 0, 2**64 - 1)
        self.distribution = distribution
        self._size = 1 if distribution.fixed is not None or distribution.clean_ratio == 1.0 else size

    def __len__(self) -> int:
        return self._size

    def number_of(self, episode_seed: int) -> int:
        """Return the number of the network that an episode's seed means; ``numbers_of`` for many."""
        return episode_seed % self._size

    def numbers_of(self, episode_seeds: NDArray[np.uint64]) -> NDArray[np.int64]:
        """Return the numbers of networks that seeds mean, ``[episodes]``, as ``number_of`` does."""
        return (episode_seeds % np.uint64(self._size)).astype(np.int64)

    def pair(self, number: int) -> ProfilePair | None:
        """Return a network, drawn as it is asked for; None for a clean one.

        Raises:
            ProfileError: No such number.
        """
        if not 0 <= number < self._size:
            raise ProfileError(f"number = {number}: there are networks 0 .. {self._size - 1}")
        return self.distribution.draw(link_seed(self._run_seed, "networks", "forward", number))

    @cached_property
    def pairs(self) -> tuple[ProfilePair, ...]:
        """All of them; a clean one as two links that do nothing."""
        return tuple(self.pair(number) or _PERFECT for number in range(self._size))

    @cached_property
    def links(self) -> list[Link]:
        """What each row of the table is made of: the ways of all networks."""
        return [way for pair in self.pairs for way in (pair.forward, pair.back)]

    @cached_property
    def forward_rows(self) -> NDArray[np.int64]:
        """The row of each network's way forward in the table, ``[networks]``."""
        return np.arange(0, 2 * self._size, 2)

    @cached_property
    def back_rows(self) -> NDArray[np.int64]:
        """The row of each network's way back in the table, ``[networks]``."""
        return self.forward_rows + 1

    @cached_property
    def table(self) -> StateTable:
        """All of them compiled, each different link once; takes milliseconds a link."""
        return StateTable.of_links(self.links)


def _plain(value: object) -> object:
    """Return a whole number of numpy as Python's own; all else as it is."""
    number = whole_number(value)
    return value if number is None else number
