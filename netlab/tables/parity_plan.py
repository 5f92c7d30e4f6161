"""ParityPlan: which cells the parity table asks for, and which more where its test is undecided.

::

    rows x networks x engines --> ParityRow --first cells--> results --undecided?--> as many again, up to a limit

What a cell's key needs is looked up here, once: the policy's file, and the kernel of each engine, so that one
which is not there is missed before anything is played.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from msgspec import Struct

from netlab.agents.policy import find_policy
from netlab.tables.parity_cell import ParityCell
from netlab.tables.parity_engines import VIRTUAL, engine_kernel
from netlab.tables.parity_rows import PLAYED, REAL_NETWORKS, VIRTUAL_NETWORKS, PlayedPolicy

__all__ = ["FIRST_SEED", "FULL", "QUICK", "ParityRow", "ParitySize", "PlannedRun", "plan_parity", "planned_row"]

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
    cells: int = 4
    most_cells: int = 8
    real_episodes: int = 10
    networks: int = len(VIRTUAL_NETWORKS)


FULL = ParitySize()
QUICK = ParitySize(cell_episodes=10, cells=1, most_cells=1, real_episodes=0, networks=1)
"""What takes about a minute and a half on two cores."""


class PlannedRun(Struct, frozen=True):
    """A cell and its key.

    Attributes:
        cell: What is played.
        key: Of the cell, as it was when the table was planned.
    """

    cell: ParityCell
    key: str


class ParityRow(Struct, frozen=True):
    """One line of the table.

    Attributes:
        played: The policy.
        network: In words.
        engine: One of ``ENGINES``.
        runs: The runs that there may be, in order.
        first_cells: How many of them there are at first.
    """

    played: PlayedPolicy
    network: str
    engine: str
    runs: tuple[PlannedRun, ...]
    first_cells: int


def plan_parity(
    size: ParitySize, real_engines: tuple[str, ...] = (), kernel: Callable[[str], str] = engine_kernel
) -> list[ParityRow]:
    """Return the rows.

    Args:
        size: How much is played.
        real_engines: What is played in real time too, of ``ENGINES``.
        kernel: Says which kernel an engine runs on here.

    Raises:
        NetlabError: One of the engines, or of the policies, cannot be had here.
    """
    kernels = {engine: kernel(engine) for engine in (VIRTUAL, *real_engines)}
    return [*_virtual_rows(size, kernels[VIRTUAL]), *_real_rows(size, real_engines, kernels)]


def _virtual_rows(size: ParitySize, kernel: str) -> Iterator[ParityRow]:
    for network in VIRTUAL_NETWORKS[-size.networks :]:
        for played in PLAYED:
            yield planned_row(played, network, VIRTUAL, kernel, size.cell_episodes, size.cells, size.most_cells)


def _real_rows(size: ParitySize, engines: tuple[str, ...], kernels: dict[str, str]) -> Iterator[ParityRow]:
    if not size.real_episodes:
        return
    for engine in engines:
        for network in REAL_NETWORKS:
            for played in PLAYED:
                yield planned_row(played, network, engine, kernels[engine], size.real_episodes, 1, 1)


def planned_row(
    played: PlayedPolicy,
    network: str,
    engine: str,
    kernel: str,
    episodes: int,
    first_cells: int,
    most_cells: int,
) -> ParityRow:
    """Return a row.

    Args:
        played: The policy.
        network: In words.
        engine: One of ``ENGINES``.
        kernel: Its identity here.
        episodes: Of each run.
        first_cells: How many runs there are at first.
        most_cells: And at most.
    """
    cells = [
        ParityCell(
            policy=played.policy,
            policy_sha256=find_policy(played.policy).sha256,
            network=network,
            engine=engine,
            kernel=kernel,
            actuator=played.actuator,
            seed=FIRST_SEED + number,
            episodes=episodes,
        )
        for number in range(most_cells)
    ]
    runs = tuple(PlannedRun(cell, cell.key) for cell in cells)
    return ParityRow(played, network, engine, runs, first_cells)
