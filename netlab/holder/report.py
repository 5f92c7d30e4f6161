"""LabReport: what there is of a lab now, as data. Who reads it: netlab/holder/reading.py. Pure."""

from __future__ import annotations

from typing import Any, Literal

import msgspec
from msgspec import Struct

from netlab.namespaces.cgroup_folder import CgroupUse
from netlab.traces.qdisc_state import QdiscState
from netlab.traces.seed import Direction

__all__ = [
    "ChangeReport", "DirectionReport", "HostReport", "InterfaceReport", "LabReport", "LinkReport", "MediumReport",
    "ProcessReport", "state_document",
]  # fmt: skip


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
        as_asked: Whether that is what was asked for last; None where it was being changed meanwhile.
        difference: How it differs, or why that is not known.
        counters: Packets so far, by what became of them.
    """

    state: dict[str, Any]
    as_asked: bool | None
    difference: str
    counters: dict[str, Any]


class LinkReport(Struct, frozen=True, kw_only=True):
    """A link; a direction without impairment is None."""

    name: str
    ends: tuple[str, str]
    seeded: bool
    forward: DirectionReport | None
    back: DirectionReport | None


class MediumReport(Struct, frozen=True, kw_only=True):
    """A medium that links share, both directions together."""

    name: str
    rate_bps: float
    queue_packets: int
    shared: DirectionReport | None


class ChangeReport(Struct, frozen=True, kw_only=True):
    """A change of one direction by hand, or of a medium.

    Attributes:
        link: Name of the link, or ``medium:`` and that of the medium.
        direction: ``forward`` or ``back``; ``shared`` for a medium.
        state: What was asked for, as ``state_document`` has it.
        asked_s: When, in seconds since the lab was up; the same for all that were changed together.
        applied_s: When it had been acknowledged.
        refusal: Why it is not in force; empty where it is.
    """

    link: str
    direction: Direction | Literal["shared"]
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
        media: What some of them share.
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
    media: list[MediumReport]
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
