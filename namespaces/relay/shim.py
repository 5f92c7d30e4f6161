"""Shim: a relay between two ports of this machine: a transparent middlebox between a local and a real network.

::

    port 1 (NIC or TAP) --frames--> relay process: LinkModel forward --> port 2 (NIC or TAP)
           <------------ LinkModel back <------------------------------

Layer 2: it has no address, and nothing on either side knows of it. Super-packets are switched off on real
interfaces while it lasts: each draw decides over one packet.
"""

from __future__ import annotations

import contextlib
import errno
import os
import socket
from collections.abc import Callable
from types import TracebackType
from typing import Self

from netlab.errors import KernelError
from netlab.namespaces.kernel_objects import LinkEntry
from netlab.namespaces.offload import Offloads, read_offloads, restore_offloads, switch_offloads_off
from netlab.namespaces.relay.direction import RelayDirection
from netlab.namespaces.relay.port import HEADER_BYTES
from netlab.namespaces.relay.process import RelayProcess
from netlab.namespaces.relay.raw_port import open_raw
from netlab.namespaces.relay.requests import AddLinks, Join, LinkPlace, NewLink, PortKind, ReturnOffloads
from netlab.namespaces.relay.shim_port import ShimPort, check_ports, default_route_interfaces
from netlab.namespaces.relay.tap import configure_tap, open_tap
from netlab.namespaces.rtnetlink import RouteSocket
from netlab.traces.seed import DIRECTIONS, Direction

__all__ = ["Shim"]

_NUMBER = 0
_TAP_MTU = 1500


class Shim:
    """Two ports and the relay between them; nothing passes before ``join``.

    Args:
        ports: First and second; forward is from the first to the second.

    Attributes:
        relay: The process that carries the frames.
        directions: Both directions, to be put in states.
        mtu: Of the link, in bytes: the smaller of the ports'.
    """

    def __init__(self, ports: tuple[ShimPort, ShimPort]) -> None:
        self.ports = ports
        self.mtu = _TAP_MTU
        self._closers = contextlib.ExitStack()
        self._routes = self._closers.enter_context(RouteSocket.open())

    def open(self, *, force: bool = False) -> Self:
        """Take both ports.

        Args:
            force: Take an interface that carries this machine's default route, too.

        Raises:
            SpecError: No shim can lie between these.
            FeatureMissing: A TAP is asked for, and there is no /dev/net/tun.
            PrivilegeError: The caller may not have packet sockets or TAPs.
            KernelError: An interface is not there, keeps an offload on, or is another shim's.
            LabError: The relay process does not come up.
        """
        try:
            self._open(force)
        except BaseException:
            self._closers.close()
            raise
        return self

    def join(self) -> None:
        """Let frames through, both ways.

        Raises:
            KernelError: An interface is gone.
            LabError: The relay is dead.
        """
        self.relay.ask(Join((_NUMBER,)), "let frames through the shim")

    def check(self) -> None:
        """Do nothing as long as frames can pass.

        Raises:
            KernelError: One of the interfaces is gone.
            LabError: The relay has died.
        """
        self.relay.check()
        for port in self.ports:
            self._routes.link_index(port.name)

    def close(self) -> None:
        """End the relay; TAPs vanish, offloads are as they were before.

        Raises:
            KernelError: An interface does not take its offloads back.
        """
        self._closers.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _open(self, force: bool) -> None:
        interfaces = self._routes.links()
        check_ports(self.ports, interfaces, default_route_interfaces(), force=force)
        self.mtu = _common_mtu(self.ports, interfaces)
        self.relay = RelayProcess.open("the relay of the shim")
        self._closers.callback(self.relay.close)
        self.directions: dict[Direction, RelayDirection] = {
            one: RelayDirection(self.relay, LinkPlace(_NUMBER, one), f"{one} of the shim") for one in DIRECTIONS
        }
        with contextlib.ExitStack() as held:
            fds = [self._take(port, held.callback) for port in self.ports]
            first, second = (_kind(port) for port in self.ports)
            longest = self.mtu + HEADER_BYTES
            link = NewLink(number=_NUMBER, name="shim", kinds=(first, second), frame_bytes=longest)
            self.relay.ask(AddLinks((link,)), "take over the ports of the shim", fds)

    def _take(self, port: ShimPort, later: Callable[..., object]) -> int:
        """Open a port; ``later`` closes our own descriptor of it."""
        if port.is_tap:
            fd = open_tap(port.name)
            later(os.close, fd)
            configure_tap(self._routes, port.name, self.mtu)
            return fd
        self._claim(port)
        before = read_offloads(self._routes, port.name)
        self._closers.callback(self._restore, port.name, before)
        promise = ReturnOffloads(interface=port.name, **before._asdict())
        self.relay.ask(promise, f"have the offloads of {port.name} given back at the end")
        switch_offloads_off(self._routes, port.name)
        raw = open_raw(port.name)
        later(raw.close)
        return raw.fileno()

    def _claim(self, port: ShimPort) -> None:
        """Keep other shims of this network namespace away from an interface: frames would pass twice.

        A name in the abstract socket space, which nobody can forget to remove.

        Raises:
            KernelError: Another shim lies there.
        """
        claim = self._closers.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM))
        try:
            claim.bind(f"\0netlab-shim-{self._routes.link_index(port.name)}")
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                raise KernelError(f"claim {port.name}", error.errno or 0) from error
            hint = "end that one first, or use another interface"
            raise KernelError(f"use {port.name}", errno.EBUSY, "another shim lies there", hint) from error

    def _restore(self, name: str, before: Offloads) -> None:
        """Switch on again what was on; an interface that is gone needs nothing."""
        if any(entry.name == name for entry in self._routes.links()):
            restore_offloads(self._routes, name, before)


def _kind(port: ShimPort) -> PortKind:
    return "tap" if port.is_tap else "raw"


def _common_mtu(ports: tuple[ShimPort, ShimPort], interfaces: list[LinkEntry]) -> int:
    mtus = [entry.mtu for entry in interfaces if entry.name in {port.name for port in ports if not port.is_tap}]
    return min(mtus, default=_TAP_MTU)
