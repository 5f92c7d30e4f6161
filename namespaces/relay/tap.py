"""TAPs: made inside a namespace; the interface lives as long as its descriptor, or as long as the namespace.

::

    thread in the namespace: open /dev/net/tun, TUNSETIFF --> descriptor, eth0 is there, down
    any thread:              MTU, MAC, queue, up: one message on a socket of the namespace
    relay process:           TapPort: frames

Source: ``include/uapi/linux/if_tun.h``.
"""

from __future__ import annotations

import errno
import fcntl
import os
import struct
from collections.abc import Callable

from netlab.errors import FeatureMissing, KernelError, PrivilegeError
from netlab.namespaces.netlink_ack import refusal
from netlab.namespaces.rtnetlink import RouteSocket

__all__ = ["TUN_DEVICE", "TapPort", "configure_tap", "leave_to_namespace", "open_tap", "require_tun"]

TUN_DEVICE = "/dev/net/tun"
QUEUE_PACKETS = 4096
"""What a TAP holds of its host's packets until the relay reads them; the kernel's own 500 are one burst of TCP."""

_TUNSETIFF, _TUNSETPERSIST, _TUNSETIFINDEX = 0x400454CA, 0x400454CB, 0x400454DA
_IFF_TAP, _IFF_NO_PI, _IFF_TUN_EXCL = 0x2, 0x1000, 0x8000
_TUN_REQUEST = struct.Struct("=16sH22x")

_MAX_MTU_BYTES = 65521
_MAX_NAME_BYTES = 15

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
        number, attempt = error.errno or 0, f"make the TAP {name}"
        if number == errno.EBUSY:
            words, hint = "an interface of this name or number is there", "choose another name"
            raise KernelError(attempt, number, words, hint) from error
        if number == errno.EINVAL:
            hint = f"an interface has a name of 1 to {_MAX_NAME_BYTES} bytes without blanks, / and :"
            raise KernelError(attempt, number, hint=hint) from error
        raise refusal(attempt, number) from error
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


def configure_tap(routes: RouteSocket, name: str, mtu: int, mac: str | None = None) -> None:
    """Give a TAP its MTU, its MAC address and room for bursts, and bring it up; now or with a batch.

    Args:
        routes: A socket in its namespace.
        name: The interface.
        mtu: In bytes.
        mac: ``02:00:00:00:00:01``; the kernel's choice unless given.

    Raises:
        KernelError: The kernel refuses.
    """
    if mtu > _MAX_MTU_BYTES:  # the kernel's own refusal would not say which of the settings it means
        hint = f"a TAP takes an MTU of at most {_MAX_MTU_BYTES}"
        raise KernelError(f"set an MTU of {mtu} for the TAP {name}", errno.EINVAL, hint=hint)
    routes.configure_link(name, mtu=mtu, mac=mac, queue_packets=QUEUE_PACKETS)


class TapPort:
    """A TAP: what its host sends is read here, what is written here its host receives.

    Args:
        fd: Of the TAP, not blocking; ours to close.
        frame_bytes: The longest frame of the link.
    """

    def __init__(self, fd: int, frame_bytes: int) -> None:
        self._fd = fd
        self._frame_bytes = frame_bytes

    def fileno(self) -> int:
        """Return the TAP's descriptor."""
        return self._fd

    def read(self) -> bytes:
        """Return the next frame that the host has sent, whole; empty for one that is longer than the link's.

        Raises:
            BlockingIOError: None has come.
            OSError: The interface is gone.
        """
        # One byte more than fits: the kernel cuts a frame without a word, when the host has raised its MTU.
        frame = os.read(self._fd, self._frame_bytes + 1)
        return frame if len(frame) <= self._frame_bytes else b""

    def write(self, frame: bytes) -> None:
        """Let the host receive a frame.

        Raises:
            OSError: It is down or gone.
        """
        os.write(self._fd, frame)

    def close(self) -> None:
        """Close the TAP; without its namespace to keep it, its interface vanishes."""
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)


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
