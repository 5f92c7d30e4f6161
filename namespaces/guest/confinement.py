"""Confinement: what a guest started by root may still do to the host it runs on.

::

    /            read-only, no devices, no set-uid, every submount too
    |- /proc     a new one: it shows the guest's own processes alone (no /proc/1/root to walk through)
    |- /run      empty: a read-only mount would not keep anybody from connecting to the services' sockets there
    |- /dev      empty but for null; /dev/shm is a file system of the guest's own, for its memory
    |- cwd       as writable as it was
    |- /tmp ...  as writable as it was
    network      a new namespace without interfaces
    rights       chown, and what reading and writing others' files takes; no mounting, no device nodes

Inside the guest one is root over a kernel that is an ordinary process here. Whatever it does to the host, that
process does; so that process is confined before it becomes the kernel. The mounts belong to the host's kernel
and the right to change them is gone, so what runs inside cannot undo them. It is no wall against somebody who
breaks out of the guest kernel: they are uid 0 here, read what root reads and reach sockets in writable places.

The mount plan of old kernels is pure; only ``confine`` and ``drop_capabilities`` touch the system, and each
is meant for a process that then becomes, or starts, the guest. Standard library only.
"""

from __future__ import annotations

import errno
import os
import re
import stat
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from netlab.namespaces import syscalls
from netlab.namespaces.guest import kernel_calls

__all__ = [
    "KEPT_CAPABILITIES",
    "MEMORY_PLACE",
    "Remount",
    "confine",
    "covered_places",
    "drop_capabilities",
    "outermost",
    "plan_remounts",
]

_CAP_CHOWN = 0
_CAP_DAC_OVERRIDE = 1
_CAP_FOWNER = 3
_CAP_FSETID = 4
KEPT_CAPABILITIES = frozenset({_CAP_CHOWN, _CAP_DAC_OVERRIDE, _CAP_FOWNER, _CAP_FSETID})
"""What root's files need. Not CAP_DAC_READ_SEARCH: it opens files by handle, past every mount."""

_NULL_DEVICE = "/dev/null"
"""The one device left: consoles without input are opened on it."""

MEMORY_PLACE = "/dev/shm"
_MEMORY_SLACK_BYTES = 16 << 20
_COVERED = ("/dev", "/run", "/var/run")
_COVER_OPTIONS = "mode=755,size=1m"

_CAPABILITY_BITS = 64
_READ_ONLY_FLAGS = (
    syscalls.MS_REMOUNT | syscalls.MS_BIND | syscalls.MS_RDONLY | syscalls.MS_NOSUID | syscalls.MS_NODEV
)
_OCTAL = re.compile(r"\\([0-7]{3})")
_FLAG_OF_OPTION = {
    "nosuid": syscalls.MS_NOSUID,
    "nodev": syscalls.MS_NODEV,
    "noexec": syscalls.MS_NOEXEC,
    "noatime": 1024,
    "nodiratime": 2048,
    "relatime": 1 << 21,
}


class Remount(NamedTuple):
    """A mount to be made read-only.

    Attributes:
        target: Where it is mounted.
        flags: All MS_* flags it is to have, those it had before included.
    """

    target: str
    flags: int


def outermost(paths: Iterable[str]) -> tuple[str, ...]:
    """Return absolute paths without duplicates, without those that lie within another, and without ``/``.

    The root is left out because a writable root is no confinement: a guest started in ``/`` cannot write there.
    """
    found: list[str] = []
    for path in sorted(set(paths)):
        if path != "/" and not any(path == outer or path.startswith(outer + "/") for outer in found):
            found.append(path)
    return tuple(found)


def plan_remounts(mountinfo: str, writable: Iterable[str]) -> list[Remount]:
    """Return the mounts that must become read-only where the kernel cannot do it in one call.

    Args:
        mountinfo: The text of ``/proc/self/mountinfo``.
        writable: Paths at and below which mounts stay as they are.
    """
    keep = tuple(writable)
    plan = []
    for line in mountinfo.splitlines():
        fields = line.split(" ")
        target = _OCTAL.sub(lambda match: chr(int(match[1], 8)), fields[4])
        if any(target == path or target.startswith(path + "/") for path in keep):
            continue
        flags = _READ_ONLY_FLAGS
        for option in fields[5].split(","):
            flags |= _FLAG_OF_OPTION.get(option, 0)
        plan.append(Remount(target, flags))
    return plan


def covered_places() -> tuple[str, ...]:
    """Return the folders that a confined guest finds empty, without symbolic links: services listen there."""
    return outermost(os.path.realpath(place) for place in _COVERED if Path(place).is_dir())


