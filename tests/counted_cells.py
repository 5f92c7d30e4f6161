"""Cells that write down when they are computed; for tests alone. Processes of their own import them by name."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

from msgspec import Struct

from netlab.errors import SpecError
from netlab.tables.cell import cell_key
from netlab.tables.cell_runner import run_cells
from netlab.tables.cell_store import CellStore

__all__ = ["CountedCell", "cells_of", "times_computed"]


class CountedCell(Struct, frozen=True):
    """A number whose square is wanted.

    Attributes:
        number: The number.
        folder: Where there is a line in ``log`` for each time that one is computed.
        way: How it ends: ``well``, ``refused``, ``wrong``, ``memory``, ``killed``, or ``waits`` for ``gate`` to
            be opened.
    """

    number: int
    folder: str
    way: str = "well"

    @property
    def key(self) -> str:
        return cell_key("counted", self.number)

    @property
    def title(self) -> str:
        return f"the square of {self.number}"

    def compute(self) -> bytes:
        with (Path(self.folder) / "log").open("a") as log:
            log.write(f"{self.number} {os.getpid()} {os.environ.get('OPENBLAS_NUM_THREADS')}\n")
        if self.way == "refused":
            raise SpecError(f"{self.number} is refused", hint="take another")
        if self.way == "wrong":
            raise ValueError
        if self.way == "memory":
            raise MemoryError("9 GiB")
        if self.way == "killed":
            os.kill(os.getpid(), signal.SIGKILL)
        if self.way == "waits":
            (Path(self.folder) / "gate").read_bytes()  # a named pipe
        return str(self.number**2).encode()


def cells_of(folder: Path, ways: dict[int, str], n: int = 6) -> list[CountedCell]:
    return [CountedCell(number, str(folder), ways.get(number, "well")) for number in range(n)]


def times_computed(folder: Path) -> list[int]:
    """The numbers in the order in which their computing began."""
    return [int(line.split()[0]) for line in (folder / "log").read_text().splitlines()]


def main(folder: Path) -> None:
    """Compute six cells in one process; the fourth waits. Say each that is kept."""
    cells = cells_of(folder, {3: "waits"})
    with CellStore(folder / "cells.sqlite") as store:
        run_cells(cells, store, 1, lambda counts, cell: print(counts.computed, flush=True))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
