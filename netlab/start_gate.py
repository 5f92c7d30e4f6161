"""StartGate: lets the labs of a round begin together, when the last of them is ready."""

from __future__ import annotations

import threading
from pathlib import Path

__all__ = ["StartGate"]


class StartGate:
    """A file that the services of several labs wait for.

    Args:
        path: The file.
        count: How many labs there are.

    Attributes:
        path: The file.
        stop: Set when the round is to end early.
    """

    def __init__(self, path: Path, count: int) -> None:
        self.path = path
        self.stop = threading.Event()
        self._missing = count
        self._lock = threading.Lock()

    @property
    def is_open(self) -> bool:
        """Tell whether all labs are ready."""
        return self._missing <= 0

    def ready(self) -> None:
        """Note that one more lab is ready; the last one opens the gate."""
        with self._lock:
            self._missing -= 1
            if self.is_open:
                self.path.touch()
