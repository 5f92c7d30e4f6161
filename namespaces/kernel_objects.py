"""Interfaces and qdiscs as the kernel lists them, and the handles it gives a name. Plain data."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["INGRESS_HANDLE", "ROOT", "LinkEntry", "QdiscEntry"]

ROOT = 0xFFFFFFFF
"""TC_H_ROOT: the parent of an interface's egress qdisc."""
INGRESS_HANDLE = 0xFFFF0000
"""``ffff:``, the handle of an interface's ingress qdisc."""


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
