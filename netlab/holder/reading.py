"""Reads a lab into reports: hosts and processes, links and media as the kernel shows them. Changes nothing.

::

    Lab --links, media, hosts, processes--> kernel --read back--> LabReport --JSON--> netlab lab show
"""

from __future__ import annotations

from collections.abc import Sequence

from netlab.errors import KernelError, NetlabError
from netlab.holder.report import (
    DirectionReport,
    HostReport,
    InterfaceReport,
    LinkReport,
    MediumReport,
    ProcessReport,
    state_document,
)
from netlab.lab import Lab
from netlab.namespaces.host import Host
from netlab.namespaces.impairer import Impairer
from netlab.namespaces.link import Link
from netlab.namespaces.process import HostProcess

__all__ = ["report_hosts", "report_links", "report_media"]

_READ_BACKS = 3
"""Tries to find a direction at rest: a schedule that is played changes it now and then."""


def report_hosts(lab: Lab, commands: Sequence[tuple[str, HostProcess]]) -> list[HostReport]:
    """Return what there is in each host.

    Args:
        lab: The lab.
        commands: What ``netlab lab exec`` runs now, with the host's name.
    """
    return [
        _report_host(host, [one for name, one in commands if name == host.name]) for host in lab.hosts.values()
    ]


def _report_host(host: Host, commands: Sequence[HostProcess]) -> HostReport:
    return HostReport(
        name=host.name,
        interfaces=[
            InterfaceReport(
                name=one.interface,
                address=one.address,
                link=one.link,
                peer=one.peer,
                peer_address=one.peer_address,
            )
            for one in host.attachments
        ],
        processes=[
            *(_report_process(process, True) for process in list(host.processes)),
            *(_report_process(process, False) for process in commands),
        ],
    )


def _report_process(process: HostProcess, from_spec: bool) -> ProcessReport:
    try:
        status = process.poll()
    except NetlabError as error:  # the keeper died and took it along
        return ProcessReport(
            argv=_texts(process.argv), pid=process.pid, status=-9, from_spec=from_spec, last_lines=str(error)
        )
    last_lines = process.last_lines() if status else ""
    return ProcessReport(
        argv=_texts(process.argv), pid=process.pid, status=status, from_spec=from_spec, last_lines=last_lines
    )


def _texts(argv: Sequence[str]) -> list[str]:
    """Return arguments as text that JSON can carry: a file's name need not be text."""
    return [argument.encode("utf-8", "backslashreplace").decode() for argument in argv]


def report_links(lab: Lab) -> list[LinkReport]:
    """Read every link back.

    Raises:
        KernelError: A qdisc has been deleted by someone else.
    """
    ends: dict[str, list[str]] = {name: [] for name in lab.links}
    for host in lab.hosts.values():
        for attachment in host.attachments:
            # The first host of a link has the first address of its four.
            first = lab.links[attachment.link].plan.first.address == attachment.address
            ends[attachment.link].insert(0 if first else 1, host.name)
    return [_report_link(link, ends[link.name]) for link in list(lab.links.values())]


def _report_link(link: Link, ends: Sequence[str]) -> LinkReport:
    return LinkReport(
        name=link.name,
        ends=(ends[0], ends[-1]),
        seeded=link.seeded,
        forward=_report_direction(link.forward),
        back=_report_direction(link.back),
    )


def report_media(lab: Lab) -> list[MediumReport]:
    """Read every medium back.

    Raises:
        KernelError: A qdisc has been deleted by someone else.
    """
    return [
        MediumReport(
            name=medium.name,
            rate_bps=medium.rate_bps,
            queue_packets=medium.queue_packets,
            shared=_report_direction(medium.impairer),
        )
        for medium in list(lab.media.values())
    ]


def _report_direction(impairer: Impairer | None) -> DirectionReport | None:
    if impairer is None:
        return None
    as_asked, difference = None, "it was being changed while it was read"
    try:
        if any(impairer.verify() for _ in range(_READ_BACKS)):
            as_asked, difference = True, ""
    except KernelError as error:
        as_asked, difference = False, str(error)
    return DirectionReport(
        state=state_document(impairer.read()),
        as_asked=as_asked,
        difference=difference,
        counters=impairer.counters().figures(),
    )
