"""What is asked of a link of a staying lab now, tables included, for whoever measures whether it is delivered.

::

    AskLink --> Lab: asked states, whether a schedule changes them --> LinkAsked
"""

from __future__ import annotations

from netlab.did_you_mean import did_you_mean
from netlab.errors import SpecError
from netlab.holder.messages import AskLink, LinkAsked
from netlab.lab import Lab
from netlab.namespaces.impairer import Impairer
from netlab.namespaces.link import Link
from netlab.namespaces.relay.requests import PlainState, to_plain

__all__ = ["report_asked"]


def report_asked(lab: Lab, message: AskLink) -> LinkAsked:
    """Return what is asked of a link.

    Args:
        lab: The lab, open.
        message: Names the link; the only one of a lab needs no name.

    Raises:
        SpecError: There is no such link, or several and none is named.
    """
    link = _find(lab, message.link)
    ends = {
        one.address: (host.name, one.peer, one.peer_address)
        for host in lab.hosts.values()
        for one in host.attachments
        if one.link == link.name
    }
    address = link.plan.first.address
    host, peer, peer_address = ends[address]
    return LinkAsked(
        link=link.name,
        hosts=(host, peer),
        addresses=(address, peer_address),
        forward=_asked(link.forward),
        back=_asked(link.back),
        playing=link.is_played,
        medium=link.medium.name if link.medium is not None else "",
        seeded=link.seeded,
    )


def _find(lab: Lab, name: str) -> Link:
    links = lab.links
    if not name and len(links) == 1:
        return next(iter(links.values()))
    known = ", ".join(links)[:500] or "none"
    if not name:
        raise SpecError(f"lab {lab.name} has {len(links)} links", key="--link", hint=f"name one of: {known}")
    if name not in links:
        hint = did_you_mean(name, links) or f"its links: {known}"
        raise SpecError(f"{name!r:.80} is no link of lab {lab.name}", key="--link", hint=hint)
    return links[name]


def _asked(impairer: Impairer | None) -> PlainState | None:
    return None if impairer is None or impairer.asked is None else to_plain(impairer.asked)
