"""Outlet: where a sender's packets go, seen from the sender."""

from __future__ import annotations

from typing import Protocol

__all__ = ["Outlet"]


class Outlet(Protocol):
    """What takes a sender's packets."""

    def emit(self, now_ns: int, start: int, end: int) -> int | None:
        """Send the bytes ``start .. end``; return when they arrive, None where never."""
        ...

    @property
    def room_bytes(self) -> int:
        """Return the most bytes of a segment."""
        ...

    @property
    def read_bytes(self) -> int:
        """Return how many bytes the far application has read."""
        ...
