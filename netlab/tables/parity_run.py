"""play_parity: plays what is not in the store yet, more where a row is undecided, and adds all up.

::

    rows --first cells--> run_cells --> undecided rows --one cell more each--> run_cells --> ... --> ParityTable

What runs in virtual time runs on all cores; what runs in real time runs alone, afterwards.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

import netlab
from netlab.tables.cell_runner import Watch, run_cells
from netlab.tables.cell_store import CellStore
from netlab.tables.deciding_versions import deciding_versions
from netlab.tables.parity_cell import ParityEpisodes
from netlab.tables.parity_engines import VIRTUAL
from netlab.tables.parity_plan import ParityRow
from netlab.tables.parity_table import ParityLine, ParityTable, parity_line

__all__ = ["parity_document", "play_parity"]


def play_parity(
    rows: Sequence[ParityRow], store: CellStore, workers: int, watch: Watch = lambda counts, cell: None
) -> ParityTable:
    """Play the cells that the store does not have, and add all up.

    Args:
        rows: What is to be played.
        store: Keeps each cell as it is finished.
        workers: How many processes, in virtual time.
        watch: Told how far it is.

    Raises:
        NetlabError: Cells failed; what is finished stays.
    """
    lines: dict[int, ParityLine] = {}
    results: list[ParityEpisodes] = []
    for is_virtual in (True, False):
        chosen = {place: row for place, row in enumerate(rows) if (row.engine == VIRTUAL) is is_virtual}
        for place, found in _played(chosen, store, workers if is_virtual else 1, watch):
            lines[place] = parity_line(rows[place], found)
            results += found
    return ParityTable(
        netlab=netlab.__version__,
        versions=deciding_versions(),
        kernels={row.engine: row.runs[0].cell.kernel for row in rows},
        machine=results[-1].machine if results else {},
        seconds=sum(result.seconds for result in results),
        lines=tuple(lines[place] for place in sorted(lines)),
    )


def parity_document(table: ParityTable, command: str) -> dict[str, Any]:
    """Return everything as a document for machines.

    Args:
        table: The figures.
        command: What makes them again.
    """
    return {"command": command, **msgspec.to_builtins(table)}


def _played(
    rows: dict[int, ParityRow], store: CellStore, workers: int, watch: Watch
) -> Iterator[tuple[int, list[ParityEpisodes]]]:
    """Yield each row's results, once its test is decided or it has as many cells as it may have."""
    counts = {place: row.first_cells for place, row in rows.items()}
    while counts:
        wanted = [run.cell for place, count in counts.items() for run in rows[place].runs[:count]]
        run_cells(wanted, store, workers, watch, ParityEpisodes)
        for place, count in list(counts.items()):
            row = rows[place]
            found = [store.decoded(run.key, ParityEpisodes) for run in row.runs[:count]]
            if parity_line(row, found).verdict != "undecided" or count >= len(row.runs):
                del counts[place]
                yield place, found
            else:
                counts[place] = min(2 * count, len(row.runs))
