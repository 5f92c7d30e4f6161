"""Departure: waits until the kernel has really taken back what a lab had, which it does after we let go.

::

    begin:  our own namespace [watch0] ==veth== [watched] host       nobody else holds that host
    (the lab is closed: the kernel removes its namespaces, in order, at its leisure)
    wait:   until watch0 is gone, and with its host all that was in it

A host of the lab has a second interface for the moment between the two.
"""

from __future__ import annotations

import time

from netlab.errors import KernelError, LabError
from netlab.lab import Lab
from netlab.namespaces.node import Node

__all__ = ["Departure"]

_GONE_WITHIN_S = 15.0
_LOOK_S = 0.005


class Departure:
    """The end of a lab, as the kernel sees it.

    Args:
        lab: The lab.
    """

    def __init__(self, lab: Lab) -> None:
        self._lab = lab
        self._watcher: Node | None = None

    def begin(self) -> None:
        """Put a watch on the host that is made first, and so closed last, and on the one that is closed first.

        Raises:
            LabError: It cannot be put there: out of memory, say.
        """
        hosts = list(self._lab.hosts.values())
        if not hosts:
            return
        try:
            self._watcher = Node.open("the watcher of a departure")
            for number, host in enumerate({hosts[0].name: hosts[0], hosts[-1].name: hosts[-1]}.values()):
                self._watcher.routes.add_veth(f"watch{number}", "watched", peer_netns_fd=host.node.namespace.fd)
        except KernelError as error:  # it goes all the same, unseen
            problem = f"nobody sees whether the kernel takes the lab's namespaces back: {error}"
            raise LabError(problem, hint="netlab doctor shows what this kernel lacks") from error

    def wait(self) -> None:
        """Wait until the hosts are gone; for nothing where there was nothing to watch.

        Raises:
            LabError: They are not gone after all this time.
        """
        watcher, self._watcher = self._watcher, None
        if watcher is None:
            return
        with watcher:
            deadline_s = time.monotonic() + _GONE_WITHIN_S
            while any(entry.kind == "veth" for entry in watcher.routes.links()):
                if time.monotonic() > deadline_s:
                    problem = f"the lab's namespaces are still there {_GONE_WITHIN_S:g} s after it was closed"
                    raise LabError(problem, hint="the kernel may be busy; what holds them: lsns -t net")
                time.sleep(_LOOK_S)
