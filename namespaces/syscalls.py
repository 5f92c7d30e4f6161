"""System calls that Python 3.11 does not offer: the one door to ctypes.

Owns the numbers of ``<linux/sched.h>``, ``<sys/mount.h>`` and ``<sys/prctl.h>`` that netlab uses. Each
function is one call, made by the calling *thread*; a refusal is an ``OSError`` that the caller puts into
words. It must not know what the calls are for: pid 1 of a lab imports it with the standard library alone.
"""

from __future__ import annotations

import ctypes
import os
import signal

__all__ = [
    "CLONE_NEWNET",
    "CLONE_NEWNS",
    "CLONE_NEWPID",
    "CLONE_NEWUSER",
    "MNT_DETACH",
    "MS_BIND",
    "MS_NODEV",
    "MS_NOEXEC",
    "MS_NOSUID",
    "MS_PRIVATE",
    "MS_RDONLY",
    "MS_REC",
    "MS_REMOUNT",
    "MS_SLAVE",
    "die_with_parent_thread",
    "mount",
    "prctl",
    "set_subreaper",
    "set_timer_slack",
    "setns",
    "timerfd_create",
    "timerfd_settime",
    "umount",
    "unshare",
]

CLONE_NEWNS = 0x00020000
CLONE_NEWUSER = 0x10000000
CLONE_NEWPID = 0x20000000
CLONE_NEWNET = 0x40000000

MS_RDONLY = 1
MS_NOSUID = 2
MS_NODEV = 4
MS_NOEXEC = 8
MS_REMOUNT = 32
MS_BIND = 4096
MS_REC = 16384
MS_PRIVATE = 1 << 18
MS_SLAVE = 1 << 19
MNT_DETACH = 2

_PR_SET_PDEATHSIG = 1
_PR_SET_TIMERSLACK = 29
_PR_SET_CHILD_SUBREAPER = 36

# <sys/timerfd.h>
_CLOCK_MONOTONIC = 1
_TFD_TIMER_ABSTIME = 1

_libc = ctypes.CDLL(None, use_errno=True)


def unshare(flags: int) -> None:
    """Move the calling thread into new namespaces; with CLONE_NEWPID only the children made after it.

    Raises:
        OSError: Not permitted, or the limit of namespaces is reached.
    """
    _check(_libc.unshare(ctypes.c_int(flags)))


def setns(fd: int, kind: int) -> None:
    """Move the calling thread into the namespace that a descriptor stands for.

    Args:
        fd: The namespace.
        kind: The CLONE_NEW* flag it must be; 0 for any.

    Raises:
        OSError: Not permitted, or not such a namespace.
    """
    _check(_libc.setns(ctypes.c_int(fd), ctypes.c_int(kind)))


def mount(source: str, target: str, kind: str, flags: int = 0, data: str = "") -> None:
    """Mount a file system, or change a mount, in the mount namespace of the calling thread.

    Raises:
        OSError: Not permitted, or no such file system, source or target; its ``filename`` is the target.
    """
    _check(
        _libc.mount(
            os.fsencode(source),
            os.fsencode(target),
            os.fsencode(kind),
            ctypes.c_ulong(flags),
            os.fsencode(data) if data else None,
        ),
        target,
    )


def umount(target: str, flags: int = 0) -> None:
    """Unmount what is mounted at a path.

    Raises:
        OSError: Not permitted, busy or not a mount point; its ``filename`` is the target.
    """
    _check(_libc.umount2(os.fsencode(target), ctypes.c_int(flags)), target)


def prctl(option: int, argument: int, second: int = 0) -> None:
    """Set one attribute of the calling process or thread.

    Raises:
        OSError: Unknown option or value.
    """
    zero = ctypes.c_ulong(0)
    _check(_libc.prctl(ctypes.c_int(option), ctypes.c_ulong(argument), ctypes.c_ulong(second), zero, zero))


def die_with_parent_thread(signal_number: int = signal.SIGKILL) -> None:
    """Have the kernel send us a signal once the *thread* that made us has ended, its process with it or not.

    A parent that ended before this call is not noticed: the caller checks for that by other means.
    """
    prctl(_PR_SET_PDEATHSIG, signal_number)


def set_subreaper() -> None:
    """Become the parent of orphaned descendants in place of init."""
    prctl(_PR_SET_CHILD_SUBREAPER, 1)


def set_timer_slack(slack_ns: int) -> None:
    """Let the kernel delay the calling thread's timers by at most so many ns; children inherit it.

    Unless set it is 50,000 ns.
    """
    prctl(_PR_SET_TIMERSLACK, slack_ns)


def timerfd_create() -> int:
    """Return a timer on the monotonic clock: a descriptor that is readable once it has rung.

    Raises:
        OSError: No descriptor is left.
    """
    fd = int(_libc.timerfd_create(ctypes.c_int(_CLOCK_MONOTONIC), ctypes.c_int(os.O_CLOEXEC | os.O_NONBLOCK)))
    _check(fd)
    return fd


def timerfd_settime(fd: int, at_ns: int, period_ns: int = 0) -> None:
    """Have a timer ring at a moment of the monotonic clock, at once where it is past; 0 for never.

    A reading yields eight bytes: how often it has rung since the last one, in the machine's byte order.

    Args:
        fd: The timer.
        at_ns: When it rings first.
        period_ns: From then on it rings so often; 0 for once alone.

    Raises:
        OSError: It is no timer.
    """
    spec = (ctypes.c_long * 4)(*divmod(period_ns, 1_000_000_000), *divmod(at_ns, 1_000_000_000))
    _check(_libc.timerfd_settime(ctypes.c_int(fd), ctypes.c_int(_TFD_TIMER_ABSTIME), spec, None))


def _check(result: int, path: str | None = None) -> None:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), path)
