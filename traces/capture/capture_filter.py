"""Capture filters: which packets the kernel hands to a capture, as the classic BPF programs that it runs.

The presets need no libpcap. They ask for what a trace can be made of and for nothing else: what is not recorded
cannot be read by anyone.

Source: the kernel's Documentation/networking/filter.rst; IPv6 packets with extension headers before TCP or ICMPv6
are not matched.
"""

from __future__ import annotations

import struct
from typing import NamedTuple

from netlab.errors import SpecError
from netlab.traces.capture.link_type import LinkType

__all__ = ["PRESETS", "filter_program"]

_LOAD_HALF, _LOAD_BYTE, _AND, _JUMP_EQUAL, _RETURN = 0x28, 0x30, 0x54, 0x15, 0x06
_WHOLE = 1 << 18
_MONITOR = (LinkType.RADIOTAP, LinkType.IEEE_802_11)


class _Protocols(NamedTuple):
    """What IPv4 and IPv6 call the protocols that are wanted."""

    ipv4: tuple[int, ...]
    ipv6: tuple[int, ...]


PRESETS = {
    "trace": _Protocols((6, 1), (6, 58)),
    "tcp": _Protocols((6,), (6,)),
    "icmp": _Protocols((1,), (58,)),
    "wifi": None,
}
"""By name; ``wifi`` is every frame of an interface in monitor mode, ``trace`` is that there and both elsewhere."""


def filter_program(name: str, interface: str, link_type: LinkType) -> bytes:
    """Return a preset as a program for packets that begin so; empty where all are wanted.

    Args:
        name: Of the preset.
        interface: Which the packets are of, for the error.
        link_type: What they begin with.

    Raises:
        SpecError: Packets of this interface are not what the preset is about.
    """
    wanted = PRESETS[name]
    if link_type in _MONITOR:
        if name in ("tcp", "icmp"):
            problem = f"{interface} is in monitor mode: its frames are Wi-Fi's own"
            raise SpecError(problem, key="--filter", hint="use --filter wifi, or an interface in managed mode")
        return b""
    if wanted is None:
        hint = f"ip link set {interface} down; iw dev {interface} set type monitor; ip link set {interface} up"
        raise SpecError(f"{interface} is not in monitor mode", key="--filter", hint=f"as root: {hint}")
    return _program(wanted, ethernet=link_type == LinkType.ETHERNET)


def _program(wanted: _Protocols, *, ethernet: bool) -> bytes:
    """Assemble: load what says IPv4 or IPv6, then of each the protocol; jumps count instructions to skip."""
    if ethernet:
        head, versions, start = [(_LOAD_HALF, 0, 0, 12)], (0x0800, 0x86DD), 14
    else:
        head, versions, start = [(_LOAD_BYTE, 0, 0, 0), (_AND, 0, 0, 0xF0)], (0x40, 0x60), 0
    code, blocks_left = head, [(versions[0], start + 9, wanted.ipv4), (versions[1], start + 6, wanted.ipv6)]
    accept_at = len(head) + sum(3 + len(protocols) for _, _, protocols in blocks_left) + 1
    for version, place, protocols in blocks_left:
        code.append((_JUMP_EQUAL, 0, len(protocols) + 2, version))
        code.append((_LOAD_BYTE, 0, 0, place))
        for protocol in protocols:
            code.append((_JUMP_EQUAL, accept_at - len(code) - 1, 0, protocol))
        code.append((_RETURN, 0, 0, 0))
    code.append((_RETURN, 0, 0, 0))
    code.append((_RETURN, 0, 0, _WHOLE))
    return b"".join(struct.pack("=HBBI", *instruction) for instruction in code)
