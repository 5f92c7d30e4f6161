"""DoorKeyView: what agents on grids of codes see, many at once, equal to minigrid's view.

The view is 7x7 cells, the agent in the middle of its lowest row and looking up. Light goes from the agent's cell
along each row and up into the next, through cells that are transparent; minigrid carries it from cell to cell.
Here a row is 7 bits, and a table of all 128 x 128 (transparent bits, bits lit from below) says what becomes of it:

::

    codes --gather by direction--> view [n, row, column] --transparent?--> 7 bits a row
    bottom row lit at the agent --table--> lit bits of this row, and those that it lights in the row above
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from netlab.envs.doorkey import CELLS, VIEW_CELLS

__all__ = [
    "CLOSED",
    "CODES",
    "EMPTY",
    "GOAL",
    "KEY",
    "LOCKED",
    "OPEN",
    "STEPS",
    "STORED_CELLS",
    "WALL",
    "DoorKeyView",
    "place",
]

_UNSEEN, EMPTY, WALL, GOAL, KEY, OPEN, CLOSED, LOCKED = range(8)
CODES = 8
"""Codes of cells: what minigrid writes as three numbers; OPEN, CLOSED and LOCKED are a door's."""

_TRIPLES = np.array(
    [(0, 0, 0), (1, 0, 0), (2, 5, 0), (8, 1, 0), (5, 4, 0), (4, 4, 0), (4, 4, 1), (4, 4, 2)], np.uint8
)
"""minigrid's kind, colour and state of each code: grey walls, a green goal, a yellow key and door."""
_TRANSPARENT = np.isin(np.arange(CODES), (EMPTY, GOAL, KEY, OPEN))

_MIDDLE = VIEW_CELLS // 2
_BORDER = VIEW_CELLS - 1
"""Cells of wall around a grid, so that no view reaches beyond what is stored."""
_STRIDE = CELLS + 2 * _BORDER
STORED_CELLS = _STRIDE * _STRIDE
STEPS = np.array([1, _STRIDE, -1, -_STRIDE])
"""How far a step leads among the stored cells, by direction: right, down, left, up."""


def place(x: Any, y: Any) -> Any:
    """Return the index of a cell among those stored of its grid; x and y may be arrays."""
    return (y + _BORDER) * _STRIDE + x + _BORDER


class DoorKeyView:
    """Look at N grids; makes its buffers once.

    Args:
        cells: ``[n, STORED_CELLS]``, codes; read at every look.
        images: ``[n, 7, 7, 3]``, where looks are written, as minigrid lays them out: column, row, channel.
    """

    def __init__(self, cells: NDArray[np.uint8], images: NDArray[np.uint8]) -> None:
        n = len(cells)
        self._cells = cells.reshape(-1)
        self._images = images
        self._grid_starts = (np.arange(n) * STORED_CELLS)[:, None]
        # One column more than is seen, so that a row's bits fill a byte.
        self._where = np.zeros((n, VIEW_CELLS * (VIEW_CELLS + 1)), np.int64)
        self._view = np.zeros((n, VIEW_CELLS, VIEW_CELLS + 1), np.uint8)
        self._lit = np.zeros((VIEW_CELLS, n), np.uint8)
        self._seen = self._view[:, :, :VIEW_CELLS].transpose(0, 2, 1)

    def look(self, places: NDArray[np.int64], directions: NDArray[np.int64], carried: NDArray[np.uint8]) -> None:
        """Write every row's image.

        Args:
            places: ``[n]``, where the agents are, by ``place``.
            directions: ``[n]``, 0 .. 3: right, down, left, up.
            carried: ``[n]``, the code that an agent sees at its own place: EMPTY or what it carries.
        """
        offsets, along, above = _tables()
        view = self._view
        offsets.take(directions, axis=0, out=self._where, mode="clip")
        self._where += self._grid_starts + places[:, None]
        self._cells.take(self._where, out=view.reshape(len(view), -1), mode="clip")
        clear = np.packbits(_TRANSPARENT.take(view), bitorder="little").reshape(-1, VIEW_CELLS)
        pairs = (clear & 127).T.astype(np.int64) << VIEW_CELLS
        below = np.full(len(view), 1 << _MIDDLE, np.uint8)
        for row in reversed(range(VIEW_CELLS)):
            pairs[row] |= below
            along.take(pairs[row], out=self._lit[row], mode="clip")
            if row:
                above.take(pairs[row], out=below, mode="clip")
        view[:, -1, _MIDDLE] = carried
        lit = np.unpackbits(self._lit.T.reshape(-1), bitorder="little")
        view *= lit.reshape(view.shape)
        _TRIPLES.take(self._seen, axis=0, out=self._images, mode="clip")


@cache
def _tables() -> tuple[NDArray[np.int64], NDArray[np.uint8], NDArray[np.uint8]]:
    """Return the view's offsets ``[4, 56]`` by direction and the two tables of light ``[128 * 128]``."""
    row, column = np.mgrid[0:VIEW_CELLS, 0 : VIEW_CELLS + 1]
    ahead, aside = VIEW_CELLS - 1 - row, column - _MIDDLE
    aside[:, VIEW_CELLS] = 0
    offsets = [(ahead * STEPS[way] + aside * STEPS[(way + 1) % 4]).ravel() for way in range(4)]
    return np.array(offsets), *_light()


def _light() -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """Return what is lit along a row and in the row above, by transparent bits * 128 + bits lit from below."""
    clear, lit = np.divmod(np.arange(1 << (2 * VIEW_CELLS)), 1 << VIEW_CELLS)
    above = np.zeros_like(lit)
    to_the_right = [(column, column + 1) for column in range(VIEW_CELLS - 1)]
    to_the_left = [(column, column - 1) for column in range(VIEW_CELLS - 1, 0, -1)]
    for column, neighbour in to_the_right + to_the_left:
        passes = (lit >> column) & (clear >> column) & 1
        lit |= passes << neighbour
        above |= (passes << neighbour) | (passes << column)
    return lit.astype(np.uint8), above.astype(np.uint8)
