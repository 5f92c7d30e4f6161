"""ParityPlan: which cells the parity table asks for, and which more where its test is undecided.

::

    rows x networks x engines --> ParityRow --first cells--> results --undecided?--> as many again, up to a limit
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from netlab.tables.parity_cell import ENGINES, VIRTUAL, ParityCell
from netlab.tables.parity_rows import PLAYED, REAL_NETWORKS, VIRTUAL_NETWORKS, PlayedPolicy

__all__ = ["FULL", "QUICK", "ParityRow", "ParitySize", "plan_parity"]

FIRST_SEED = 2_000_000
"""Of the runs; those below are for choosing, and for other tables."""


class ParitySize(Struct, frozen=True, kw_only=True):
    """How much is played.

    Attributes:
        cell_episodes: Episodes of one run in virtual time.
        cells: Runs of a row in virtual time, at first.
        most_cells: The most runs of a row, where the test is undecided.
        real_episodes: Episodes of the one run of a row in real time.
        networks: How many networks, from the worst.
    """

    cell_episodes: int = 50
    cells: int = 2
    most_cells: int = 8
    real_episodes: int = 10
    networks: int = len(VIRTUAL_NETWORKS)


FULL = ParitySize()
QUICK = ParitySize(cell_episodes=10, cells=1, most_cells=1, real_episodes=0, networks=1)
"""What takes about a minute and a half on two cores."""


class ParityRow(Struct, frozen=True):
    """One line of the table.

    Attributes:
        played: The policy.
        network: In words.
        engine: One of ``ENGINES``.
        episodes: Of each of its runs.
        first_cells: How many runs there are at first.
        most_cells: And at most.
    """

    played: PlayedPolicy
    network: str
    engine: str
    episodes: int
    first_cells: int
    most_cells: int

    def cell(self, number: int) -> ParityCell:
        """Return one of its runs, counted from 0."""
        return ParityCell(
            policy=self.played.policy,
            network=self.network,
            engine=self.engine,
            actuator=self.played.actuator,
            seed=FIRST_SEED + number,
            episodes=self.episodes,
        )


def plan_parity(size: ParitySize, real_engines: tuple[str, ...] = ()) -> list[ParityRow]:
    """Return the rows.

    Args:
        size: How much is played.
        real_engines: What there is in real time here, of ``ENGINES``.
    """
    return [*_virtual_rows(size), *_real_rows(size, real_engines)]


def _virtual_rows(size: ParitySize) -> Iterator[ParityRow]:
    for network in VIRTUAL_NETWORKS[-size.networks :]:
        for played in PLAYED:
            yield ParityRow(played, network, VIRTUAL, size.cell_episodes, size.cells, size.most_cells)


def _real_rows(size: ParitySize, engines: tuple[str, ...]) -> Iterator[ParityRow]:
    if not size.real_episodes:
        return
    for engine in engines:
        assert engine in ENGINES
        for network in REAL_NETWORKS:
            for played in PLAYED:
                yield ParityRow(played, network, engine, size.real_episodes, 1, 1)
