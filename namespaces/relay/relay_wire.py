"""RelayWire: links whose packets one process carries from TAP to TAP, through the link model.

::

    host A                      relay process                        host B
    eth0 = TAP --read--> Lane forward: LinkModel, timers --write--> TAP = eth0
    eth0 = TAP <--write-- Lane back: LinkModel, timers <--read----- TAP = eth0

A frame that one host sends the other receives as it was, MAC addresses and TTL included. The TAPs take no
segmentation offload, so each draw of the model decides over one packet. The TAPs live in the hosts' namespaces
and go with them; the relay ends with its lab, however that ends.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence

from netlab.errors import LabError
from netlab.namespaces.impairer import Change, Refusals
from netlab.namespaces.link_plan import LinkPlan
from netlab.namespaces.medium_plan import MediumPlan
from netlab.namespaces.node import Node
from netlab.namespaces.relay.changes import change_relayed
from netlab.namespaces.relay.direction import RelayDirection
from netlab.namespaces.relay.port import HEADER_BYTES
from netlab.namespaces.relay.process import RelayProcess
from netlab.namespaces.relay.recorder import RelayRecorder
from netlab.namespaces.relay.requests import AddLink, Join, Place, PortKind, Remove
from netlab.namespaces.relay.tap import configure_tap, leave_to_namespace, open_tap, require_tun
from netlab.namespaces.wire import Span
from netlab.traces.qdisc_state import QdiscState
from netlab.traces.seed import Direction

__all__ = ["RelayWire"]


class RelayWire:
    """The links of one lab, carried by one relay process.

    Attributes:
        relay: The process.
    """

    seeded = True

    def __init__(self, relay: RelayProcess) -> None:
        self.relay = relay
        self._ends: dict[int, tuple[Node, Node]] = {}

    @classmethod
    def make(cls, name: str) -> RelayWire:
        """Start the relay process of a lab.

        Raises:
            FeatureMissing: There is no /dev/net/tun.
            PrivilegeError: The caller may not open it.
            LabError: The process does not come up.
        """
        require_tun()
        return cls(RelayProcess.open(f"the relay of {name.removeprefix('the wire of ')}"))

    def require_impairments(self) -> None:
        """Refuse where no link can be made at all.

        Raises:
            FeatureMissing: There is no /dev/net/tun.
            PrivilegeError: The caller may not open it.
        """
        require_tun()

    def add_medium(self, plan: MediumPlan, state: QdiscState) -> RelayDirection:
        """Make a rate and a queue for links to share.

        Raises:
            ProfileError: The state has slots, which the model has not.
            KernelError: The relay refuses, or shows another state.
            LabError: The relay is dead.
        """
        shared = RelayDirection(self.relay, Place(number=plan.number, side="medium"), f"medium {plan.name}")
        shared.apply(state)
        return shared

    def lay(self, spans: Sequence[Span]) -> None:
        """Make a TAP in each host of each link, up, and hand them to the relay; nothing passes yet.

        Raises:
            KernelError: The kernel refuses.
            LabError: The relay is dead.
        """
        for span in spans:
            self._lay(span)

    def _lay(self, span: Span) -> None:
        plan, held = span.plan, []
        try:
            for end, host in zip((plan.first, plan.second), span.ends, strict=True):
                held.append(host.namespace.call(lambda end=end: open_tap(end.interface, end.index)))  # type: ignore[misc]
                configure_tap(host.routes, end.interface, span.mtu, end.mac)
                host.routes.set_up(end.index)
            for fd in held:
                leave_to_namespace(fd)
            self._ends[plan.number] = span.ends
            name = f"{span.ends[0].name}-{span.ends[1].name}"
            medium = None if span.medium is None else span.medium.number
            kinds: tuple[PortKind, PortKind] = ("tap", "tap")
            longest = span.mtu + HEADER_BYTES
            self.relay.ask(
                AddLink(number=plan.number, name=name, kinds=kinds, frame_bytes=longest, medium=medium), held
            )
        finally:
            for fd in held:  # the relay has its own; where it has not, the interface vanishes
                os.close(fd)

    def impair(self, plan: LinkPlan, direction: Direction, state: QdiscState) -> RelayDirection:
        """Give one direction a model.

        Raises:
            ProfileError: The state has slots, which the model has not.
            KernelError: The relay refuses, or shows another state.
            LabError: The relay is dead.
        """
        place = Place(number=plan.number, side=direction)
        impaired = RelayDirection(self.relay, place, f"{direction} of relayed link {plan.number}")
        impaired.apply(state)
        return impaired

    def join(self, spans: Sequence[Span]) -> None:
        """Let packets through, both ways, for links that have been laid.

        Raises:
            KernelError: An interface has been deleted.
            LabError: The relay is dead.
        """
        for span in spans:
            self.relay.ask(Join(span.plan.number))

    def take_away(self, plans: Sequence[LinkPlan]) -> None:
        """Remove what there is of links: their interfaces and the packets in flight.

        Raises:
            KernelError: An interface cannot be deleted.
        """
        for plan in plans:
            with contextlib.suppress(LabError):  # dead: it lets go of all TAPs
                self.relay.ask(Remove(plan.number))
            nodes = self._ends.pop(plan.number, None)
            if nodes is not None:
                for end, host in zip((plan.first, plan.second), nodes, strict=True):
                    host.routes.delete_link(end.index)

    def change_together(self, changes: Sequence[Change]) -> Refusals:
        """Put several directions in new states between two packets, in one message to the relay.

        Raises:
            LabError: The relay is dead, or a change is of no direction of a relay.
        """
        return change_relayed(self.relay, changes)

    def record(self) -> RelayRecorder:
        """Begin to record packets, on links that will be made later, too; the caller closes the recorder.

        Raises:
            LabError: The relay is dead.
        """
        recorder = RelayRecorder(self.relay)
        recorder.begin()
        return recorder

    def check(self) -> None:
        """Do nothing as long as the relay lives.

        Raises:
            LabError: It has died: exit code and last lines.
        """
        self.relay.check()

    def close(self) -> None:
        """End the relay; every link goes with it."""
        self.relay.close()
