"""Cell: one number of a table, or a few: what a store keeps by its key, and a process computes by itself.

::

    cells --[ key in CellStore ]--> found
          `-[ not there ]--> compute() in a process of its own --bytes--> CellStore

Knows neither of the two: ``cell_store.py`` keeps, ``cell_runner.py`` computes.
"""

from __future__ import annotations

import hashlib
from typing import Protocol

import msgspec

__all__ = ["Cell", "cell_key"]


class Cell(Protocol):
    """What is computed once: whatever decides its result is in its key."""

    @property
    def key(self) -> str:
        """SHA-256 of all that decides the result, in hexadecimal."""

    @property
    def title(self) -> str:
        """What it is, in a line for people."""

    def compute(self) -> bytes:
        """Return the result, as it is to be kept.

        Raises:
            NetlabError: There is none.
        """


def cell_key(*parts: object) -> str:
    """Return the SHA-256 of what decides a result.

    Args:
        parts: Structs, numbers, texts, mappings: as JSON, with the keys of mappings in order.
    """
    return hashlib.sha256(msgspec.json.encode(parts, order="deterministic")).hexdigest()
