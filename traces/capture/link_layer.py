"""Link layer: how long what lies before IP in a captured packet is, and whether IP follows it.

::

    Ethernet, Linux "any" --type--> VLAN tags --+--> IP
                                                +--> PPPoE --> IP
                                                +--> MPLS labels --> IP
    loopback, raw IP ----------------------------------> IP

Tunnels hold a network of their own, and are not entered. Knows nothing of IP but its numbers; a packet that is cut
short within its link layer is the caller's to catch.

Source: IEEE 802.1Q (VLAN tags), RFC 2516 (PPPoE), RFC 3032 (MPLS), the tcpdump group's pages on link types.
"""

from __future__ import annotations

import struct

from netlab.traces.capture.link_type import LinkType

__all__ = ["link_layer"]

_TAGS = (0x8100, 0x88A8, 0x9100)
_IP = (0x0800, 0x86DD)
_PPPOE, _PPPOE_BYTES, _PPP_IP = 0x8864, 8, (0x0021, 0x0057)
_MPLS = (0x8847, 0x8848)
_MAX_TAGS = 3
_MAX_LABELS = 8

_BYTES: dict[int, int] = {
    LinkType.NULL: 4,
    LinkType.LOOP: 4,
    LinkType.RAW_BSD: 0,
    LinkType.RAW_OPENBSD: 0,
    LinkType.RAW: 0,
    LinkType.IPV4: 0,
    LinkType.IPV6: 0,
}
_HALF = struct.Struct("!H")


def link_layer(link_type: int, data: bytes) -> tuple[int, bool]:
    """Return how long the link layer's headers are, and whether IP follows them.

    Raises:
        struct.error: The packet is cut short within them.
        IndexError: Likewise.
    """
    if link_type == LinkType.ETHERNET:
        kind, offset = _HALF.unpack_from(data, 12)[0], 14
    elif link_type == LinkType.LINUX_SLL:
        kind, offset = _HALF.unpack_from(data, 14)[0], 16
    elif link_type == LinkType.LINUX_SLL2:
        kind, offset = _HALF.unpack_from(data, 0)[0], 20
    else:
        return _BYTES.get(link_type, 0), link_type in _BYTES
    if kind in _IP:
        return offset, True
    for _ in range(_MAX_TAGS):
        if kind not in _TAGS:
            break
        kind, offset = _HALF.unpack_from(data, offset + 2)[0], offset + 4
    if kind == _PPPOE:
        return offset + _PPPOE_BYTES, _HALF.unpack_from(data, offset + 6)[0] in _PPP_IP
    return _labels(data, offset) if kind in _MPLS else (offset, kind in _IP)


def _labels(data: bytes, offset: int) -> tuple[int, bool]:
    """Return where MPLS's labels end; they do not say what follows, so what begins like IP is taken for it."""
    for _ in range(_MAX_LABELS):
        offset += 4
        if data[offset - 2] & 1:  # the last of them
            return offset, True
    return offset, False
