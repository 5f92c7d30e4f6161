"""LabLinks: the links and media of a lab, and the wire they run through, which is made when it is first needed.

::

    LinkOrder ... --checked, numbered--> LinkRequest ... --open_links--> Link ... --> hosts, play

Nothing of a call is kept unless all of it could be made. Roof: knows hosts, not the lab that has them.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from netlab.did_you_mean import did_you_mean
from netlab.errors import SpecError
from netlab.lab_impairment import DirectionPlan, Impairment, plan_directions
from netlab.lab_play import LabPlay
from netlab.lab_rules import check_link, check_name, check_peer
from netlab.namespaces.host import Attachment, Host
from netlab.namespaces.link import Link, LinkReading
from netlab.namespaces.link_opening import LinkRequest, open_links
from netlab.namespaces.link_plan import peer_variable, plan_link
from netlab.namespaces.medium import Medium
from netlab.namespaces.medium_plan import plan_medium
from netlab.namespaces.wire import Wire
from netlab.traces.qdisc_state import QdiscState

__all__ = ["LabLinks", "LabReading", "LinkOrder"]


class LinkOrder(NamedTuple):
    """A link that a lab is to have, as ``Lab.add_link`` takes it.

    Attributes:
        first: Sends *forward*.
        second: Sends *back*.
        impairment: What it does to packets; None for a clean link.
        name: What messages and seeds call it; ``first-second`` unless given.
        mtu: In bytes.
        medium: The medium it is part of, or its name; none for a link by itself.
    """

    first: Host | str
    second: Host | str
    impairment: Impairment = None
    name: str = ""
    mtu: int = 1500
    medium: Medium | str = ""


class LabReading(NamedTuple):
    """What shows of a lab now, by name."""

    links: dict[str, LinkReading]
    media: dict[str, QdiscState]


class _Planned(NamedTuple):
    """An order that has been checked: what is to be made, for whom, and what it plays."""

    request: LinkRequest
    hosts: tuple[Host, Host]
    directions: tuple[DirectionPlan, DirectionPlan]


class LabLinks:
    """Links and media of one lab.

    Args:
        lab_id: Six characters.
        label: What messages call the lab.
        seed: Seed of every link.
        hosts: The lab's hosts by name.
        wire: Returns the lab's wire, made at the first call.
        play: Told what the links are to play.

    Attributes:
        links: Links by name, in the order of their numbers.
        media: Media by name.
    """

    def __init__(
        self,
        lab_id: str,
        label: str,
        seed: int,
        hosts: Mapping[str, Host],
        wire: Callable[[], Wire],
        play: LabPlay,
    ) -> None:
        self.links: dict[str, Link] = {}
        self.media: dict[str, Medium] = {}
        self._lab_id = lab_id
        self._label = label
        self._seed = seed
        self._hosts = hosts
        self._wire = wire
        self._play = play

    def add_medium(self, name: str, rate_bps: float, queue_packets: int) -> Medium:
        """Make a medium; see ``Lab.add_medium``."""
        check_name(name, key="medium.name")
        if name in self.media:
            hint = "choose another name"
            raise SpecError(f"{name!r} is a medium of this lab already", key=f"media.{name}", hint=hint)
        plan = plan_medium(len(self.media), name, self._lab_id)
        medium = self.media[name] = Medium(plan, self._wire(), self._seed, rate_bps, queue_packets)
        return medium

    def add(self, orders: Sequence[LinkOrder]) -> list[Link]:
        """Make links; see ``Lab.add_links``."""
        planned = self._plan(orders)
        if not planned:
            return []
        made = open_links(self._wire(), [one.request for one in planned], self._seed)
        for link, one in zip(made, planned, strict=True):
            self.links[link.name] = link
            _attach(link, one.hosts)
            for direction in one.directions:
                if direction.track is not None:
                    self._play.add(link, direction.direction, direction.track)
        return made

    def read(self) -> LabReading:
        """Return what shows of every link and medium now."""
        return LabReading(
            {name: link.read() for name, link in self.links.items()},
            {name: medium.read() for name, medium in self.media.items()},
        )

    def _plan(self, orders: Sequence[LinkOrder]) -> list[_Planned]:
        """Check orders against the lab and against one another, and number them."""
        names: set[str] = set()
        peers: dict[str, dict[str, str]] = {}
        interfaces: dict[str, int] = {}
        planned: list[_Planned] = []
        for order in orders:
            hosts = (self._host(order.first), self._host(order.second))
            first, second = hosts
            name = order.name or f"{first.name}-{second.name}"
            check_link(name, (first.name, second.name), order.mtu, names, self.links)
            names.add(name)
            for host, peer in (hosts, hosts[::-1]):
                new = peers.setdefault(host.name, {})
                check_peer(host.name, peer.name, ChainMap(new, host.peers))
                new[peer_variable(peer.name)] = peer.name
            directions = plan_directions(order.impairment, name)
            taken = [interfaces.get(host.name, len(host.attachments)) for host in hosts]
            interfaces.update((host.name, count + 1) for host, count in zip(hosts, taken, strict=True))
            request = LinkRequest(
                name=name,
                plan=plan_link(len(self.links) + len(planned), self._lab_id, *taken),
                ends=(first.node, second.node),
                mtu=order.mtu,
                impairment=(directions[0].first, directions[1].first),
                medium=self._medium(order.medium),
            )
            planned.append(_Planned(request, hosts, directions))
        return planned

    def _host(self, host: Host | str) -> Host:
        if not isinstance(host, Host | str):
            raise SpecError(f"{host!r:.80} is no host", key="link.ends", hint="give a host or its name")
        name = host if isinstance(host, str) else host.name
        known = self._hosts.get(name)
        if known is None or not (isinstance(host, str) or host is known):
            hint = _known(name, "hosts", self._hosts)
            raise SpecError(f"{name!r} is no host of {self._label}", key="link.ends", hint=hint)
        return known

    def _medium(self, medium: Medium | str) -> Medium | None:
        if not isinstance(medium, Medium | str):
            raise SpecError(f"{medium!r:.80} is no medium", key="link.medium", hint="give a medium or its name")
        if medium == "":
            return None
        name = medium if isinstance(medium, str) else medium.name
        known = self.media.get(name)
        if known is None or not (isinstance(medium, str) or medium is known):
            hint = _known(name, "media", self.media)
            raise SpecError(f"{name!r} is no medium of {self._label}", key="link.medium", hint=hint)
        return known


def _known(name: str, what: str, known: Mapping[str, object]) -> str:
    shown = [*known][:20]
    more = f" and {len(known) - len(shown)} more" if len(known) > len(shown) else ""
    return did_you_mean(name, known) or f"its {what}: {', '.join(shown) or 'none yet'}{more}"


def _attach(link: Link, hosts: tuple[Host, Host]) -> None:
    """Tell both hosts of a link that has been made."""
    first, second = link.plan.first, link.plan.second
    for host, end, peer, far_end in ((hosts[0], first, hosts[1], second), (hosts[1], second, hosts[0], first)):
        host.attach(Attachment(link.name, end.interface, end.address, peer.name, far_end.address))
