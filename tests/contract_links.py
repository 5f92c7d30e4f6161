"""One link for the contract: a lab's, by whatever carries its packets, or two models with a clock of their own."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Protocol

from netlab.lab import Lab
from netlab.namespaces.host import Host
from netlab.namespaces.impairer import Change
from netlab.namespaces.link import Link
from netlab.namespaces.wire import Wiring
from netlab.traces.model.link_model import LinkModel
from netlab.traces.qdisc_state import QdiscState
from netlab.traces.seed import Direction

PORT = 7
FRAME_BYTES = 100
HEADERS_BYTES = 14 + 20 + 8
QUIET_S = 0.6
BETWEEN_S = 0.0002
RCVBUFFORCE = 33


class ContractLink(Protocol):
    """What the contract asks of a link."""

    def send(self, numbers: Iterable[int], direction: Direction = "forward") -> None:
        """Send one packet a number."""

    def receive(self, direction: Direction = "forward") -> list[int]:
        """Return the numbers that arrive, in order, until nothing comes any more."""

    def apply(self, state: QdiscState, direction: Direction = "forward") -> None:
        """Put one direction in a state."""

    def read(self, direction: Direction = "forward") -> QdiscState:
        """Return the state that one direction shows."""

    def change_together(self, forward: QdiscState, back: QdiscState) -> None:
        """Put both directions in new states in one go."""


class LabLink:
    """The link of a lab of two hosts.

    Args:
        link: The link.
        sockets: The two hosts' sockets, the first one's first.
        addresses: Of the two hosts.
    """

    def __init__(
        self, link: Link, sockets: tuple[socket.socket, socket.socket], addresses: tuple[str, str]
    ) -> None:
        self._link = link
        self._sockets = sockets
        self._addresses = addresses

    def send(self, numbers: Iterable[int], direction: Direction = "forward") -> None:
        near, far = (0, 1) if direction == "forward" else (1, 0)
        for number in numbers:
            data = number.to_bytes(FRAME_BYTES - HEADERS_BYTES, "big")
            self._sockets[near].sendto(data, (self._addresses[far], PORT))
            time.sleep(BETWEEN_S)

    def receive(self, direction: Direction = "forward") -> list[int]:
        arrived: list[int] = []
        while True:
            try:
                arrived.append(int.from_bytes(self._sockets[direction == "forward"].recv(200), "big"))
            except TimeoutError:
                return arrived

    def apply(self, state: QdiscState, direction: Direction = "forward") -> None:
        self._link.apply(state, direction)

    def read(self, direction: Direction = "forward") -> QdiscState:
        shown = getattr(self._link.read(), direction)
        assert isinstance(shown, QdiscState)
        return shown

    def change_together(self, forward: QdiscState, back: QdiscState) -> None:
        assert self._link.forward is not None and self._link.back is not None
        changes = [Change(self._link.forward, forward), Change(self._link.back, back)]
        assert self._link.wire.change_together(changes) == [None, None]


@contextmanager
def lab_link(wiring: Wiring, state: QdiscState) -> Iterator[LabLink]:
    """Make a lab of two hosts, its link in one state both ways."""
    with Lab(seed=1, wiring=wiring) as lab:
        edge, agent = lab.add_host("edge"), lab.add_host("agent")
        link = lab.add_link(edge, agent, state)
        with _udp(edge) as one, _udp(agent) as other:
            yield LabLink(link, (one, other), (edge.address, agent.address))


def _udp(host: Host) -> socket.socket:
    sock = host.call(lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
    sock.setsockopt(socket.SOL_SOCKET, RCVBUFFORCE, 1 << 24)
    sock.settimeout(QUIET_S)
    sock.bind((host.address, PORT))
    return sock


class ModelLink:
    """Two models and a clock that goes on by itself.

    Args:
        state: Of both directions.
    """

    def __init__(self, state: QdiscState) -> None:
        self._models: dict[Direction, LinkModel] = {"forward": LinkModel(state), "back": LinkModel(state)}
        self._in_flight: dict[Direction, list[tuple[int, int, int]]] = {"forward": [], "back": []}
        self._now_ns = 0

    def send(self, numbers: Iterable[int], direction: Direction = "forward") -> None:
        for number in numbers:
            self._now_ns += round(BETWEEN_S * 1e9)
            in_flight = self._in_flight[direction]
            for copy in self._models[direction].enqueue(self._now_ns, FRAME_BYTES).copies:
                in_flight.append((copy.leave_ns, len(in_flight), number))

    def receive(self, direction: Direction = "forward") -> list[int]:
        leaving = sorted(self._in_flight[direction])
        self._in_flight[direction] = []
        self._now_ns = max([self._now_ns, *(leave_ns for leave_ns, _, _ in leaving)])
        return [number for _, _, number in leaving]

    def apply(self, state: QdiscState, direction: Direction = "forward") -> None:
        self._models[direction].apply(state)

    def read(self, direction: Direction = "forward") -> QdiscState:
        return self._models[direction].state.replace(delay_table=None)

    def change_together(self, forward: QdiscState, back: QdiscState) -> None:
        self.apply(forward, "forward")
        self.apply(back, "back")
