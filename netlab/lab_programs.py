"""LabPrograms: the PID namespace of a lab, made when its first program is asked for."""

from __future__ import annotations

import functools
import threading

from netlab.closers import Closers
from netlab.namespaces.pid_space import PidSpace

__all__ = ["LabPrograms"]

GRACE_S = 2.0
"""How long programs may take to end when asked to."""


class LabPrograms:
    """Where the programs of a lab run.

    Args:
        label: What messages call the lab.
        closers: Told how to end them.
    """

    def __init__(self, label: str, closers: Closers) -> None:
        self._label = label
        self._closers = closers
        self._pids: PidSpace | None = None
        self._lock = threading.Lock()

    def pid_space(self) -> PidSpace:
        """Return the PID namespace, made at the first call; from any thread.

        Raises:
            PrivilegeError: The caller may not make PID namespaces.
            LabError: Its keeper does not come up.
        """
        with self._lock:
            if self._pids is None:
                self._pids = PidSpace.open(self._label)
                self._closers.push("end the lab's keeper", self._pids.close)
                self._closers.push("end the lab's processes", functools.partial(self._pids.end_processes, GRACE_S))
            return self._pids
