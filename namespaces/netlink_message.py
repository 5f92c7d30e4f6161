"""Netlink messages as bytes: header, the fixed fields of a family of requests, attributes. Pure.

Requests are laid out here, by hand: a large lab asks for twenty thousand of them, and pyroute2 takes ten times
as long over each. It decodes the answers (``rtnetlink``).
Source: netlink(7), rtnetlink(7), ``include/uapi/linux/if_link.h``, ``if_addr.h``, ``neighbour.h``.
"""

from __future__ import annotations

import socket
import struct

__all__ = [
    "ADDRESS_FIELDS",
    "CREATE_EXCLUSIVE",
    "DUMP",
    "ECHO",
    "LINK_FIELDS",
    "NEIGHBOUR_FIELDS",
    "REPLACE",
    "ROUTE_FIELDS",
    "TC_FIELDS",
    "attribute",
    "build_request",
    "ip_bytes",
    "mac_bytes",
    "number",
    "text",
]

ECHO, REPLACE, DUMP = 0x8, 0x100, 0x300
CREATE_EXCLUSIVE = 0x400 | 0x200
_REQUEST_ACK = 0x1 | 0x4

LINK_FIELDS = struct.Struct("=BxHiII")
"""struct ifinfomsg: family, type, index, flags, change."""
ADDRESS_FIELDS = struct.Struct("=BBBBI")
"""struct ifaddrmsg: family, prefix length, flags, scope, index."""
NEIGHBOUR_FIELDS = struct.Struct("=BxxxiHBB")
"""struct ndmsg: family, index, state, flags, type."""
ROUTE_FIELDS = struct.Struct("=BBBBBBBBI")
"""struct rtmsg: family, length of destination and source, tos, table, protocol, scope, type, flags."""
TC_FIELDS = struct.Struct("=BxxxiIII")
"""struct tcmsg: family, index, handle, parent, info."""

_HEADER = struct.Struct("=IHHII")
_ATTRIBUTE = struct.Struct("=HH")
_NUMBER = struct.Struct("=I")


def build_request(kind: int, flags: int, fields: bytes, *attributes: bytes) -> bytearray:
    """Return a request that wants an acknowledgement; its sequence number is 0.

    Args:
        kind: Its type, RTM_*.
        flags: Beside NLM_F_REQUEST and NLM_F_ACK.
        fields: The fixed fields, packed.
        attributes: As ``attribute`` returns them.
    """
    body = b"".join((fields, *attributes))
    return bytearray(_HEADER.pack(_HEADER.size + len(body), kind, _REQUEST_ACK | flags, 0, 0) + body)


def attribute(kind: int, *values: bytes) -> bytes:
    """Return an attribute, padded; its value is one piece or the attributes inside it."""
    value = b"".join(values)
    length = _ATTRIBUTE.size + len(value)
    return _ATTRIBUTE.pack(length, kind) + value + bytes(-length % 4)


def number(kind: int, value: int) -> bytes:
    """Return an attribute that holds an unsigned 32-bit number."""
    return attribute(kind, _NUMBER.pack(value))


def text(kind: int, value: str) -> bytes:
    """Return an attribute that holds a text with its null byte."""
    return attribute(kind, value.encode() + b"\0")


def mac_bytes(mac: str) -> bytes:
    """Return ``02:00:00:00:00:01`` as six bytes."""
    return bytes.fromhex(mac.replace(":", ""))


def ip_bytes(address: str) -> tuple[int, bytes]:
    """Return the family of an IPv4 or IPv6 address, and its bytes."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    return int(family), socket.inet_pton(family, address)
