"""Segmentation offloads of an interface: read them, switch them off.

A super-packet of 64 kB is one packet to netem: one loss draw for 45 segments. So no interface of a lab may
send or make any. Checksum offload stays: it changes no packet's fate.
Source: ``include/uapi/linux/ethtool.h`` (the legacy commands, which every kernel since 2.6 understands).
"""

from __future__ import annotations

import array
import errno
import fcntl
import struct
from typing import NamedTuple, Protocol

from netlab.errors import KernelError
from netlab.namespaces.netlink_ack import refusal

__all__ = ["Offloads", "read_offloads", "restore_offloads", "switch_offloads_off"]

_SIOCETHTOOL = 0x8946
_IFREQ = struct.Struct("=16sQ16x")
_MAX_NAME_BYTES = 15

_GET = {"tso": 0x1E, "gso": 0x23, "gro": 0x2B}
_SET = {"tso": 0x1F, "gso": 0x24, "gro": 0x2C}


class AnySocket(Protocol):
    """Whatever has the descriptor of a socket."""

    def fileno(self) -> int:
        """Return it."""
        ...


class Offloads(NamedTuple):
    """Which packets larger than the MTU an interface handles.

    Attributes:
        tso: It takes TCP super-packets and cuts them itself.
        gso: The kernel cuts super-packets late, just before it.
        gro: It joins packets it receives into super-packets.
    """

    tso: bool
    gso: bool
    gro: bool


def read_offloads(socket: AnySocket, name: str) -> Offloads:
    """Return the offloads of an interface.

    Args:
        socket: Any socket in the interface's namespace.
        name: The interface.

    Raises:
        KernelError: There is no such interface.
    """
    return Offloads(**{field: bool(_ethtool(socket, name, command)) for field, command in _GET.items()})


def switch_offloads_off(socket: AnySocket, name: str) -> None:
    """Switch TSO, GSO and GRO off and check that they are.

    Args:
        socket: Any socket in the interface's namespace.
        name: The interface.

    Raises:
        PrivilegeError: The caller may not configure it.
        KernelError: There is no such interface, or its driver keeps an offload on.
    """
    for command in _SET.values():
        _ethtool(socket, name, command)
    left = [field for field, on in read_offloads(socket, name)._asdict().items() if on]
    if left:
        raise KernelError(
            f"switch {', '.join(left)} of {name} off", 0, "the driver keeps it on", "use a veth pair"
        )


def restore_offloads(socket: AnySocket, name: str, before: Offloads) -> None:
    """Switch those offloads of an interface on that were on before; others stay as they are.

    Args:
        socket: Any socket in the interface's namespace.
        name: The interface.
        before: What ``read_offloads`` returned then.

    Raises:
        PrivilegeError: The caller may not configure it.
        KernelError: There is no such interface.
    """
    for field, was_on in before._asdict().items():
        if was_on:
            _ethtool(socket, name, _SET[field], value=1)


def _ethtool(socket: AnySocket, name: str, command: int, value: int = 0) -> int:
    """Run one command of the kind struct ethtool_value; return the value it left."""
    doing = "read" if command in _GET.values() else "switch on" if value else "switch off"
    attempt = f"{doing} the offloads of {name}"
    encoded = name.encode()
    if len(encoded) > _MAX_NAME_BYTES:
        raise KernelError(attempt, errno.ENODEV, f"a name has at most {_MAX_NAME_BYTES} bytes")
    request = array.array("I", (command, value))
    address, _ = request.buffer_info()
    try:
        fcntl.ioctl(socket.fileno(), _SIOCETHTOOL, _IFREQ.pack(encoded, address))
    except OSError as error:
        raise refusal(attempt, error.errno or 0) from error
    return request[1]
