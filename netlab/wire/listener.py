r"""Listener: where a remote waits for its edges; it serves many at once and is never held up by one.

::

    edge --\
    edge ---+-- socket(s) -- port (UDP | TCP) -- SessionTable -- events --> AgentService
    edge --/                                          ^------ session.send(message) ------
"""

from __future__ import annotations

import errno
import socket
import time
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Protocol

from netlab.errors import KernelError, LocalProtocolError, PrivilegeError, SpecError
from netlab.wire.address import Address, Endpoint, choose_key
from netlab.wire.channel import Transport
from netlab.wire.datagram_port import DatagramPort
from netlab.wire.key import Key
from netlab.wire.pulse import Timing
from netlab.wire.session import Event, Session
from netlab.wire.session_table import SessionTable
from netlab.wire.statistics import Statistics
from netlab.wire.stream_port import StreamPort

__all__ = ["Listener"]

MAX_SESSIONS = 64


class _Port(Protocol):
    """What a transport does for a listener."""

    @property
    def address(self) -> tuple[object, ...]: ...
    def fileno(self) -> int: ...
    def read(self, timeout_s: float) -> float: ...
    def check(self, now_s: float) -> None: ...
    def close(self) -> None: ...


_PORTS: dict[str, tuple[socket.SocketKind, Callable[..., _Port]]] = {
    "datagram": (socket.SOCK_DGRAM, DatagramPort),
    "stream": (socket.SOCK_STREAM, StreamPort),
}


class Listener:
    """Waits for edges at an address and carries messages to and from all of them.

    Args:
        address: Where to listen; port 0 takes any free port. Of a name with several addresses the first that
            can be had.
        key: The shared key; None only on loopback.
        transport: ``datagram`` (UDP) or ``stream`` (TCP).
        timing: Heartbeats and deadlines.
        clock: Seconds that never go back.
        max_sessions: Most edges at once.

    Raises:
        AuthError: No key, and the address is not loopback.
        KernelError: The address cannot be had.
        ConnectionLost: The name has no address.
    """

    def __init__(
        self,
        address: Address | tuple[str, int],
        key: Key | None = None,
        transport: Transport = "datagram",
        *,
        timing: Timing | None = None,
        clock: Callable[[], float] = time.monotonic,
        max_sessions: int = MAX_SESSIONS,
    ) -> None:
        if transport not in _PORTS:
            raise SpecError(f"{transport!r} is not a transport: {' or '.join(_PORTS)}")
        kind, make_port = _PORTS[transport]
        self._clock = clock
        where = Address(*address)
        endpoints = where.resolve(kind)
        chosen = choose_key(key, where, endpoints, "listen on")
        self._table = SessionTable(chosen, timing or Timing(), max_sessions, clock())
        self._is_closed = False
        self._port = self._open_port(make_port, endpoints, where, transport)

    def _open_port(
        self, make_port: Callable[..., _Port], endpoints: Sequence[Endpoint], where: Address, transport: Transport
    ) -> _Port:
        """Listen on the first address of the name that this host has (it may have no IPv6, say)."""
        refusals: list[OSError] = []
        for endpoint in endpoints:
            try:
                return make_port(endpoint.family, endpoint.numeric, self._table, self._clock)
            except OSError as error:
                refusals.append(error)
        raise _refused_address(where, transport, refusals[0]) from refusals[0]

    @property
    def address(self) -> Address:
        """Where it listens: the numeric address and the port it got."""
        host, port = self._port.address[:2]
        return Address(str(host), int(str(port)))

    @property
    def statistics(self) -> Statistics:
        """What belongs to no session: strangers and garbage."""
        return self._table.statistics

    @property
    def sessions(self) -> list[Session]:
        """The open sessions."""
        return [session for session in self._table.sessions.values() if not session.is_closed]

    def fileno(self) -> int:
        """Return the descriptor that becomes readable when something arrives."""
        return self._port.fileno()

    def poll(self, timeout_s: float = 0.0) -> list[Event]:
        """Return what has happened, in order; also keeps the heartbeats going.

        Call it at least a few times a second. One call takes a bounded number of frames: what is left waits
        for the next.

        Args:
            timeout_s: How long to wait for something to happen; 0 does not wait.
        """
        if self._is_closed:
            raise LocalProtocolError("the listener is closed")
        table, port = self._table, self._port
        now_s = port.read(0.0 if table.events else min(timeout_s, table.check_interval_s))
        if now_s >= table.next_check_s:
            table.check(now_s)
            port.check(now_s)
        if not table.events and timeout_s > 0.0:
            self._wait_for_event(time.monotonic() + timeout_s - table.check_interval_s)
        events = table.events
        table.events = []
        return events

    def _wait_for_event(self, deadline_s: float) -> None:
        """Go on as ``poll`` does until there is something to tell or the time is up."""
        table, port = self._table, self._port
        while not table.events:
            # Waiting is real time, whatever clock the sessions live by.
            wait_s = deadline_s - time.monotonic()
            if wait_s <= 0.0:
                return
            now_s = port.read(min(wait_s, table.check_interval_s))
            if now_s >= table.next_check_s:
                table.check(now_s)
                port.check(now_s)

    def close(self, reason: str = "the remote is shutting down") -> None:
        """Say goodbye to all edges and let go of the address. May be called again."""
        if self._is_closed:
            return
        self._is_closed = True
        try:
            for session in self.sessions:
                session.close(reason)
        finally:
            self._port.close()

    def __enter__(self) -> Listener:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _refused_address(where: Address, transport: str, error: OSError) -> KernelError:
    kind = PrivilegeError if error.errno in (errno.EACCES, errno.EPERM) else KernelError
    hints = {
        errno.EADDRINUSE: "another program has it: choose another port, or end that program",
        errno.EADDRNOTAVAIL: "this host has no such address; `ip address` shows which it has",
        errno.EACCES: "ports below 1024 are for root: choose a higher one",
    }
    number = error.errno or 0
    return kind(f"listen on {where} ({transport})", number, error.strerror or "", hint=hints.get(number, ""))
