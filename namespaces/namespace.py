"""Namespace: an anonymous network namespace, held by a file descriptor.

No name in the file system, so there is nothing to clean up: closing the descriptor, or the end of the process
however it comes, removes the namespace with all that is in it. The main thread never enters one: what must
happen inside happens in a thread that is thrown away.

::

    thread:  unshare(NEWNET) -> loopback up, IPv6 off -> descriptor --> Namespace --close--> gone
    call(f): thread: setns -> f() -> thrown away

A socket stays in the namespace it was made in, whichever thread uses it.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import socket
import struct
import threading
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Self, TypeVar

from netlab.errors import KernelError, PrivilegeError
from netlab.namespaces.netlink_ack import refusal
from netlab.namespaces.syscalls import CLONE_NEWNET, setns, unshare

__all__ = ["Namespace"]

T = TypeVar("T")

# <linux/sockios.h>: set the flags of an interface; the descriptor of a socket's namespace (no /proc needed).
_SIOCSIFFLAGS = 0x8914
_SIOCGSKNS = 0x894C
_IFF_UP = 0x1
_INTERFACE_FLAGS = struct.Struct("16sH14x")
_IPV6_SWITCHES = tuple(Path(f"/proc/sys/net/ipv6/conf/{scope}/disable_ipv6") for scope in ("all", "default"))


class Namespace:
    """A network namespace that lives as long as its descriptor.

    Attributes:
        label: What messages call it.
    """

    def __init__(self, fd: int, label: str) -> None:
        self._fd = fd
        self.label = label

    @classmethod
    def create(cls, label: str = "namespace") -> Self:
        """Make an empty namespace: loopback up, IPv6 off.

        IPv6 would send of its own accord (router and neighbour solicitations at random times), which shifts
        every seeded stream of a link.

        Raises:
            PrivilegeError: The caller may not make namespaces.
            KernelError: The kernel has no room for another, or does not let us switch IPv6 off.
        """
        return cls.create_with(label, lambda: None)[0]

    @classmethod
    def create_with(cls, label: str, function: Callable[[], T]) -> tuple[Self, T]:
        """Make a namespace and run a function inside it at once: one thread for both.

        Returns:
            The namespace, and what the function returned.

        Raises:
            PrivilegeError: The caller may not make namespaces.
            KernelError: The kernel has no room for another, or does not let us switch IPv6 off.
            BaseException: Whatever the function raises.
        """
        made: list[int] = []

        def work() -> T:
            try:
                unshare(CLONE_NEWNET)
                with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as inside:
                    _switch_ipv6_off()
                    fcntl.ioctl(inside, _SIOCSIFFLAGS, _INTERFACE_FLAGS.pack(b"lo", _IFF_UP))
                    made.append(fcntl.ioctl(inside, _SIOCGSKNS))  # close-on-exec is set by the kernel
            except OSError as error:
                raise _refusal(f"make the network namespace of {label}", error) from error
            return function()

        try:
            result = _in_thread(work)
        except BaseException:
            for fd in made:
                os.close(fd)
            raise
        return cls(made[0], label), result

    @property
    def fd(self) -> int:
        """The descriptor that holds the namespace.

        Raises:
            KernelError: The namespace is closed.
        """
        if self._fd < 0:
            raise KernelError(f"use the namespace of {self.label}", errno.EBADF, "it is closed")
        return self._fd

    @property
    def inode(self) -> int:
        """The number by which /proc/PID/ns/net shows this namespace."""
        return os.fstat(self.fd).st_ino

    def call(self, function: Callable[[], T]) -> T:
        """Run a function inside the namespace, in a thread of its own, and return what it returns.

        Raises:
            PrivilegeError: The caller may not enter it.
            BaseException: Whatever the function raises.
        """
        fd = self.fd

        def work() -> T:
            try:
                setns(fd, CLONE_NEWNET)
            except OSError as error:
                raise _refusal(f"enter the namespace of {self.label}", error) from error
            return function()

        return _in_thread(work)

    def close(self) -> None:
        """Let go of the namespace; it vanishes once no process and no socket is left in it."""
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _in_thread(function: Callable[[], T]) -> T:
    """Run a function in a thread that is thrown away; the caller's interrupt waits until it has ended."""
    results: list[T] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            results.append(function())
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=run, name="netlab-namespace", daemon=True)
    thread.start()
    try:
        thread.join()
    except BaseException:
        thread.join()
        raise
    if errors:
        raise errors[0]
    return results[0]


def _switch_ipv6_off() -> None:
    """Switch IPv6 off in the calling thread's namespace, whose settings /proc/sys/net shows to it."""
    for switch in _IPV6_SWITCHES:
        with contextlib.suppress(FileNotFoundError):  # a kernel without IPv6
            switch.write_text("1", encoding="ascii")


def _refusal(attempt: str, error: OSError) -> KernelError:
    number = error.errno or 0
    if number == errno.EROFS:
        hint = "/proc/sys is read-only here: start the container with --privileged, or use --on guest"
        return PrivilegeError(attempt, number, f"{error.filename} is read-only", hint)
    if number in (errno.EPERM, errno.EACCES):
        hint = "run as root (sudo), or under `unshare --user --map-root-user`, or use --on guest"
        return PrivilegeError(attempt, number, hint=hint)
    if number == errno.ENOSPC:
        hint = "close other labs, or raise /proc/sys/user/max_net_namespaces"
        return KernelError(attempt, number, "the limit of network namespaces is reached", hint)
    return refusal(attempt, number)
