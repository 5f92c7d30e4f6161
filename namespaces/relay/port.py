"""Port: where frames come from and go to: a TAP (``tap``) or a real interface (``raw_port``)."""

from __future__ import annotations

from typing import Protocol

__all__ = ["HEADER_BYTES", "Port"]

HEADER_BYTES = 18
"""Ethernet header and one 802.1Q tag."""


class Port(Protocol):
    """One interface, by the descriptor that reads and writes whole Ethernet frames."""

    def fileno(self) -> int:
        """Return the descriptor that becomes readable when a frame has come."""
        ...

    def read(self) -> bytes:
        """Return the next frame; empty for one that was dropped on reading (longer than the link takes).

        Raises:
            BlockingIOError: None has come.
            OSError: The interface is gone.
        """
        ...

    def write(self, frame: bytes) -> None:
        """Give a frame to the interface, without waiting.

        Raises:
            OSError: It does not take it.
        """
        ...

    def close(self) -> None:
        """Let go of the interface."""
        ...
