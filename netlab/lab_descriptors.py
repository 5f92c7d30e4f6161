"""LabDescriptors: room for the file descriptors that hold a lab, two a host.

The limit of a process is often 1,024, which is about 400 hosts; the limit up to which it may raise that itself
is usually far higher.
"""

from __future__ import annotations

import resource
import sys
from pathlib import Path

from netlab.errors import LabError

__all__ = ["LabDescriptors"]

A_HOST = 2
"""Its namespace and the socket in it."""
SPARE = 200
"""For the wire, the programs of the lab and whatever else the process opens."""


class LabDescriptors:
    """Descriptors of one lab.

    Args:
        label: What messages call the lab.
    """

    def __init__(self, label: str) -> None:
        self._label = label
        self._room = 0  # hosts there is room for

    def take_host(self) -> None:
        """Take the room of one more host.

        Raises:
            LabError: This process may not have so many descriptors.
        """
        self.make_room(1)
        self._room -= 1

    def make_room(self, hosts: int) -> None:
        """Let this process, and what it starts afterwards, have the descriptors that more hosts cost.

        Args:
            hosts: How many more there will be.

        Raises:
            LabError: It may not have that many.
        """
        if self._room >= hosts:
            return
        # Counting costs a look at each descriptor, so there is room for as many more at once as there are.
        there = sum(1 for _ in Path("/proc/self/fd").iterdir()) + SPARE
        hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        most = sys.maxsize if hard == resource.RLIM_INFINITY else hard
        needed = there + A_HOST * hosts
        if needed > most:
            raise LabError(
                f"{self._label} needs {needed} file descriptors: this process may have {hard} (its hard limit)",
                hint=f"raise it (ulimit -Hn {needed}), or make a lab of fewer hosts: each costs {A_HOST}",
            )
        soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        if soft != resource.RLIM_INFINITY and soft < needed:
            soft = min(most, needed + there)
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        room = (sys.maxsize if soft == resource.RLIM_INFINITY else soft) - there
        self._room = max(hosts, min(room // A_HOST, there))
