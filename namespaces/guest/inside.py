"""Set-up inside the guest: file systems, devices, modules, limits; done once by pid 1.

The host's whole file tree is the root (hostfs). On it come the guest's own /proc, /sys, /dev, /run; all else
is the host's files themselves. Standard library only.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import resource
import socket
import struct
import termios
import tty
from pathlib import Path
from typing import NamedTuple

from netlab.errors import GuestError
from netlab.namespaces import syscalls
from netlab.namespaces.guest import kernel_calls
from netlab.namespaces.guest.job import Job

__all__ = ["GuestMount", "apply_limits", "go_first", "mount_plan", "open_console", "require_clock", "set_up"]

OPEN_FILES = 65536
"""Descriptors a command may have open: the guest's own default of 1024 ends a lab of 300 links."""

_CLOCK_SOURCE_FILE = "/sys/devices/system/clocksource/clocksource0/current_clocksource"
_FOR_EVER_MS = 20 * 86_400_000  # 20 days, times 1.5 at most, and it must fit into 31 bits
_SIOCSIFFLAGS = 0x8914
_IFF_UP_RUNNING = 0x41
_DEVICE_LINKS = {
    "/dev/fd": "/proc/self/fd",
    "/dev/stdin": "/proc/self/fd/0",
    "/dev/stdout": "/proc/self/fd/1",
    "/dev/stderr": "/proc/self/fd/2",
}


class GuestMount(NamedTuple):
    """A file system of the guest's own.

    Attributes:
        kind: Its type.
        target: Where it goes; made if it is not there.
        flags: MS_* flags.
        data: Options of its type.
        needed: Whether the guest is of no use without it.
    """

    kind: str
    target: str
    flags: int = 0
    data: str = ""
    needed: bool = True


def mount_plan(cwd: str) -> tuple[GuestMount, ...]:
    """Return what to mount over the host's tree, in order.

    Args:
        cwd: The command's working folder: where it lies below /run, the host's /run stays visible.
    """
    plain = syscalls.MS_NOSUID | syscalls.MS_NODEV
    mounts = [
        GuestMount("proc", "/proc", plain | syscalls.MS_NOEXEC),
        GuestMount("sysfs", "/sys", plain | syscalls.MS_NOEXEC),
        GuestMount("cgroup2", "/sys/fs/cgroup", plain | syscalls.MS_NOEXEC, needed=False),
        GuestMount("devpts", "/dev/pts", syscalls.MS_NOSUID | syscalls.MS_NOEXEC, "gid=5,mode=620,ptmxmode=666"),
        GuestMount("tmpfs", "/dev/shm", plain, "mode=1777"),
    ]
    if cwd != "/run" and not cwd.startswith("/run/"):
        mounts.append(GuestMount("tmpfs", "/run", plain, "mode=755"))
    return tuple(mounts)


def set_up(job: Job) -> None:
    """Make a bare kernel on the host's files into a system that a netlab command can run on.

    Raises:
        OSError: The kernel refuses a step; ``filename`` says where.
    """
    for mount in mount_plan(job.cwd):
        try:
            Path(mount.target).mkdir(parents=True, exist_ok=True)
            syscalls.mount(mount.kind, mount.target, mount.kind, mount.flags, mount.data)
        except OSError:
            if mount.needed:
                raise
    for name, target in _DEVICE_LINKS.items():
        with contextlib.suppress(FileExistsError):
            Path(name).symlink_to(target)
    _make_runtime_folder(job)
    # No module is loaded by the kernel asking for it: the host's modprobe knows nothing of this kernel.
    with contextlib.suppress(FileNotFoundError):  # a kernel without modules
        Path("/proc/sys/kernel/modprobe").write_text("\n", encoding="ascii")
    for path in job.modules:
        try:
            kernel_calls.load_module(path)
        except OSError as error:
            if error.errno != errno.EEXIST:
                raise
    if job.secret:
        kernel_calls.give_entropy(bytes.fromhex(job.secret))
    if job.clock_source:
        require_clock(job.clock_source)
        _settle_neighbours()
    socket.sethostname(job.hostname)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as any_socket:
        fcntl.ioctl(any_socket, _SIOCSIFFLAGS, struct.pack("16sH14x", b"lo", _IFF_UP_RUNNING))
    syscalls.set_timer_slack(1)  # nanoseconds; all that is started from here inherits it


def require_clock(wanted: str, current: Path = Path(_CLOCK_SOURCE_FILE)) -> None:
    """Make sure that the kernel's clock is the one that was asked for: it ignores what it does not know.

    Raises:
        GuestError: It is another.
    """
    found = current.read_text(encoding="ascii").strip()
    if found != wanted:
        raise GuestError(f"guest: its clock is {found!r}, not {wanted!r}: this kernel has no virtual time")


def go_first() -> None:
    """Have this process run as soon as it can, before all others; what it starts does not inherit that.

    Where a program holds the clock nobody's turn ever ends: what it printed before would never come out.
    """
    os.sched_setscheduler(0, os.SCHED_FIFO | os.SCHED_RESET_ON_FORK, os.sched_param(1))


def _settle_neighbours() -> None:
    """Let no neighbour's address become old: when it is asked for again is drawn by chance."""
    with contextlib.suppress(FileNotFoundError):
        Path("/proc/sys/net/ipv4/neigh/default/base_reachable_time_ms").write_text(f"{_FOR_EVER_MS}\n", "ascii")


def open_console(number: int) -> int:
    """Return a non-blocking descriptor of a console that passes every byte as it is."""
    fd = os.open(f"/dev/tty{number}", os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK | os.O_CLOEXEC)
    tty.setraw(fd)
    attributes = termios.tcgetattr(fd)
    attributes[1] &= ~termios.OPOST
    termios.tcsetattr(fd, termios.TCSANOW, attributes)
    return fd


def apply_limits(rlimits: tuple[tuple[int, int, int], ...]) -> None:
    """Give the calling process the limits of the caller outside, but enough descriptors for a large lab.

    Raises:
        GuestError: A limit that cannot be set.
    """
    for kind, soft, hard in rlimits:
        limits = (soft, hard)
        if kind == resource.RLIMIT_NOFILE:
            limits = (_larger(soft, OPEN_FILES), _larger(hard, OPEN_FILES))
        try:
            resource.setrlimit(kind, limits)
        except (ValueError, OSError) as error:
            raise GuestError(f"guest: cannot set limit {kind} to {limits}: {error}") from error


def _larger(limit: int, floor: int) -> int:
    """Return a limit of descriptors that is at least ``floor`` and that the kernel accepts."""
    most = 1 << 20  # fs.nr_open
    return most if limit == resource.RLIM_INFINITY else min(max(limit, floor), most)


def _make_runtime_folder(job: Job) -> None:
    """Make the user's own folder below /run, which programs expect where the variable names one."""
    folder = job.env.get("XDG_RUNTIME_DIR", "")
    if folder.startswith("/run/"):
        Path(folder).mkdir(0o700, parents=True, exist_ok=True)
