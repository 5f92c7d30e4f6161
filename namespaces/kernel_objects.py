"""Interfaces and qdiscs as the kernel lists them, and the handles it gives a name. Plain data."""

from __future__ import annotations

from typing import Any, NamedTuple, Self

__all__ = ["IFF_UP", "INGRESS_HANDLE", "ROOT", "LinkEntry", "QdiscEntry"]

ROOT = 0xFFFFFFFF
"""TC_H_ROOT: the parent of an interface's egress qdisc."""
IFF_UP = 1
INGRESS_HANDLE = 0xFFFF0000
"""``ffff:``, the handle of an interface's ingress qdisc."""

_COUNTED = ("sent_packets", "sent_bytes", "dropped", "queued_packets")


class LinkEntry(NamedTuple):
    """One interface.

    Attributes:
        ifindex: Its number, unique in its namespace.
        name: Its name.
        kind: For example ``veth``; empty for lo.
        mac: Its address.
        mtu: In bytes.
        up: Whether it is administratively up.
    """

    ifindex: int
    name: str
    kind: str
    mac: str
    mtu: int
    up: bool

    @classmethod
    def read(cls, message: Any) -> Self:
        """Return what a decoded RTM_NEWLINK says."""
        return cls(
            ifindex=message["index"],
            name=message.get_attr("IFLA_IFNAME") or "",
            kind=message.get(("linkinfo", "kind")) or "",
            mac=message.get_attr("IFLA_ADDRESS") or "",
            mtu=message.get_attr("IFLA_MTU") or 0,
            up=bool(message["flags"] & IFF_UP),
        )


class QdiscEntry(NamedTuple):
    """One qdisc.

    Attributes:
        kind: For example ``netem``.
        handle: Its handle, major number in the upper 16 bits.
        parent: Its parent; ``ROOT`` for an interface's own.
        options: The value of TCA_OPTIONS, undecoded.
        sent_packets: Packets that left it.
        sent_bytes: Bytes that left it.
        dropped: Packets it dropped, by loss and by its limit.
        queued_packets: Packets in it now.
    """

    kind: str
    handle: int
    parent: int
    options: bytes
    sent_packets: int
    sent_bytes: int
    dropped: int
    queued_packets: int

    def figures(self) -> dict[str, int | float]:
        """Return what it counts."""
        return {name: getattr(self, name) for name in _COUNTED}

    @classmethod
    def read(cls, message: Any) -> Self:
        """Return what a decoded RTM_NEWQDISC says."""
        statistics = message.get_attr("TCA_STATS") or {}
        return cls(
            kind=message.get_attr("TCA_KIND") or "",
            handle=message["handle"],
            parent=message["parent"],
            options=message.get_attr("TCA_OPTIONS") or b"",
            sent_packets=statistics.get("packets", 0),
            sent_bytes=statistics.get("bytes", 0),
            dropped=statistics.get("drop", 0),
            queued_packets=statistics.get("qlen", 0),
        )
