"""Opening links: many at once or one, and nothing at all when one of them cannot be had.

::

    LinkRequest ... --lay--> ends in the hosts --impair--> states in force --join--> open --addresses--> Link ...

Each step is made for all links together, in few messages to the kernel: a lab of 1,000 links is one call.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from netlab.errors import NetlabError
from netlab.namespaces.kernel_objects import ROOT
from netlab.namespaces.link import Link
from netlab.namespaces.link_plan import PREFIX_LENGTH, EndPlan, LinkPlan
from netlab.namespaces.medium import Medium
from netlab.namespaces.node import Node, batches
from netlab.namespaces.rtnetlink import RouteSocket
from netlab.namespaces.wire import Span, Wire
from netlab.traces.profile import LinkProfile
from netlab.traces.qdisc_state import QdiscState
from netlab.traces.seed import DIRECTIONS

__all__ = ["LinkRequest", "give_addresses", "open_links"]

_PASSING_HANDLE = 0x7FF00000


class LinkRequest(Struct, frozen=True, kw_only=True):
    """A link to be made.

    Attributes:
        name: What messages and seeds call it.
        plan: Its names, numbers and addresses.
        ends: The nodes of its two hosts.
        mtu: In bytes.
        impairment: What each direction begins with; None for a clean one.
        medium: The medium it is part of; None for a link by itself.
    """

    name: str
    plan: LinkPlan
    ends: tuple[Node, Node]
    mtu: int = 1500
    impairment: tuple[LinkProfile | QdiscState | None, LinkProfile | QdiscState | None] = (None, None)
    medium: Medium | None = None

    @property
    def span(self) -> Span:
        """What the wire needs to know of it."""
        return Span(self.plan, self.ends, self.mtu, self.medium.plan if self.medium else None)


def open_links(wire: Wire, requests: Sequence[LinkRequest], run_seed: int) -> list[Link]:
    """Join hosts; when it returns, the first packet goes through every link, impaired as asked.

    When it fails, nothing of any of the links is left: they can be tried again.

    Raises:
        FeatureMissing: What carries the packets lacks something that is needed.
        KernelError: The kernel refuses, or shows another state than asked for.
    """
    if any(asked is not None for request in requests for asked in request.impairment):
        wire.require_impairments()  # before anything is made
    spans = [request.span for request in requests]
    links = [Link(one.name, one.plan, wire, run_seed, medium=one.medium) for one in requests]
    try:
        wire.lay(spans)
        for link, request in zip(links, requests, strict=True):
            for direction, asked in zip(DIRECTIONS, request.impairment, strict=True):
                if asked is not None:
                    link.apply(asked, direction)
        wire.join(spans)
        give_addresses(spans)
    except BaseException as error:
        _take_away(wire, links, error)
        raise
    return links


def give_addresses(spans: Sequence[Span]) -> None:
    """Give both hosts of each link their addresses, and each the other as its neighbour.

    Raises:
        KernelError: The kernel refuses.
    """
    with batches(node for span in spans for node in span.ends):
        for span in spans:
            first, second = span.plan.first, span.plan.second
            for end, other, host in ((first, second, span.ends[0]), (second, first, span.ends[1])):
                _let_pass(host.routes, end)
                host.routes.add_address(end.index, end.address, PREFIX_LENGTH)
                host.routes.add_neighbour(end.index, other.address, other.mac)


def _let_pass(routes: RouteSocket, end: EndPlan) -> None:
    """Make the kernel take an interface into use now.

    A veth that came up before its peer drops what it is given until the kernel's link watch, some time
    later, notices the carrier. Putting a qdisc on it does the same at once; taking it off leaves no trace.
    """
    routes.qdisc_add(end.index, _PASSING_HANDLE, ROOT, "noqueue", None)
    routes.qdisc_delete(end.index, _PASSING_HANDLE, ROOT)


def _take_away(wire: Wire, links: Sequence[Link], first: BaseException) -> None:
    """Take away what there is of links that could not be made."""
    try:
        wire.take_away([link.plan for link in links])
    except NetlabError as error:  # the first error counts
        names = links[0].name if len(links) == 1 else f"{links[0].name} and {len(links) - 1} more"
        first.add_note(f"and then, taking {names} away: {error}")
