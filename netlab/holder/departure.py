"""Departure: waits until the kernel has really taken back what a lab had, which it does after we let go.

::

    begin:  our own namespace [watch0] ==veth== [watched] host       nobody else holds that host
    (the lab is closed: the kernel removes its namespaces, in order, at its leisure)
    wait:   until watch0 is gone, and with its host all that was in it

A host of the lab has a second interface for the moment between the two.
"""

from __future__ import annotations

import logging
import time

from netlab.errors import KernelError
from netlab.lab import Lab
from netlab.namespaces.node import Node

__all__ = ["Departure"]

_GONE_WITHIN_S = 15.0
_LOOK_S = 0.005
_LOG = logging.getLogger("netlab.lab")


class Departure:
    """The end of a lab, as the kernel sees it.

    Args:
        lab: The lab.
    """

    def __init__(self, lab: Lab) -> None:
        self._lab = lab
        self._watcher: Node | None = None

    def begin(self) -> None:
        """Put a watch on the host that is made first, and so closed last, and on the one that is closed first."""
        hosts = list(self._lab.hosts.values())
        if not hosts:
            return
        try:
            self._watcher = Node.open("the watcher of a departure")
            for number, host in enumerate({hosts[0].name: hosts[0], hosts[-1].name: hosts[-1]}.values()):
                self._watcher.routes.add_veth(f"watch{number}", "watched", peer_netns_fd=host.node.namespace.fd)
        except KernelError as error:  # out of memory, say: it goes all the same, unseen
            _LOG.warning("the lab's departure is not watched: %s", error)

    def wait(self) -> None:
        """Wait until the hosts are gone; for nothing where there was nothing to watch."""
        watcher, self._watcher = self._watcher, None
        if watcher is None:
            return
        with watcher:
            deadline_s = time.monotonic() + _GONE_WITHIN_S
            while any(entry.kind == "veth" for entry in watcher.routes.links()):
                if time.monotonic() > deadline_s:
                    _LOG.warning("the lab's namespaces are still there %g s after it was closed", _GONE_WITHIN_S)
                    return
                time.sleep(_LOOK_S)
