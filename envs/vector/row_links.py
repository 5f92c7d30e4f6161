"""RowLinks: the links of N rows, each begun anew with each of its row's episodes.

::

    begin(rows, episodes) --network's number, seeds--> EpisodeLinks.restart    lanes 0 .. n-1 forward
    send_forward / send_back (now, who) -------------> EpisodeLinks.send       lanes n .. 2n-1 back

Equal to the ``VirtualLink`` of each row. Knows networks and seeds; knows no message.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from netlab.envs.vector.episodes_ahead import Episodes
from netlab.envs.vector.flights import Bools, Numbers, Places
from netlab.envs.vector.way_figures import WayFigures
from netlab.envs.virtual.asked_network import Network, fixed_pair
from netlab.envs.virtual.seeds import change_seed
from netlab.errors import ProfileError
from netlab.traces.model.episode_links import EpisodeLinks
from netlab.traces.model.state_table import Column, StateTable
from netlab.traces.model.timed_states import TimedStates
from netlab.traces.network_pool import NetworkPool
from netlab.traces.pair import ProfilePair
from netlab.traces.profile import LinkProfile
from netlab.traces.seed import DIRECTIONS

__all__ = ["RowLinks"]


class RowLinks:
    """Both directions of N links.

    Args:
        network: As for ``VirtualNetwork``, but what draws a network an episode must be a pool.
        link: Name of the link, which is in its seeds.
        n: Number of rows.
        tick_s: Length of a tick, for the figures.
        tells_figures: Whether ``figures`` is asked for.

    Attributes:
        draws_networks: Whether an episode's network hangs on its seed.
        has_rate: Whether some link has a rate: lengths of messages matter.

    Raises:
        ProfileError: No network, or one that the link model cannot do.
    """

    def __init__(self, network: Network, link: str, n: int, tick_s: float, *, tells_figures: bool) -> None:
        self._n = n
        self._link = link
        self._networks = _networks(network)
        self.draws_networks = len(self._networks) > 1
        self.has_rate = _has_rate(self._networks.table)
        self._run_seeds: list[int] = [0] * n
        self._episodes = np.zeros(n, dtype=np.int64)
        self._links = EpisodeLinks(self._networks.table, 2 * n, self._step_seed)
        self._figures: WayFigures | None = None
        if tells_figures:
            links = [way for pair in self._networks.pairs for way in (pair.forward, pair.back)]
            self._figures = WayFigures(links, 2 * n, tick_s)
        self._forward, self._back = slice(0, n), slice(n, 2 * n)

    def begin_runs(self, run_seeds: list[int]) -> None:
        """Take the runs' seeds, one a row, from which those of later steps of schedules follow."""
        self._run_seeds = run_seeds

    def begin(self, rows: Places, episodes: Episodes) -> None:
        """Begin an episode in some rows ``[m]``, on fresh links."""
        networks = self._networks
        lanes = np.concatenate((rows, rows + self._n))
        numbers = networks.numbers_of(episodes.networks)
        links = np.concatenate((networks.forward_rows.take(numbers), networks.back_rows.take(numbers)))
        self._episodes[rows] = episodes.numbers
        self._links.restart(lanes, links, np.concatenate((episodes.forward, episodes.back)))
        if self._figures is not None:
            self._figures.begin(lanes, links)

    def send_forward(self, now_ns: Numbers, who: Bools, length_bytes: int | Numbers) -> Numbers:
        """Put an observation of some rows in; return when it arrives, ``NEVER`` where it does not, ``[n]``."""
        return self._links.send(now_ns, who, length_bytes, self._forward)

    def send_back(self, now_ns: Numbers, who: Bools, length_bytes: int | Numbers) -> Numbers:
        """Put an answer of some rows in; see ``send_forward``."""
        if self._figures is not None:
            self._figures.note(self._back, now_ns, who)
        return self._links.send(now_ns, who, length_bytes, self._back)

    def figures(self, now_ns: Numbers) -> NDArray[np.float32]:
        """Return what a critic may know of each row's network at a time ``[n]``, ``[n, 8]``."""
        figures = self._figures
        assert figures is not None  # who asks has said so
        return np.concatenate((figures.at(self._forward, now_ns), figures.at(self._back, now_ns)), axis=1)

    def _step_seed(self, lane: int, step: int) -> int:
        row, way = lane % self._n, DIRECTIONS[lane // self._n]
        return change_seed(self._run_seeds[row], self._link, way, int(self._episodes[row]), step)


class _Networks(Protocol):
    """Which networks there are; ``NetworkPool`` is one."""

    def __len__(self) -> int: ...

    def numbers_of(self, episode_seeds: NDArray[np.uint64]) -> Numbers: ...

    @property
    def pairs(self) -> tuple[ProfilePair, ...]: ...

    @property
    def table(self) -> StateTable: ...

    @property
    def forward_rows(self) -> Numbers: ...

    @property
    def back_rows(self) -> Numbers: ...


class _OneNetwork:
    """The same in each episode."""

    def __init__(self, pair: ProfilePair) -> None:
        self.pairs = (pair,)
        self.table = StateTable.of_links((pair.forward, pair.back))
        self.forward_rows, self.back_rows = np.array([0]), np.array([1])

    def __len__(self) -> int:
        return 1

    def numbers_of(self, episode_seeds: NDArray[np.uint64]) -> Numbers:
        return np.zeros(len(episode_seeds), dtype=np.int64)


def _networks(network: Network) -> _Networks:
    if isinstance(network, NetworkPool):
        return network
    pair = fixed_pair(LinkProfile() if network is None else network)
    if pair is not None:
        return _OneNetwork(pair)
    raise ProfileError(
        f"{type(network).__name__} is no network for many rows",
        hint="give None, a preset's name, a profile, a schedule, a pair of them, or a NetworkPool: "
        "of a distribution NetworkPool(distribution, seed)",
    )


def _has_rate(table: StateTable) -> bool:
    """Tell whether bytes take time on some link; where packets keep their order a very high rate sees to it."""
    if (table.numbers[Column.RATE] > 0).any():
        return True
    modelled = table.by_model.values()
    states = [one for link in modelled for one in (link.states if isinstance(link, TimedStates) else (link,))]
    return any(state.rate_bytes_per_s > 0 for state in states)
