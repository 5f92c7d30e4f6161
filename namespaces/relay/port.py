"""Port: where frames come from and go to. A TAP here; a real interface in ``raw_port``."""

from __future__ import annotations

import os
from typing import Protocol

__all__ = ["Port", "TapPort"]

# Ethernet header and one 802.1Q tag.
HEADER_BYTES = 18


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


class TapPort:
    """A TAP: what its host sends is read here, what is written here its host receives.

    Args:
        fd: Of the TAP, not blocking; ours to close.
        frame_bytes: The longest frame the host sends.
    """

    def __init__(self, fd: int, frame_bytes: int) -> None:
        self._fd = fd
        self._frame_bytes = frame_bytes

    def fileno(self) -> int:
        """Return the TAP's descriptor."""
        return self._fd

    def read(self) -> bytes:
        """Return the next frame that the host has sent."""
        return os.read(self._fd, self._frame_bytes)

    def write(self, frame: bytes) -> None:
        """Let the host receive a frame."""
        os.write(self._fd, frame)

    def close(self) -> None:
        """Close the TAP; without its namespace to keep it, its interface vanishes."""
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)
