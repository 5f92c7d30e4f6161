"""LabReport: what there is of a lab now, as the kernel has it. Reads; changes nothing.

::

    Lab --links, hosts, processes--> kernel --read back--> LabReport --JSON--> netlab lab show
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec import Struct

from netlab.errors import KernelError, NetlabError
from netlab.lab import Lab
from netlab.namespaces.cgroup_folder import CgroupUse
from netlab.namespaces.host import Host
from netlab.namespaces.impairer import Impairer
from netlab.namespaces.kernel_objects import QdiscEntry
from netlab.namespaces.link import Link
from netlab.namespaces.process import HostProcess
from netlab.traces.qdisc_state import QdiscState
from netlab.traces.seed import Direction

__all__ = [
    "ChangeReport", "DirectionReport", "HostReport", "InterfaceReport", "LabReport", "LinkReport", "ProcessReport",
    "report_hosts", "report_links", "state_document",
]  # fmt: skip

_OF_A_QDISC = ("sent_packets", "sent_bytes", "dropped", "queued_packets")


class ProcessReport(Struct, frozen=True, kw_only=True):
    """A program in a host.

    Attributes:
        argv: Program and arguments.
        pid: Its process id.
        status: Its exit status, -N when signal N killed it; None while it runs.
        from_spec: Whether the spec named it; else ``netlab lab exec`` did.
        last_lines: The end of what it printed, where it failed and that was kept.
    """

    argv: list[str]
    pid: int
    status: int | None
    from_spec: bool
    last_lines: str = ""


class InterfaceReport(Struct, frozen=True, kw_only=True):
    """A host's end of a link."""

    name: str
    address: str
    link: str
    peer: str
    peer_address: str


class HostReport(Struct, frozen=True, kw_only=True):
    """A host: its ends of links and what runs in it."""

    name: str
    interfaces: list[InterfaceReport]
    processes: list[ProcessReport]


class DirectionReport(Struct, frozen=True, kw_only=True):
    """One direction of a link.

    Attributes:
        state: What the kernel (or the relay) shows now, as ``state_document`` has it.
        as_asked: Whether that is what was asked for last.
        difference: How it differs.
        counters: Packets so far, by what became of them.
    """

    state: dict[str, Any]
    as_asked: bool
    difference: str
    counters: dict[str, Any]


class LinkReport(Struct, frozen=True, kw_only=True):
    """A link; a direction without impairment is None."""

    name: str
    ends: tuple[str, str]
    seeded: bool
    forward: DirectionReport | None
    back: DirectionReport | None


class ChangeReport(Struct, frozen=True, kw_only=True):
    """A change of one direction by hand.

    Attributes:
        link: Name of the link.
        direction: ``forward`` or ``back``.
        state: What was asked for, as ``state_document`` has it.
        asked_s: When, in seconds since the lab was up; the same for all that were changed together.
        applied_s: When it had been acknowledged.
        refusal: Why it is not in force; empty where it is.
    """

    link: str
    direction: Direction
    state: dict[str, Any]
    asked_s: float
    applied_s: float
    refusal: str = ""


class LabReport(Struct, frozen=True, kw_only=True, tag=True):
    """A lab that stays.

    Attributes:
        id: Its own.
        name: What its user calls it.
        holder_pid: The process that holds it.
        engine: What carries its packets.
        kernel: The kernel it runs on.
        spec: The file it was made from.
        version: Of the netlab that made it.
        uptime_s: How long it has been up.
        seed: Of its links.
        seeded: Whether seeds decide what every link does.
        playing: Whether schedules are being played now.
        played: Steps applied, late and so on, since it is up.
        hosts: Its hosts.
        links: Its links.
        changes: The newest changes by hand, oldest first.
        use: What its processes have used.
        no_use: Why that is not known.
        problem: What has gone wrong in it.
        warnings: What a person must know of it.
        log: Where the holder writes.
    """

    id: str
    name: str
    holder_pid: int
    engine: str
    kernel: str
    spec: str
    version: str
    uptime_s: float
    seed: int
    seeded: bool
    playing: bool
    played: dict[str, Any]
    hosts: list[HostReport]
    links: list[LinkReport]
    changes: list[ChangeReport]
    use: CgroupUse | None
    no_use: str
    problem: str
    warnings: list[str]
    log: str


def state_document(state: QdiscState) -> dict[str, Any]:
    """Return a state in the kernel's units, field by field; tables, which no kernel shows, are left out."""
    document: dict[str, Any] = msgspec.to_builtins(state.replace(delay_table=None, slot_table=None))
    if state.loss_model is not None:
        document["loss_model"]["kind"] = type(state.loss_model).__name__.removesuffix("State")
    return document


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


def _report_direction(impairer: Impairer | None) -> DirectionReport | None:
    if impairer is None:
        return None
    difference = ""
    try:
        impairer.verify()
    except KernelError as error:
        difference = str(error)
    return DirectionReport(
        state=state_document(impairer.read()),
        as_asked=not difference,
        difference=difference,
        counters=_counters(impairer),
    )


def _counters(impairer: Impairer) -> dict[str, Any]:
    """Return what a direction has done so far, in the words of whoever does it."""
    counters = impairer.counters()
    if isinstance(counters, QdiscEntry):
        return {name: getattr(counters, name) for name in _OF_A_QDISC}
    if isinstance(counters, Struct):
        return msgspec.structs.asdict(counters)
    return {}
