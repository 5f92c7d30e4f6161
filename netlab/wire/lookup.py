"""Lookup: the addresses behind a host's name, and a fresh look at them that nobody waits for.

::

    made -> looked up here and now (may wait)
    refresh() -> a short-lived thread asks the resolver -> take() hands over what it found, once

A name may have several addresses, of which the first need not be the one that listens (``localhost`` is ::1
and 127.0.0.1), and a host may come back with another address (DHCP, mDNS).
"""

from __future__ import annotations

import ipaddress
import socket
import threading

from netlab.errors import NetlabError
from netlab.wire.address import Address, Endpoint

__all__ = ["Lookup"]


class Lookup:
    """Knows where a name leads.

    Args:
        where: Host and port.
        kind: ``SOCK_DGRAM`` or ``SOCK_STREAM``.

    Attributes:
        endpoints: What the first look found, in the resolver's order; at least one.

    Raises:
        ConnectionLost: The name has no address now.
        SpecError: The name cannot be one of a host.
    """

    def __init__(self, where: Address, kind: socket.SocketKind) -> None:
        self._where = where
        self._kind = kind
        self._is_name = not _is_numeric(where.host)
        self._thread: threading.Thread | None = None
        self._found: tuple[Endpoint, ...] = ()
        self.endpoints = where.resolve(kind)

    def refresh(self) -> None:
        """Begin to look again, in a thread; does nothing for a number, or while one is looking."""
        if not self._is_name or self._thread is not None:
            return
        # A daemon: a resolver may take half a minute, for which no process should have to wait.
        self._thread = threading.Thread(target=self._look, name="netlab-lookup", daemon=True)
        self._thread.start()

    def take(self) -> tuple[Endpoint, ...]:
        """Return what the last refresh has found, once; empty while there is nothing new. Does not wait."""
        if self._thread is None or self._thread.is_alive():
            return ()
        self._thread = None
        found, self._found = self._found, ()
        return found

    def _look(self) -> None:
        try:
            self._found = self._where.resolve(self._kind)
        except NetlabError:
            self._found = ()  # what was known before stays


def _is_numeric(host: str) -> bool:
    try:
        ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return False
    return True
