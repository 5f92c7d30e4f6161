"""StartGate: lets the labs of a round begin together, when the last of them is ready."""

from __future__ import annotations

import threading
from pathlib import Path

from netlab.envs.start_file import StartFile

__all__ = ["StartGate"]


class StartGate:
    """A file that the services of several labs wait for.

    Args:
        path: The file.
        count: How many labs there are.

    Attributes:
        path: The file, a ``StartFile``.
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

    def let(self, episodes: int) -> None:
        """Let the first so many episodes of a lab that is alone begin."""
        self._missing = 0
        StartFile(self.path).let(episodes)

    def ready(self) -> None:
        """Note that one more lab is ready; the last one opens the gate."""
        with self._lock:
            self._missing -= 1
            if self.is_open:
                StartFile(self.path).let_all()
