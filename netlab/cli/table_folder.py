"""What the commands that make tables have in common: their folder, and how far they are."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from netlab.cli.progress_line import ProgressLine
from netlab.errors import SpecError

if TYPE_CHECKING:
    from netlab.tables.cell import Cell
    from netlab.tables.cell_runner import RunCounts

__all__ = ["CellProgress", "make_folder"]


_NAMED = 5


class CellProgress:
    """Says how many cells are finished and how long the others will take.

    Args:
        line: Where.
    """

    def __init__(self, line: ProgressLine) -> None:
        self._line = line

    def __call__(self, counts: RunCounts, cell: Cell | None) -> None:
        """Take note; see ``run_cells``."""
        if cell is None:
            self._line.say(f"{counts.wanted} cells, {counts.found} of them finished before")
            for title in counts.damaged[:_NAMED]:
                self._line.say(f"{title}: what was kept is damaged, and is computed again")
            if len(counts.damaged) > _NAMED:
                self._line.say(f"and {len(counts.damaged) - _NAMED} more that are damaged")
        elif counts.left_s is not None:
            done = counts.found + counts.computed
            self._line.count(f"{done} of {counts.wanted} cells, about {counts.left_s:.0f} s left")


def make_folder(folder: Path) -> None:
    """Make the folder of a table, where there is none.

    Raises:
        SpecError: It cannot be made.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        hint = "name a folder that you may write to"
        raise SpecError(f"cannot make {folder}: {error.strerror}", key="--output", hint=hint) from error
