"""LinkType: what the first bytes of a captured packet are, as capture files number it."""

from __future__ import annotations

import enum

from netlab.errors import FeatureMissing

__all__ = ["LinkType", "link_type_of_interface", "link_type_text"]


class LinkType(enum.IntEnum):
    """The link types that are read.

    Source: the tcpdump group's registry of link-layer header types.
    """

    NULL = 0
    ETHERNET = 1
    RAW_BSD = 12
    RAW_OPENBSD = 14
    RAW = 101
    IEEE_802_11 = 105
    LOOP = 108
    LINUX_SLL = 113
    RADIOTAP = 127
    IPV4 = 228
    IPV6 = 229
    LINUX_SLL2 = 276


_NOT_READ = {
    9: "PPP",
    50: "PPP in HDLC",
    51: "PPPoE without Ethernet",
    104: "Cisco HDLC",
    119: "Wi-Fi with Prism headers",
    163: "Wi-Fi with AVS headers",
    187: "Bluetooth",
    189: "USB",
    192: "Wi-Fi with PPI headers",
    195: "IEEE 802.15.4",
    201: "Bluetooth",
    220: "USB",
    249: "USB",
    251: "Bluetooth Low Energy",
    253: "netlink",
}

# ARPHRD numbers of Linux's if_arp.h.
_BY_INTERFACE_KIND = {
    1: LinkType.ETHERNET,
    772: LinkType.ETHERNET,  # the loopback interface has Ethernet headers
    801: LinkType.IEEE_802_11,
    803: LinkType.RADIOTAP,
    65534: LinkType.RAW,  # tunnels
    768: LinkType.RAW,
    776: LinkType.RAW,
    778: LinkType.RAW,
}


def link_type_text(number: int) -> str:
    """Return a link type that is not read for a person: its number, and its name where it is a common one."""
    return f"{number} ({_NOT_READ[number]})" if number in _NOT_READ else str(number)


def link_type_of_interface(interface: str, kind: int) -> LinkType:
    """Return what packets captured on an interface begin with.

    Args:
        interface: Its name.
        kind: As the kernel numbers it, ARPHRD.

    Raises:
        FeatureMissing: They begin with what is not read here.
    """
    if kind not in _BY_INTERFACE_KIND:
        hint = "Ethernet, Wi-Fi (monitor mode included), loopback and IP tunnels are"
        raise FeatureMissing(f"capture on {interface}", words=f"its kind ({kind}) is not read", hint=hint)
    return _BY_INTERFACE_KIND[kind]
