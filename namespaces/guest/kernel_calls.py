"""System calls that only the guest needs: detached mounts, capabilities, modules, sleep, power-off.

As ``namespaces/syscalls.py``: one function a call, a refusal is an ``OSError``, standard library only (pid 1
of the guest and its supervisor import it without site-packages). Numbers are those of x86-64, the one machine
that guests run on. Source: ``<asm/unistd_64.h>``, ``<linux/mount.h>``, ``<linux/capability.h>``.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import struct

from netlab.namespaces.syscalls import prctl

__all__ = [
    "CLONE_NEWIPC",
    "MOUNT_NODEV",
    "MOUNT_NOSUID",
    "MOUNT_RDONLY",
    "attach_tree",
    "detach_copy",
    "drop_from_bounding_set",
    "forbid_new_privileges",
    "give_entropy",
    "keep_capabilities",
    "load_module",
    "power_off",
    "refuse_random_numbers",
    "set_mount_attributes",
    "sleep_until",
]

CLONE_NEWIPC = 0x08000000

MOUNT_RDONLY = 0x1
MOUNT_NOSUID = 0x2
MOUNT_NODEV = 0x4

_SYS_CAPSET = 126
_SYS_FINIT_MODULE = 313
_SYS_OPEN_TREE = 428
_SYS_MOVE_MOUNT = 429
_SYS_MOUNT_SETATTR = 442

_AT_FDCWD = -100
_AT_RECURSIVE = 0x8000
_OPEN_TREE_CLONE = 1
_OPEN_TREE_CLOEXEC = os.O_CLOEXEC
_MOVE_MOUNT_F_EMPTY_PATH = 0x4
_PR_CAPBSET_DROP = 24
_PR_SET_NO_NEW_PRIVS = 38
_CAPABILITY_VERSION_3 = 0x20080522
_PR_SET_SECCOMP = 22
_SECCOMP_MODE_FILTER = 2
_RB_POWER_OFF = 0x4321FEDC
_RNDADDENTROPY = 0x40085203

_TIMER_ABSTIME = 1

_libc = ctypes.CDLL(None, use_errno=True)


class _TimeSpec(ctypes.Structure):
    """``struct timespec``."""

    _fields_ = (("seconds", ctypes.c_long), ("nanoseconds", ctypes.c_long))


def detach_copy(path: str) -> int:
    """Return a descriptor of a copy of the mounts at and below a path, attached nowhere yet.

    Raises:
        OSError: Not permitted, no such path, or a kernel before 5.2 (ENOSYS).
    """
    flags = _OPEN_TREE_CLONE | _OPEN_TREE_CLOEXEC | _AT_RECURSIVE
    return _call(_SYS_OPEN_TREE, path, ctypes.c_long(_AT_FDCWD), os.fsencode(path), ctypes.c_uint(flags))


def attach_tree(tree_fd: int, path: str) -> None:
    """Attach what ``detach_copy`` returned at a path.

    Raises:
        OSError: Not permitted, or no such path.
    """
    _call(
        _SYS_MOVE_MOUNT,
        path,
        ctypes.c_long(tree_fd),
        b"",
        ctypes.c_long(_AT_FDCWD),
        os.fsencode(path),
        ctypes.c_uint(_MOVE_MOUNT_F_EMPTY_PATH),
    )


def set_mount_attributes(path: str, attributes: int) -> None:
    """Set attributes (MOUNT_*) on the mount at a path and on all below it, or on none.

    Raises:
        OSError: Not permitted, no such path, or a kernel before 5.12 (ENOSYS).
    """
    request = struct.pack("=QQQQ", attributes, 0, 0, 0)
    _call(
        _SYS_MOUNT_SETATTR,
        path,
        ctypes.c_long(_AT_FDCWD),
        os.fsencode(path),
        ctypes.c_uint(_AT_RECURSIVE),
        request,
        ctypes.c_size_t(len(request)),
    )


def drop_from_bounding_set(capability: int) -> None:
    """Let neither this process nor what it executes ever have a capability again.

    Raises:
        OSError: Not permitted.
    """
    prctl(_PR_CAPBSET_DROP, capability)


def keep_capabilities(capabilities: frozenset[int]) -> None:
    """Give up all capabilities of the calling thread but these.

    Raises:
        OSError: One of them is not held.
    """
    mask = sum(1 << capability for capability in capabilities)
    low, high = mask & 0xFFFFFFFF, mask >> 32
    header = struct.pack("=Ii", _CAPABILITY_VERSION_3, 0)
    data = struct.pack("=IIIIII", low, low, 0, high, high, 0)  # effective, permitted, inheritable; twice 32 bits
    _call(_SYS_CAPSET, None, header, data)


def forbid_new_privileges() -> None:
    """Let no set-uid bit and no file capability give anything to what is executed from here on."""
    prctl(_PR_SET_NO_NEW_PRIVS, 1)


def refuse_random_numbers() -> None:
    """Let this process, and all that it executes, find no ``getrandom``: ENOSYS. New privileges are forbidden too.

    Raises:
        OSError: A kernel without seccomp filters.
    """
    forbid_new_privileges()
    program = b"".join(
        (
            struct.pack("=HBBI", 0x20, 0, 0, 4),  # load the architecture
            struct.pack("=HBBI", 0x15, 0, 2, 0xC000003E),  # x86-64, or on to "allow"
            struct.pack("=HBBI", 0x20, 0, 0, 0),  # load the number of the call
            struct.pack("=HBBI", 0x15, 1, 0, 318),  # getrandom: on to "refuse"
            struct.pack("=HBBI", 0x06, 0, 0, 0x7FFF0000),  # allow
            struct.pack("=HBBI", 0x06, 0, 0, 0x00050000 | errno.ENOSYS),  # refuse
        )
    )
    instructions = ctypes.create_string_buffer(program, len(program))
    header = struct.pack("@HP", len(program) // 8, ctypes.addressof(instructions))  # struct sock_fprog
    buffer = ctypes.create_string_buffer(header, len(header))
    prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.addressof(buffer))


def give_entropy(secret: bytes) -> None:
    """Mix a secret into this kernel's random numbers and let it count as such. For pid 1 of a guest.

    Raises:
        OSError: Not permitted.
    """
    with open("/dev/urandom", "wb") as device:  # noqa: PTH123 - a device
        fcntl.ioctl(device, _RNDADDENTROPY, struct.pack("@ii", 8 * len(secret), len(secret)) + secret)


def load_module(path: str) -> None:
    """Load a kernel module from a file.

    Raises:
        OSError: Refused; EEXIST when it is loaded already.
    """
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        _call(_SYS_FINIT_MODULE, path, ctypes.c_long(fd), b"", ctypes.c_int(0))
    finally:
        os.close(fd)


def sleep_until(clock: int, moment_ns: int) -> None:
    """Sleep until a clock (``time.CLOCK_*``) shows a moment; at once if it has passed.

    Raises:
        OSError: Not a clock that one can wait for, or interrupted by a signal.
    """
    moment = _TimeSpec(*divmod(moment_ns, 1_000_000_000))
    number = _libc.clock_nanosleep(ctypes.c_int(clock), ctypes.c_int(_TIMER_ABSTIME), ctypes.byref(moment), None)
    if number:
        raise OSError(number, os.strerror(number))


def power_off() -> None:
    """Switch this machine off. Only ever called by pid 1 of a guest.

    Raises:
        OSError: Not permitted.
    """
    if _libc.reboot(ctypes.c_int(_RB_POWER_OFF)):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def _call(number: int, path: str | None, *arguments: object) -> int:
    result = int(_libc.syscall(ctypes.c_long(number), *arguments))
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), path)
    return result
