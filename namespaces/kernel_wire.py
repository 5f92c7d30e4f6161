"""KernelWire: links through a namespace of their own, where the kernel's netem sits.

::

    host A                     wire namespace                      host B
    eth0 ====veth==== in -> redirect -> [netem forward] out ====veth==== eth0
    eth0 ====veth==== out [netem back] <- redirect <- in    ====veth==== eth0

    links of a medium:    in -> redirect -> [netem of the medium] ====veth==== by sender -> [netem] out

A packet that arrives at one end of the wire leaves at the other as it came, MAC addresses and TTL included:
neither host can tell. netem is never on a sender's own egress, where it would distort TCP. Segmentation
offloads are off: each draw of netem decides over one packet.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence

from netlab.errors import KernelError
from netlab.namespaces.features import KernelFeatures, kernel_features, require_netem
from netlab.namespaces.impairer import Change, Refusals
from netlab.namespaces.kernel_recorder import KernelRecorder
from netlab.namespaces.link_plan import MAX_MTU_BYTES, EndPlan, LinkPlan
from netlab.namespaces.medium_plan import MediumPlan
from netlab.namespaces.namespace import Namespace
from netlab.namespaces.netem_batch import PreparedNetems, change_netems, prepare_netems
from netlab.namespaces.netem_qdisc import NetemQdisc
from netlab.namespaces.node import Node, batches
from netlab.namespaces.offload import switch_offloads_off
from netlab.namespaces.redirection import forget_sender, redirect_sender, sort_by_sender
from netlab.namespaces.rtnetlink import RouteSocket
from netlab.namespaces.wire import Span
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
        return KernelWire.make(f"the wire of {name}", kernel_features)

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
        self._in_medium: dict[int, MediumPlan] = {}

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

    def add_medium(self, plan: MediumPlan, state: QdiscState) -> NetemQdisc:
        """Make a veth pair with netem where frames enter it; where they leave it they are sorted by sender.

        Raises:
            FeatureMissing: The kernel lacks something that is needed.
            KernelError: The kernel refuses, or shows another state.
        """
        self.routes.add_veth(
            plan.entry, plan.exit, index=plan.entry_index, peer_index=plan.exit_index,
            mtu=MAX_MTU_BYTES, gso_max_segs=1,
        )  # fmt: skip
        try:
            for name in (plan.entry, plan.exit):
                switch_offloads_off(self.routes, name)
            qdisc = NetemQdisc(self.qdiscs, plan.entry_index, features=self.features(), readings=self.readings)
            qdisc.add(state)
            with self.routes.batch():
                self.routes.add_ingress(plan.exit_index)
                sort_by_sender(self.routes, plan.exit_index)
                # The exit first: an end that comes up after its peer is in use at once.
                self.routes.set_up(plan.exit_index)
                self.routes.set_up(plan.entry_index)
        except BaseException:
            with contextlib.suppress(KernelError):  # the first error counts
                self.routes.delete_link(plan.entry_index)
            raise
        return qdisc

    def lay(self, spans: Sequence[Span]) -> None:
        """Make two veth pairs a link, their outer ends in the hosts and up.

        Raises:
            FeatureMissing: The kernel has no veth.
            KernelError: The kernel refuses.
        """
        with self.routes.batch():
            for span in spans:
                for end, host in _sides(span):
                    self.routes.add_veth(
                        end.wire_interface, end.interface, peer_netns_fd=host.namespace.fd,
                        index=end.wire_index, peer_index=end.index, mac=end.wire_mac, peer_mac=end.mac,
                        mtu=span.mtu, gso_max_segs=1,
                    )  # fmt: skip
        with batches(node for span in spans for node in span.ends):
            for span in spans:
                for end, host in _sides(span):
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

    def join(self, spans: Sequence[Span]) -> None:
        """Redirect each end of a link to the other, through its medium where it has one, and bring them up.

        Raises:
            FeatureMissing: The kernel lacks the redirection.
            KernelError: The kernel refuses.
        """
        with self.routes.batch():
            for span in spans:
                first, second = span.plan.first, span.plan.second
                if span.medium is not None:
                    self._in_medium[span.plan.number] = span.medium
                for end, far_end in ((first, second), (second, first)):
                    if span.medium is None:
                        self.routes.redirect(end.wire_index, far_end.wire_index)
                    else:
                        redirect_sender(self.routes, span.medium.exit_index, end.mac, far_end.wire_index)
                        self.routes.redirect(end.wire_index, span.medium.entry_index)
                # Last: netem is there and the way is open before any packet can come.
                self.routes.set_up(first.wire_index)
                self.routes.set_up(second.wire_index)

    def take_away(self, plans: Sequence[LinkPlan]) -> None:
        """Delete what there is of links; their qdiscs and addresses go with them.

        Raises:
            KernelError: An end cannot be deleted.
        """
        for plan in plans:
            medium = self._in_medium.pop(plan.number, None)
            if medium is not None:
                for end in (plan.first, plan.second):
                    with contextlib.suppress(KernelError):  # it failed before that rule was made
                        forget_sender(self.routes, medium.exit_index, end.mac)
        there = {one.ifindex for one in self.routes.links()}
        ends = {end.wire_index for plan in plans for end in (plan.first, plan.second)}
        self.routes.delete_links(ends & there)

    def change_together(self, changes: Sequence[Change]) -> Refusals:
        """Put several qdiscs, each named once, in new states: the kernel gets all of it in one message."""
        return change_netems(changes)

    def prepare_together(self, changes: Sequence[Change]) -> PreparedNetems | None:
        """Join the messages of changes before they are due; None where one of them cannot be made ahead."""
        return prepare_netems(changes)

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


def _sides(span: Span) -> Iterator[tuple[EndPlan, Node]]:
    """Yield each end of a link and the host it is in."""
    yield from zip((span.plan.first, span.plan.second), span.ends, strict=True)
