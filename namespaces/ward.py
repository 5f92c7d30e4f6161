"""Ward: a process in the keeper's care: how its start went, and then itself."""

from __future__ import annotations

import threading

from netlab.errors import NetlabError
from netlab.namespaces.process import HostProcess

__all__ = ["Ward"]


class Ward:
    """A process whose start has been asked for.

    Attributes:
        process: The process.
        settled: Set once it runs, or cannot.
        problem: Why it cannot.
    """

    def __init__(self, process: HostProcess) -> None:
        self.process = process
        self.settled = threading.Event()
        self.problem: NetlabError | None = None

    def settle(self, problem: NetlabError | None = None) -> None:
        """Tell who waits for the start how it went."""
        self.problem = problem
        self.settled.set()