def confine(writable: Iterable[str], memory_bytes: int = 0) -> None:
    """Move the calling process into namespaces in which it can write to the given places alone.

    It must be pid 1 of a PID namespace of its own, so that the new /proc shows nothing else.

    Args:
        writable: Existing absolute paths without symbolic links, none within another.
        memory_bytes: Room in a file system of its own at ``MEMORY_PLACE``; 0 for none.

    Raises:
        OSError: Not permitted.
    """
    syscalls.unshare(syscalls.CLONE_NEWNS | syscalls.CLONE_NEWNET | kernel_calls.CLONE_NEWIPC)
    syscalls.mount("none", "/", "", syscalls.MS_REC | syscalls.MS_PRIVATE)
    syscalls.mount("proc", "/proc", "proc", syscalls.MS_NOSUID | syscalls.MS_NODEV | syscalls.MS_NOEXEC)
    paths = tuple(writable)
    try:
        _confine_at_once(paths)
    except OSError as error:
        if error.errno != errno.ENOSYS:
            raise
        _confine_mount_by_mount(paths)
    if memory_bytes:
        options = f"mode=700,size={memory_bytes + _MEMORY_SLACK_BYTES}"
        syscalls.mount("netlab", MEMORY_PLACE, "tmpfs", syscalls.MS_NOSUID | syscalls.MS_NODEV, options)


def drop_capabilities() -> None:
    """Give up every right but ``KEPT_CAPABILITIES``, for this process and all that it executes.

    Raises:
        OSError: Not permitted.
    """
    held = _held_capabilities()
    for capability in range(_CAPABILITY_BITS):
        if capability in KEPT_CAPABILITIES:
            continue
        try:
            kernel_calls.drop_from_bounding_set(capability)
        except OSError as error:
            if error.errno != errno.EINVAL:  # EINVAL: beyond the last that this kernel knows
                raise
            break
    kernel_calls.keep_capabilities(KEPT_CAPABILITIES & held)
    kernel_calls.forbid_new_privileges()


def _confine_at_once(paths: tuple[str, ...]) -> None:
    no_devices = kernel_calls.MOUNT_NOSUID | kernel_calls.MOUNT_NODEV

    def attach(path: str, tree_fd: int) -> None:
        kernel_calls.attach_tree(tree_fd, path)
        if path != _NULL_DEVICE:
            kernel_calls.set_mount_attributes(path, no_devices)

    # Copies made before the root turns read-only stay as writable as they were, read-only submounts included.
    trees = {path: kernel_calls.detach_copy(path) for path in (_NULL_DEVICE, *paths)}
    try:
        kernel_calls.set_mount_attributes("/", kernel_calls.MOUNT_RDONLY | no_devices)
        _cover_and_attach(trees, attach)
    finally:
        for tree_fd in trees.values():
            os.close(tree_fd)


def _confine_mount_by_mount(paths: tuple[str, ...]) -> None:
    def attach(path: str, mount_fd: int) -> None:
        syscalls.mount(f"/proc/self/fd/{mount_fd}", path, "", syscalls.MS_BIND | syscalls.MS_REC)

    kept = (_NULL_DEVICE, *paths)
    for path in kept:
        syscalls.mount(path, path, "", syscalls.MS_BIND | syscalls.MS_REC)
    # A descriptor still leads to a mount that has been covered by then.
    mounts = {path: os.open(path, os.O_PATH | os.O_CLOEXEC) for path in kept}
    try:
        for remount in plan_remounts(Path("/proc/self/mountinfo").read_text(encoding="utf-8"), kept):
            try:
                syscalls.mount("none", remount.target, "", remount.flags)
            except OSError as error:
                # A mount that another one covers cannot be reached: not by us, and not by the guest either.
                if error.errno not in (errno.EINVAL, errno.ENOENT, errno.ENOTDIR):
                    raise
        _cover_and_attach(mounts, attach)
    finally:
        for mount_fd in mounts.values():
            os.close(mount_fd)


def _cover_and_attach(kept: Mapping[str, int], attach: Callable[[str, int], None]) -> None:
    """Put the kept places where they were, and empty folders over those that services listen in.

    Args:
        kept: Descriptors of the places, by path.
        attach: Puts one of them in its place.
    """
    covered = covered_places()
    within = {place: [path for path in kept if path.startswith(place + "/")] for place in covered}
    # First those that a covered place may lie in: /var, say.
    for path in kept:
        if not any(path in paths for paths in within.values()):
            attach(path, kept[path])
    flags = syscalls.MS_NOSUID | syscalls.MS_NODEV | syscalls.MS_NOEXEC
    for place in covered:
        syscalls.mount("netlab", place, "tmpfs", flags, _COVER_OPTIONS)
        for path in within[place]:
            _make_mount_point(Path(path), stat.S_ISDIR(os.fstat(kept[path]).st_mode))
        if MEMORY_PLACE.startswith(place + "/"):
            Path(MEMORY_PLACE).mkdir(parents=True, exist_ok=True)
        syscalls.mount("none", place, "", _READ_ONLY_FLAGS | syscalls.MS_NOEXEC)
        for path in within[place]:
            attach(path, kept[path])


def _make_mount_point(path: Path, is_folder: bool) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    if is_folder:
        path.mkdir(exist_ok=True)
    else:
        path.touch()


def _held_capabilities() -> frozenset[int]:
    for line in Path("/proc/self/status").read_text(encoding="utf-8").splitlines():
        if line.startswith("CapPrm:"):
            mask = int(line.split()[1], 16)
            return frozenset(bit for bit in range(_CAPABILITY_BITS) if mask >> bit & 1)
    return frozenset()
