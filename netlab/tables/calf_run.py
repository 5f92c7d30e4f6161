"""calf_run: plays what is not in the store yet, and adds all up.

::

    CalfPlan --not in the store--> run_cells --each--> CellStore --all--> CalfTable --> page, document, picture
"""

from __future__ import annotations

from typing import Any

import msgspec

from netlab.tables.calf_findings import findings
from netlab.tables.calf_plan import CalfPlan
from netlab.tables.calf_result import CalfResult
from netlab.tables.calf_rows import PAPER, PAPER_GAP_RATIO
from netlab.tables.calf_table import CalfTable, calf_table, paper_gap_ratio
from netlab.tables.cell_runner import Watch, run_cells
from netlab.tables.cell_store import CellStore

__all__ = ["calf_document", "play_calf"]


def play_calf(
    plan: CalfPlan, store: CellStore, workers: int, watch: Watch = lambda counts, cell: None
) -> CalfTable:
    """Play the cells that the store does not have, and add all up.

    Args:
        plan: What is to be played.
        store: Keeps each cell as it is finished.
        workers: How many processes.
        watch: Told how far it is.

    Raises:
        NetlabError: Cells failed, or the store takes no more; what is finished stays.
    """
    cells = plan.distinct
    run_cells(list(cells.values()), store, workers, watch, CalfResult)
    return calf_table(plan, {key: store.decoded(key, CalfResult) for key in cells})


def calf_document(table: CalfTable, command: str) -> dict[str, Any]:
    """Return everything as a document for machines.

    Args:
        table: The figures.
        command: What makes them again.
    """
    document: dict[str, Any] = {"command": command, **msgspec.to_builtins(table)}
    document["findings"] = msgspec.to_builtins(findings(table))
    document["paper"] = {
        "source": "arXiv 2603.12543",
        "figures": PAPER,
        "gap_ratio": PAPER_GAP_RATIO,
        "gap_ratio_of_its_figures": {task: paper_gap_ratio(task) for task in PAPER},
    }
    return document
