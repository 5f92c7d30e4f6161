"""Two hosts and a netem between them, the least that packets can be sent through: for tests."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from netlab.namespaces.namespace import Namespace
from netlab.namespaces.netem_qdisc import NetemQdisc
from netlab.namespaces.rtnetlink import RouteSocket
from netlab.traces.qdisc_state import QdiscState

INTERFACE = 2
FAR_ADDRESS = "10.9.0.2"
MACS = ("02:00:00:00:09:01", "02:00:00:00:09:02")


class Wire:
    """A sender and a receiver; ``qdisc`` is the netem that the sender's packets go through.

    Attributes:
        route: Socket in the sender's namespace.
        qdisc: Netem at the sender's interface.
    """

    def __init__(self, route: RouteSocket, sender: socket.socket, receiver: socket.socket) -> None:
        self.route = route
        self.qdisc = NetemQdisc(route, INTERFACE)
        self._sender = sender
        self._receiver = receiver

    def send(self, numbers: range) -> None:
        """Send one datagram a number; the kernel may say that its queue is full."""
        for number in numbers:
            try:
                self._sender.send(number.to_bytes(4, "little"))
            except OSError:
                continue

    def receive(self, quiet_s: float) -> list[int]:
        """Return the numbers that arrive, in order, until nothing has come for ``quiet_s``."""
        return [number for number, _ in self.receive_with_times(quiet_s)]

    def receive_with_times(self, quiet_s: float, count: int | None = None) -> list[tuple[int, float]]:
        """Return (number, arrival on the monotonic clock) until quiet, or until ``count`` have come."""
        self._receiver.settimeout(quiet_s)
        arrived: list[tuple[int, float]] = []
        while len(arrived) != count:
            try:
                data = self._receiver.recv(100)
            except TimeoutError:
                break
            arrived.append((int.from_bytes(data[:4], "little"), time.monotonic()))
        return arrived


@contextmanager
def netem_wire(state: QdiscState | None = None) -> Iterator[Wire]:
    """Open a wire, its netem in ``state``; without a state there is no netem yet."""
    with ExitStack() as stack:
        near, far = (stack.enter_context(Namespace.create(name)) for name in ("near", "far"))
        route, far_route = (stack.enter_context(RouteSocket.open(space.fd)) for space in (near, far))
        with route.batch():
            route.add_veth(
                "eth0", "eth0", peer_netns_fd=far.fd, index=INTERFACE, peer_index=INTERFACE,
                mac=MACS[0], peer_mac=MACS[1], gso_max_segs=1,
            )  # fmt: skip
            route.set_up(INTERFACE)
            route.add_address(INTERFACE, "10.9.0.1", 30)
            route.add_neighbour(INTERFACE, FAR_ADDRESS, MACS[1])
        with far_route.batch():
            far_route.set_up(INTERFACE)
            far_route.add_address(INTERFACE, FAR_ADDRESS, 30)
        receiver = stack.enter_context(far.call(_udp_socket))
        receiver.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 22)
        receiver.bind((FAR_ADDRESS, 5000))
        sender = stack.enter_context(near.call(_udp_socket))
        sender.connect((FAR_ADDRESS, 5000))
        wire = Wire(route, sender, receiver)
        if state is not None:
            wire.qdisc.add(state)
        yield wire


def _udp_socket() -> socket.socket:
    return socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
