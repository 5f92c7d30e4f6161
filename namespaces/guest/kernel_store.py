"""KernelStore: the one way into the cache of guest kernels, for whoever makes one (a fetch, a build).

::

    turn(): a lock, one maker of a kind at a time --> staging(): an empty folder, removed whatever happens
                                                         `-- put(): verify, rename: whole or not there

A kernel that is replaced waits in the staging folder until the new one has its place; whatever ends us between the
two renames, the next to clear that folder puts it back. The folders' names say all that a kernel depends on.

Knows no archive, no compiler and no network. A fetch and a build have a lock each: the seconds of the one need
not wait for the minutes of the other.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec

from netlab.errors import GuestError, GuestUnavailable
from netlab.namespaces.guest.installed import GuestKernel, file_sha256, read_kernel, verify_kernel
from netlab.namespaces.guest.kernel_probe import ask_kernel, has_time_travel
from netlab.namespaces.guest.manifest import MANIFEST_FORMAT, MANIFEST_NAME, FileRecord, Manifest, PackageRecord

__all__ = ["KernelStore", "built_folder_name", "built_folder_names", "describe_kernel", "kernel_folder_name"]

_FULL = (errno.ENOSPC, errno.EDQUOT)
_REPLACED = "replaced"
_KEY_DIGITS = 12

Say = Callable[[str], None]


class KernelStore:
    """The cache, as one kind of maker sees it.

    Args:
        cache: Folder of guest kernels; made when a turn begins.
        maker: What makes kernels, as messages name it: ``fetch``.
        lock: Name of the lock file in the cache.
        staging_prefix: What the names of this maker's staging folders begin with.
        say: Told what is being waited for.
    """

    def __init__(self, cache: Path, maker: str, lock: str, staging_prefix: str, say: Say) -> None:
        self.cache = cache
        self._maker = maker
        self._lock = lock
        self._prefix = staging_prefix
        self._say = say

    @contextlib.contextmanager
    def turn(self) -> Iterator[bool]:
        """Be the only maker of this kind while inside; yields whether another had to be waited for.

        Raises:
            GuestError: The cache cannot be written to; or whatever runs inside met an ``OSError``, of the cache or
                of something else.
        """
        try:
            self.cache.mkdir(parents=True, exist_ok=True)
            # Without O_NONBLOCK a named pipe would hang us here for ever; it is refused (ENXIO).
            flags = os.O_WRONLY | os.O_CREAT | os.O_NONBLOCK | os.O_CLOEXEC
            with os.fdopen(os.open(self.cache / self._lock, flags, 0o666), "w") as file:
                yield self._wait_for(file.fileno())
        except OSError as error:
            raise self._refusal(error) from error

    @contextlib.contextmanager
    def staging(self, needed_bytes: int) -> Iterator[Path]:
        """Yield an empty folder beside the kernels, removed at the end; only within a turn.

        What an interrupted maker of this kind left is removed first: in our turn, none is under way.

        Raises:
            GuestUnavailable: Too little room.
        """
        for left in self.cache.glob(f"{self._prefix}*"):
            self._clear(left)
        self._check_room(needed_bytes)
        folder = Path(tempfile.mkdtemp(prefix=self._prefix, dir=self.cache))
        try:
            yield folder
        finally:
            self._clear(folder)

    def whole(self, name: str) -> GuestKernel | None:
        """Return the kernel in a folder of the cache if it is there and, byte for byte, what it should be."""
        if not (self.cache / name).exists():
            return None
        kernel = read_kernel(self.cache / name)
        try:
            verify_kernel(kernel)
        except GuestError:
            return None
        return kernel

    def put(self, folder: Path, name: str, manifest: Manifest, staging: Path) -> GuestKernel:
        """Move a kernel's folder into the cache; one of that name that is there already is replaced.

        Args:
            folder: Holds the kernel; in the staging folder.
            name: Of the folder in the cache.
            manifest: What the folder holds.
            staging: Where a replaced kernel goes, to be removed once the new one is in its place.

        Raises:
            GuestError: The folder is not what the manifest says.
        """
        (folder / MANIFEST_NAME).write_bytes(msgspec.json.format(msgspec.json.encode(manifest)))
        verify_kernel(read_kernel(folder))
        _write_out(folder)
        target = self.cache / name
        if target.exists():
            (staging / _REPLACED).mkdir()
            target.rename(staging / _REPLACED / name)
        folder.rename(target)
        return read_kernel(target)

    def _clear(self, staging: Path) -> None:
        """Remove a staging folder; a kernel that was taken out of its place for one that never came goes back."""
        for replaced in staging.glob(f"{_REPLACED}/*"):
            if not (self.cache / replaced.name).exists():
                with contextlib.suppress(OSError):
                    replaced.rename(self.cache / replaced.name)
        shutil.rmtree(staging, ignore_errors=True)

    def _refusal(self, error: OSError) -> GuestError:
        """Return what an error of the system means, told by the file that it names."""
        path = None if error.filename is None else Path(os.fsdecode(error.filename))
        if path is None and error.errno not in _FULL:
            return GuestError(f"guest {self._maker}: {error.strerror}")
        if path is not None and not (path.is_relative_to(self.cache) or self.cache.is_relative_to(path)):
            return GuestError(f"guest {self._maker}: {path}: {error.strerror}")
        return GuestError(
            f"guest cache {path or self.cache}: {error.strerror}",
            hint="make room there" if error.errno in _FULL else "set XDG_CACHE_HOME to a folder of yours",
        )

    def _wait_for(self, lock_fd: int) -> bool:
        try:
            fcntl.flock(lock_fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self._say(f"another {self._maker} is under way; waiting for it")
            fcntl.flock(lock_fd, fcntl.LOCK_EX)
            return True
        return False

    def _check_room(self, needed_bytes: int) -> None:
        free = shutil.disk_usage(self.cache).free
        if free < needed_bytes:
            raise GuestUnavailable(
                f"guest cache {self.cache}: {free >> 20} MiB free; a {self._maker} needs {needed_bytes >> 20} MiB "
                "for a moment",
                hint="make room there, or set XDG_CACHE_HOME to a folder with more",
            )


def _write_out(folder: Path) -> None:
    """Have a folder whole on disk, so that a power cut leaves no empty file under a good name."""
    for path in (*folder.rglob("*"), folder):
        fd = os.open(path, os.O_RDONLY)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)


def describe_kernel(
    folder: Path,
    *,
    sha256: str,
    patched: bool,
    modules: tuple[str, ...],
    packages: tuple[PackageRecord, ...],
    suite: str,
    configuration: str = "",
    compiler: str = "",
) -> Manifest:
    """Return the manifest of the kernel in a folder; what the kernel says of itself is asked of it.

    Raises:
        GuestError: It does not run here.
    """
    return Manifest(
        format=MANIFEST_FORMAT,
        release=ask_kernel(folder / "linux", "--version").strip(),
        sha256=sha256,
        time_travel=has_time_travel(folder / "linux"),
        patched=patched,
        kernel="linux",
        modules=modules,
        files={
            str(path.relative_to(folder)): FileRecord(sha256=file_sha256(path), bytes=path.stat().st_size)
            for path in sorted(folder.rglob("*"))
            if path.is_file()
        },
        packages=packages,
        suite=suite,
        configuration=configuration,
        compiler=compiler,
    )


def kernel_folder_name(version: str, libc_version: str = "") -> str:
    """Return the name of a kernel's folder: it says all that its contents depend on.

    Args:
        version: Of the kernel's package.
        libc_version: Of the package of the C library beside it; empty where it uses the machine's own.
    """
    name = f"debian-{version}" + (f"-libc-{libc_version}" if libc_version else "")
    return re.sub(r"[^A-Za-z0-9.+~-]", "_", name)


def built_folder_name(version: str, key: str) -> str:
    """Return the name of the folder of a kernel built here: it says all that its contents depend on.

    Args:
        version: Of the kernel.
        key: SHA-256 of source and configuration, in hexadecimal.
    """
    return re.sub(r"[^A-Za-z0-9.+~-]", "_", f"built-{version}-{key[:_KEY_DIGITS]}")


def built_folder_names(cache: Path, key: str) -> list[str]:
    """Return the names of the folders of kernels of whatever version that were built with a key."""
    return sorted(path.name for path in cache.glob(f"built-*-{key[:_KEY_DIGITS]}"))
