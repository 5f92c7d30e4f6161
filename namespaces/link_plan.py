"""LinkPlan: names, numbers and addresses of the n-th link of a lab. Pure: two labs of one shape are alike.

::

    host A                        wire namespace                         host B
    eth0 10.77.0.1/30 ----- nl4f09ac-0a  ~~~>  nl4f09ac-0b ----- eth0 10.77.0.2/30
         02:4e:4c:00:00:0a       :1a              :1b                 02:4e:4c:00:00:0b

The pool is 10.77.0.0/16 in networks of four addresses: 16384 links. It exists inside the lab alone, so it
need not be free on the machine.
"""

from __future__ import annotations

import re

from msgspec import Struct

from netlab.errors import SpecError

__all__ = ["MAX_LINKS", "MAX_MTU_BYTES", "PREFIX_LENGTH", "EndPlan", "LinkPlan", "peer_variable", "plan_link"]

MAX_LINKS = 16384
MAX_MTU_BYTES = 65535
PREFIX_LENGTH = 30
_POOL = (10 << 24) | (77 << 16)
# Kernels that make tunnel devices of their own in each new namespace give them the first numbers.
_FIRST_HOST_INDEX = 101
_FIRST_WIRE_INDEX = 1001


class EndPlan(Struct, frozen=True, kw_only=True):
    """One end of a link: in the host, and its counterpart in the wire.

    Attributes:
        interface: Its name in the host.
        index: Its interface number in the host.
        address: The host's address on this link.
        mac: The host's MAC address on this link.
        wire_interface: Name of the wire's interface that faces this host; bears the lab's id.
        wire_index: Its interface number in the wire.
        wire_mac: Its MAC address, which no packet ever carries.
    """

    interface: str
    index: int
    address: str
    mac: str
    wire_interface: str
    wire_index: int
    wire_mac: str


class LinkPlan(Struct, frozen=True, kw_only=True):
    """Both ends of a link; ``first`` sends *forward*."""

    number: int
    first: EndPlan
    second: EndPlan


def plan_link(number: int, lab_id: str, first_interfaces: int, second_interfaces: int) -> LinkPlan:
    """Return the plan of a lab's ``number``-th link.

    Args:
        number: Counted from 0 over the lab.
        lab_id: Six characters.
        first_interfaces: Links that the first host has already.
        second_interfaces: Links that the second host has already.

    Raises:
        SpecError: More links than there are addresses.
    """
    if not 0 <= number < MAX_LINKS:
        raise SpecError(f"link {number}: a lab has at most {MAX_LINKS} links, one for each /30 of 10.77.0.0/16")

    def end(letter: str, side: int, interfaces: int) -> EndPlan:
        mac = f"02:4e:4c:{number >> 8:02x}:{number & 0xFF:02x}"
        address = _POOL + 4 * number + 1 + side
        return EndPlan(
            interface=f"eth{interfaces}",
            index=_FIRST_HOST_INDEX + interfaces,
            address=".".join(str(address >> shift & 0xFF) for shift in (24, 16, 8, 0)),
            mac=f"{mac}:0{letter}",
            wire_interface=f"nl{lab_id}-{number}{letter}",
            wire_index=_FIRST_WIRE_INDEX + 2 * number + side,
            wire_mac=f"{mac}:1{letter}",
        )

    return LinkPlan(number=number, first=end("a", 0, first_interfaces), second=end("b", 1, second_interfaces))


def peer_variable(name: str) -> str:
    """Return the variable by which a host's programs learn the address of a neighbour of this name."""
    return "NETLAB_PEER_" + re.sub(r"[^A-Z0-9]", "_", name.upper())
