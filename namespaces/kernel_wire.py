"""KernelWire: links through a namespace of their own, where the kernel's netem sits.

::

    host A                     wire namespace                      host B
    eth0 ====veth==== in -> redirect -> [netem forward] out ====veth==== eth0
    eth0 ====veth==== out [netem back] <- redirect <- in    ====veth==== eth0

A packet that arrives at one end of the wire leaves at the other as it came, MAC addresses and TTL included:
neither host can tell. netem is never on a sender's own egress, where it would distort TCP. Segmentation
offloads are off: each draw of netem decides over one packet.
"""

from __future__ import annotations

import errno
from collections.abc import Callable, Sequence

from netlab.errors import KernelError
from netlab.namespaces.change import Change, Refusals
from netlab.namespaces.features import KernelFeatures, kernel_features, require_netem
from netlab.namespaces.link_plan import LinkPlan
from netlab.namespaces.namespace import Namespace
from netlab.namespaces.netem_batch import change_netems
from netlab.namespaces.netem_qdisc import NetemQdisc
from netlab.namespaces.node import Node
from netlab.namespaces.offload import switch_offloads_off
from netlab.namespaces.packet_recorder import KernelRecorder
from netlab.namespaces.rtnetlink import RouteSocket
from netlab.traces.qdisc_state import QdiscState
from netlab.traces.seed import Direction

__all__ = ["KernelWire", "KernelWiring"]


class KernelWiring:
    """Labs on the netem of the kernel this process runs on."""

    name = "host"

    def make(self, name: str) -> KernelWire:
        """Make the wire of a lab.

        Raises:
            PrivilegeError: The caller may not make namespaces.
            KernelError: The kernel refuses.
        """
        return KernelWire.make(name, kernel_features)

    def warnings(self) -> list[str]:
        """Return what a person must know of this kernel's netem."""
        text = kernel_features().seed_warning()
        return [text] if text else []


class KernelWire(Node):
    """The namespace in the middle of a lab: both inner ends of every link.

    Attributes:
        qdiscs: A second socket: changes of qdiscs never wait in a batch of the other one.
        readings: A third one: nor for a read-back.
        features: Tells, once it is needed, what this kernel's netem can do.
    """

    def __init__(
        self,
        name: str,
        namespace: Namespace,
        routes: RouteSocket,
        qdiscs: RouteSocket,
        readings: RouteSocket,
        features: Callable[[], KernelFeatures],
    ) -> None:
        super().__init__(name, namespace, routes)
        self.qdiscs = qdiscs
        self.readings = readings
        self.features = features

    @classmethod
    def make(cls, name: str, features: Callable[[], KernelFeatures]) -> KernelWire:
        """Make the wire of a lab.

        Raises:
            PrivilegeError: The caller may not make namespaces.
            KernelError: The kernel refuses.
        """

        def open_sockets() -> tuple[RouteSocket, RouteSocket, RouteSocket]:
            return RouteSocket.open(), RouteSocket.open(), RouteSocket.open()

        namespace, sockets = Namespace.create_with(name, open_sockets)
        return cls(name, namespace, *sockets, features)

    @property
    def seeded(self) -> bool:
        """Whether this kernel's netem heeds seeds."""
        return self.features().seed

    def require_impairments(self) -> None:
        """Refuse a kernel on which no link can be impaired.

        Raises:
            FeatureMissing: It has no netem, no veth or no redirection; names which.
        """
        require_netem(self.features())

    def lay(self, plan: LinkPlan, ends: tuple[Node, Node], mtu: int) -> None:
        """Make two veth pairs, their outer ends in the hosts and up.

        Raises:
            FeatureMissing: The kernel has no veth.
            KernelError: The kernel refuses.
        """
        sides = list(zip((plan.first, plan.second), ends, strict=True))
        with self.routes.batch():
            for end, host in sides:
                self.routes.add_veth(
                    end.wire_interface, end.interface, peer_netns_fd=host.namespace.fd,
                    index=end.wire_index, peer_index=end.index, mac=end.wire_mac, peer_mac=end.mac,
                    mtu=mtu, gso_max_segs=1,
                )  # fmt: skip
        for end, host in sides:
            switch_offloads_off(host.routes, end.interface)
            switch_offloads_off(self.routes, end.wire_interface)
            host.routes.set_up(end.index)

    def impair(self, plan: LinkPlan, direction: Direction, state: QdiscState) -> NetemQdisc:
        """Put netem on the end that one direction leaves by.

        Raises:
            KernelError: The kernel refuses, or shows another state.
        """
        # Forward leaves the wire towards the second host, so it sits on the end that faces it.
        end = plan.second if direction == "forward" else plan.first
        qdisc = NetemQdisc(self.qdiscs, end.wire_index, features=self.features(), readings=self.readings)
        qdisc.add(state)
        return qdisc

    def join(self, plan: LinkPlan) -> None:
        """Redirect each end of the wire to the other and bring them up.

        Raises:
            FeatureMissing: The kernel lacks the redirection.
            KernelError: The kernel refuses.
        """
        first, second = plan.first.wire_index, plan.second.wire_index
        with self.routes.batch():
            self.routes.redirect(first, second)
            self.routes.redirect(second, first)
            # Last: netem is there and the way is open before any packet can come.
            self.routes.set_up(first)
            self.routes.set_up(second)

    def take_away(self, plan: LinkPlan) -> None:
        """Delete what there is of a link; its qdiscs and addresses go with it.

        Raises:
            KernelError: An end cannot be deleted.
        """
        for end in (plan.first, plan.second):
            try:
                self.routes.delete_link(end.wire_index)
            except KernelError as error:
                if error.errno != errno.ENODEV:
                    raise

    def change_together(self, changes: Sequence[Change]) -> Refusals:
        """Put several qdiscs, each named once, in new states: the kernel gets all of it in one message."""
        return change_netems(changes)

    def record(self) -> KernelRecorder:
        """Begin to record packets by packet sockets.

        Raises:
            KernelError: The kernel has none, or the caller may not have one.
        """
        return KernelRecorder.start(self.namespace)

    def check(self) -> None:
        """Do nothing: a namespace does not die as long as we hold it."""

    def close(self) -> None:
        """Close it; every link of the lab goes with it."""
        self.readings.close()
        self.qdiscs.close()
        super().close()
