"""Wire: the middle of a lab, where its links are laid and impaired; and Wiring, which makes it.

::

    Lab --Wiring.make--> Wire           chosen once, when the lab is made
    Link.open --lay, impair, join--> Wire --> KernelWire  namespaces/kernel_wire.py: veth and netem
                                         `--> RelayWire   namespaces/relay/: TAPs and a LinkModel

Two protocols, no code: what a Link needs of the thing that carries its packets.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from netlab.namespaces.impairer import Change, Impairer, Refusals
from netlab.namespaces.link_plan import LinkPlan
from netlab.namespaces.medium_plan import MediumPlan
from netlab.namespaces.node import Node
from netlab.namespaces.recorder import Recorder
from netlab.traces.qdisc_state import QdiscState
from netlab.traces.seed import Direction

__all__ = ["Span", "Wire", "Wiring"]


class Span(NamedTuple):
    """A link to be laid.

    Attributes:
        plan: Its names, numbers and addresses.
        ends: The nodes of its two hosts.
        mtu: In bytes.
        medium: The medium it is part of, which the wire has; None for a link by itself.
    """

    plan: LinkPlan
    ends: tuple[Node, Node]
    mtu: int
    medium: MediumPlan | None = None


class Wire(Protocol):
    """Carries the packets of all links of one lab."""

    @property
    def seeded(self) -> bool:
        """Whether a state's seed decides what is lost and delayed."""
        ...

    def require_impairments(self) -> None:
        """Refuse where no link can be impaired.

        Raises:
            FeatureMissing: What it takes is not there; says what.
        """
        ...

    def add_medium(self, plan: MediumPlan, state: QdiscState) -> Impairer:
        """Make a rate and a queue for links to share.

        Raises:
            ProfileError: It cannot be in such a state.
            FeatureMissing: This wire has no shared media.
            KernelError: It is refused, or another state shows afterwards; nothing of it is left then.
            LabError: What carries the packets has died.
        """
        ...

    def lay(self, spans: Sequence[Span]) -> None:
        """Make both ends of links, in the hosts too; nothing passes yet.

        Raises:
            KernelError: The kernel refuses.
            LabError: What carries the packets has died.
        """
        ...

    def impair(self, plan: LinkPlan, direction: Direction, state: QdiscState) -> Impairer:
        """Give one direction its first impairment.

        Raises:
            ProfileError: It cannot be in such a state.
            KernelError: It is refused, or another state shows afterwards.
            LabError: What carries the packets has died.
        """
        ...

    def join(self, spans: Sequence[Span]) -> None:
        """Let packets through, both ways, for links that have been laid.

        Raises:
            KernelError: The kernel refuses.
            LabError: What carries the packets has died.
        """
        ...

    def take_away(self, plans: Sequence[LinkPlan]) -> None:
        """Remove what there is of links; of some there may be nothing.

        Raises:
            KernelError: Something of them cannot be removed.
            LabError: What carries the packets has died.
        """
        ...

    def change_together(self, changes: Sequence[Change]) -> Refusals:
        """Put several directions, each named once, in new states in one go; nothing is read back.

        Returns:
            For each change the error that refused it, or None; a refusal of one keeps none of the others.

        Raises:
            LabError: One direction comes twice or is none of this wire's, or what carries the packets has died.
        """
        ...

    def record(self) -> Recorder:
        """Begin to record packets, on links that will be made later, too; the caller closes the recorder.

        Raises:
            KernelError: The kernel refuses.
            LabError: What carries the packets has died.
        """
        ...

    def check(self) -> None:
        """Do nothing as long as packets can pass.

        Raises:
            LabError: What carries them has died.
        """
        ...

    def close(self) -> None:
        """Close it; every link of the lab goes with it."""
        ...


class Wiring(Protocol):
    """Makes the wires of labs: one way of carrying packets, chosen once."""

    @property
    def name(self) -> str:
        """What results call it: ``host`` or ``relay``."""
        ...

    def make(self, name: str) -> Wire:
        """Make the wire of a lab.

        Args:
            name: What messages call the lab.

        Raises:
            PrivilegeError: The caller may not make namespaces.
            KernelError: The kernel refuses.
            LabError: What is to carry the packets does not come up.
        """
        ...

    def warnings(self) -> list[str]:
        """Return what a person must know before trusting what impaired links show."""
        ...
