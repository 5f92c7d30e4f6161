"""ShimPort: one side of a shim as a user names it: a real interface, or a TAP to be made.

::

    "enp3s0"     the interface's frames, all of them        "tap:local0"   a TAP for programs of this machine
"""

from __future__ import annotations

import errno
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from netlab.did_you_mean import did_you_mean
from netlab.errors import KernelError, SpecError
from netlab.namespaces.kernel_objects import LinkEntry

__all__ = ["ShimPort", "check_ports", "default_route_interfaces", "parse_port"]

_TAP_PREFIX = "tap:"
_MAX_NAME_BYTES = 15
_ROUTE_FLAG_REJECT = 0x200


class ShimPort(NamedTuple):
    """One side of a shim.

    Attributes:
        name: Of the interface.
        is_tap: Whether it is to be made; else it must be there.
    """

    name: str
    is_tap: bool


def parse_port(text: str) -> ShimPort:
    """Return the port that a user has named.

    Raises:
        SpecError: No interface can be called so.
    """
    is_tap = text.startswith(_TAP_PREFIX)
    name = text.removeprefix(_TAP_PREFIX)
    usable = name.isprintable() and not any(c in name for c in "/:% ") and name not in (".", "..")
    if not 0 < len(name.encode()) <= _MAX_NAME_BYTES or not usable:
        rule = f"an interface has a name of 1 to {_MAX_NAME_BYTES} bytes without blanks, /, : and %"
        raise SpecError(f"{text!r:.60} is no port: {rule}", key="port", hint="give an interface, or tap:NAME")
    return ShimPort(name, is_tap)


def check_ports(
    ports: Sequence[ShimPort], interfaces: Sequence[LinkEntry], default_routes: set[str], *, force: bool
) -> None:
    """Refuse ports that no shim can lie between, or that would cut this machine off.

    Args:
        ports: Both sides.
        interfaces: What this machine has.
        default_routes: Interfaces that its default routes go through.
        force: Take even those.

    Raises:
        SpecError: Both are one, or one carries this machine's own traffic.
        KernelError: An interface is not there or down, or a TAP's name is taken.
    """
    if ports[0].name == ports[1].name:
        raise SpecError(f"both ports are {ports[0].name}: a shim lies between two", key="port")
    there = {entry.name: entry for entry in interfaces}
    for port in ports:
        entry = there.get(port.name)
        if port.is_tap and entry is not None:
            hint = f"choose another name, or give {port.name} without tap:"
            raise KernelError(
                f"make the TAP {port.name}", errno.EEXIST, "an interface of this name is there", hint
            )
        if port.is_tap:
            continue
        if entry is None:
            raise _unknown(port.name, there)
        if not entry.up:
            raise KernelError(f"use {port.name}", errno.ENETDOWN, hint=f"ip link set {port.name} up")
        if port.name == "lo":
            raise SpecError("lo is no Ethernet interface", key="port", hint="use tap:NAME for local programs")
        if port.name in default_routes and not force:
            raise SpecError(
                f"{port.name} carries this machine's default route: impaired, it would cut this machine off",
                key="port",
                hint="use another interface, or --force if you do not reach this machine over it",
            )


def default_route_interfaces(folder: Path = Path("/proc/thread-self/net")) -> set[str]:
    """Return the interfaces that the calling thread's default routes go through.

    Args:
        folder: Where the kernel lists its routes.
    """
    found: set[str] = set()
    for line in _lines(folder / "route")[1:]:
        name, destination, _, _, _, _, _, mask, *_ = line.split()
        if int(destination, 16) == 0 and int(mask, 16) == 0:
            found.add(name)
    for line in _lines(folder / "ipv6_route"):
        destination, length, *_, flags, name = line.split()
        if int(destination, 16) == 0 and int(length, 16) == 0 and not int(flags, 16) & _ROUTE_FLAG_REJECT:
            found.add(name)
    return found


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="ascii").splitlines()
    except OSError:  # a kernel without that family
        return []


def _unknown(name: str, there: dict[str, LinkEntry]) -> KernelError:
    listed = ", ".join(sorted(set(there) - {"lo"})) or "none but lo"
    hint = did_you_mean(name, there) or f"there are: {listed}"
    return KernelError(f"use {name}", errno.ENODEV, hint=f"{hint}; tap:{name} would make one")
