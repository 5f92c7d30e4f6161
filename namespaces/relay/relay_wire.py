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
import errno
import functools
from collections import defaultdict
from collections.abc import Sequence

from netlab.errors import KernelError, LabError
from netlab.namespaces.impairer import Change, Refusals
from netlab.namespaces.link_plan import EndPlan, LinkPlan
from netlab.namespaces.medium_plan import MediumPlan
from netlab.namespaces.node import Node, batches
from netlab.namespaces.passed_descriptors import close_all
from netlab.namespaces.relay.changes import change_relayed
from netlab.namespaces.relay.direction import RelayDirection
from netlab.namespaces.relay.message_stream import MAX_DESCRIPTORS
from netlab.namespaces.relay.port import HEADER_BYTES
from netlab.namespaces.relay.process import RelayProcess
from netlab.namespaces.relay.recorder import RelayRecorder
from netlab.namespaces.relay.requests import (
    AddLinks,
    AddMedium,
    Join,
    LinkPlace,
    MediumPlace,
    NewLink,
    Remove,
    RemoveMedium,
)
from netlab.namespaces.relay.tap import configure_tap, leave_to_namespace, open_tap, require_tun
from netlab.namespaces.wire import Span
from netlab.traces.qdisc_state import QdiscState
from netlab.traces.seed import Direction

__all__ = ["RelayWire"]

# Bounded by the descriptors of one message, and those that this process holds meanwhile: it may have 1,024.
_LAID_AT_ONCE = MAX_DESCRIPTORS // 4
# An interface that somebody else deletes meanwhile has all be looked at again.
_DELETE_ATTEMPTS = 3


class RelayWire:
    """The links of one lab, carried by one relay process.

    Attributes:
        relay: The process.
    """

    seeded = True

    def __init__(self, relay: RelayProcess) -> None:
        self.relay = relay
        # TAPs that live as long as their hosts unless they are deleted, by the number of the link.
        self._left: dict[int, list[tuple[Node, EndPlan]]] = {}

    @classmethod
    def make(cls, name: str) -> RelayWire:
        """Start the relay process of a lab.

        Args:
            name: What messages call the lab.

        Raises:
            FeatureMissing: There is no /dev/net/tun.
            PrivilegeError: The caller may not open it.
            LabError: The process does not come up.
        """
        require_tun()
        return cls(RelayProcess.open(f"the relay of {name}"))

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
        self.relay.ask(AddMedium(plan.number), f"make medium {plan.name}")
        shared = RelayDirection(self.relay, MediumPlace(plan.number), f"medium {plan.name}")
        try:
            shared.apply(state)
        except BaseException:
            with contextlib.suppress(LabError):  # dead: it has no media any more
                self.relay.ask(RemoveMedium(plan.number), f"remove medium {plan.name}")
            raise
        return shared

    def lay(self, spans: Sequence[Span]) -> None:
        """Make a TAP in each host of each link, up, and hand them to the relay; nothing passes yet.

        Raises:
            KernelError: The kernel refuses, or the relay, for want of descriptors.
            LabError: The relay is dead.
        """
        for start in range(0, len(spans), _LAID_AT_ONCE):
            self._lay(spans[start : start + _LAID_AT_ONCE])

    def _lay(self, spans: Sequence[Span]) -> None:
        taps: dict[str, int] = {}  # by MAC address, which no two ends of a lab share
        try:
            self._make_taps(spans, taps)
            links, held = [], []
            for span in spans:
                ends = list(zip(span.ends, (span.plan.first, span.plan.second), strict=True))
                # Recorded before any of them outlives its descriptor.
                self._left[span.plan.number] = ends
                for _, end in ends:
                    leave_to_namespace(taps[end.mac])
                    held.append(taps[end.mac])
                links.append(_new_link(span))
            self.relay.ask(AddLinks(tuple(links)), f"have {self.relay.label} take over {len(links)} links", held)
        finally:
            close_all(taps.values())  # the relay has its own; where it has not, the interface vanishes

    def _make_taps(self, spans: Sequence[Span], taps: dict[str, int]) -> None:
        """Make all TAPs, up; a few steps for each host, whatever its number of links."""
        wanted: dict[Node, list[tuple[EndPlan, int]]] = defaultdict(list)
        for span in spans:
            for host, end in zip(span.ends, (span.plan.first, span.plan.second), strict=True):
                wanted[host].append((end, span.mtu))

        def open_all(ends: Sequence[tuple[EndPlan, int]]) -> None:
            for end, _ in ends:
                taps[end.mac] = open_tap(end.interface, end.index)

        for host, ends in wanted.items():
            host.namespace.call(functools.partial(open_all, ends))
        with batches(wanted):
            for host, ends in wanted.items():
                for end, mtu in ends:
                    configure_tap(host.routes, end.interface, mtu, end.mac)

    def impair(self, plan: LinkPlan, direction: Direction, state: QdiscState) -> RelayDirection:
        """Give one direction a model.

        Raises:
            ProfileError: The state has slots, which the model has not.
            KernelError: The relay refuses, or shows another state.
            LabError: The relay is dead.
        """
        place = LinkPlace(plan.number, direction)
        impaired = RelayDirection(self.relay, place, f"{direction} of relayed link {plan.number}")
        impaired.apply(state)
        return impaired

    def join(self, spans: Sequence[Span]) -> None:
        """Let packets through, both ways, for links that have been laid.

        Raises:
            KernelError: An interface has been deleted.
            LabError: The relay is dead.
        """
        numbers = tuple(span.plan.number for span in spans)
        self.relay.ask(Join(numbers), f"let packets through {len(numbers)} links of {self.relay.label}")

    def take_away(self, plans: Sequence[LinkPlan]) -> None:
        """Remove what there is of links: their interfaces and the packets in flight.

        Raises:
            KernelError: An interface cannot be deleted; the first of them, those of other hosts are gone.
        """
        with contextlib.suppress(LabError):  # dead: it lets go of all TAPs
            self.relay.ask(Remove(tuple(plan.number for plan in plans)), "take links away")
        left: dict[Node, dict[int, str]] = defaultdict(dict)
        for plan in plans:
            for host, end in self._left.pop(plan.number, ()):
                left[host][end.index] = end.mac
        problems: list[KernelError] = []
        for host, macs in left.items():
            try:
                _delete(host, macs)
            except KernelError as error:
                problems.append(error)
        if problems:
            raise problems[0]

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


def _new_link(span: Span) -> NewLink:
    first, second = span.ends
    return NewLink(
        number=span.plan.number,
        name=f"{first.name}-{second.name}",
        kinds=("tap", "tap"),
        frame_bytes=span.mtu + HEADER_BYTES,
        medium=None if span.medium is None else span.medium.number,
    )


def _delete(host: Node, macs: dict[int, str]) -> None:
    """Delete a host's interfaces, as far as they are there.

    Args:
        host: The host.
        macs: MAC addresses of ours by interface number; another interface of that number is not ours.

    Raises:
        KernelError: One cannot be deleted.
    """
    for attempts_left in reversed(range(_DELETE_ATTEMPTS)):
        there = [entry.ifindex for entry in host.routes.links() if macs.get(entry.ifindex) == entry.mac]
        try:
            host.routes.delete_links(there)
        except KernelError as error:
            if error.errno != errno.ENODEV or not attempts_left:
                raise
        else:
            return
