"""TAPs: made inside a namespace; the interface lives as long as its descriptor, or as long as the namespace.

::

    thread in the namespace: open /dev/net/tun, TUNSETIFF --> descriptor, eth0 is there
    any thread:              MAC, MTU by ioctl, queue by message, on a socket of the namespace

Source: ``include/uapi/linux/if_tun.h``, ``sockios.h``; netdevice(7).
"""

from __future__ import annotations

import errno
import fcntl
import os
import struct
from collections.abc import Callable

from netlab.errors import FeatureMissing, KernelError, PrivilegeError
from netlab.namespaces.netlink_ack import refusal
from netlab.namespaces.netlink_message import LINK_FIELDS, build_request, number, text
from netlab.namespaces.netlink_socket import NetlinkSocket

__all__ = ["TUN_DEVICE", "configure_tap", "leave_to_namespace", "open_tap", "require_tun"]

TUN_DEVICE = "/dev/net/tun"
QUEUE_PACKETS = 4096
"""What a TAP holds of its host's packets until the relay reads them; the kernel's own 500 are one burst of TCP."""

_TUNSETIFF, _TUNSETPERSIST, _TUNSETIFINDEX = 0x400454CA, 0x400454CB, 0x400454DA
_IFF_TAP, _IFF_NO_PI, _IFF_TUN_EXCL = 0x2, 0x1000, 0x8000
_TUN_REQUEST = struct.Struct("=16sH22x")

_SIOCSIFMTU, _SIOCSIFHWADDR = 0x8922, 0x8924
_SETLINK, _IFLA_IFNAME, _IFLA_TXQLEN = 19, 3, 13
_NUMBER_REQUEST = struct.Struct("=16si20x")
_ADDRESS_REQUEST = struct.Struct("=16sH6s16x")
_ARPHRD_ETHER = 1

_NOT_THERE = (errno.ENOENT, errno.ENODEV, errno.ENXIO)


def require_tun(opener: Callable[[str, int], int] = os.open) -> None:
    """Refuse a machine on which no TAP can be made.

    Args:
        opener: Opens the device; a test's own.

    Raises:
        FeatureMissing: There is no /dev/net/tun.
        PrivilegeError: The caller may not open it.
    """
    os.close(_open_device(opener))


def open_tap(name: str, index: int = 0) -> int:
    """Make a TAP in the calling thread's namespace, down.

    Args:
        name: Of the interface.
        index: Its number; 0 lets the kernel choose.

    Returns:
        Its descriptor, which does not block.

    Raises:
        FeatureMissing: There is no /dev/net/tun.
        PrivilegeError: The caller may not make one.
        KernelError: Name or number is taken.
    """
    fd = _open_device(os.open)
    try:
        if index:
            fcntl.ioctl(fd, _TUNSETIFINDEX, struct.pack("=I", index))
        flags = _IFF_TAP | _IFF_NO_PI | _IFF_TUN_EXCL
        fcntl.ioctl(fd, _TUNSETIFF, _TUN_REQUEST.pack(name.encode(), flags))
    except OSError as error:
        os.close(fd)
        if error.errno in (errno.EBUSY, errno.EINVAL):
            hint = "choose another name"
            raise KernelError(
                f"make the TAP {name}", error.errno, "an interface of this name is there", hint
            ) from error
        raise refusal(f"make the TAP {name}", error.errno or 0) from error
    return fd


def leave_to_namespace(fd: int) -> None:
    """Let a TAP live as long as its namespace, which takes all of its own away at once.

    The kernel takes about 30 ms to remove an interface whose descriptor is closed, one after another.

    Raises:
        KernelError: The kernel refuses.
    """
    try:
        fcntl.ioctl(fd, _TUNSETPERSIST, 1)
    except OSError as error:
        raise refusal("leave a TAP to its namespace", error.errno or 0) from error


def configure_tap(socket: NetlinkSocket, name: str, mtu: int, mac: str = "") -> None:
    """Give a TAP its MTU, its MAC address and room for bursts.

    Args:
        socket: Any netlink socket in its namespace.
        name: The interface.
        mtu: In bytes.
        mac: ``02:00:00:00:00:01``; the kernel's choice unless given.

    Raises:
        KernelError: The kernel refuses.
    """
    encoded = name.encode()
    requests = [
        (_SIOCSIFMTU, _NUMBER_REQUEST.pack(encoded, mtu), f"an MTU of {mtu} for"),
    ]
    if mac:
        address = bytes.fromhex(mac.replace(":", ""))
        requests.append((_SIOCSIFHWADDR, _ADDRESS_REQUEST.pack(encoded, _ARPHRD_ETHER, address), f"{mac} for"))
    # By message: the ioctl for it takes rights over the whole machine, which root of a user namespace lacks.
    queue = (text(_IFLA_IFNAME, name), number(_IFLA_TXQLEN, QUEUE_PACKETS))
    socket.request(
        build_request(_SETLINK, 0, LINK_FIELDS.pack(0, 0, 0, 0, 0), *queue), f"set the queue of the TAP {name}"
    )
    for command, request, what in requests:
        try:
            fcntl.ioctl(socket.fileno(), command, request)
        except OSError as error:
            hint = "a TAP takes an MTU of at most 65521" if command == _SIOCSIFMTU else ""
            problem = refusal(f"set {what} the TAP {name}", error.errno or 0)
            raise KernelError(problem.attempt, problem.errno, hint=hint) if hint else problem from error


def _open_device(opener: Callable[[str, int], int]) -> int:
    attempt = f"open {TUN_DEVICE}"
    try:
        return opener(TUN_DEVICE, os.O_RDWR | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError as error:
        number = error.errno or 0
        if number in _NOT_THERE:
            hint = "modprobe tun; start a container with --device /dev/net/tun; or use --on guest"
            raise FeatureMissing(attempt, number, hint=hint) from error
        if number in (errno.EPERM, errno.EACCES):
            hint = "run as root (sudo); allow the container the device; or use --on guest"
            raise PrivilegeError(attempt, number, hint=hint) from error
        raise refusal(attempt, number) from error
