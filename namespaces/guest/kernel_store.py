"""KernelStore: the one way into the cache of guest kernels, for whoever makes one (a fetch, a build).

::

    turn(): a lock, one maker of a kind at a time --> staging(): an empty folder, removed whatever happens
                                                         `-- put(): verify, rename: whole or not there

Knows no archive, no compiler and no network. A fetch and a build have a lock each: the seconds of the one need
not wait for the minutes of the other.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec

from netlab.errors import GuestError
from netlab.namespaces.guest.installed import GuestKernel, file_sha256, read_kernel, verify_kernel
from netlab.namespaces.guest.manifest import MANIFEST_FORMAT, MANIFEST_NAME, FileRecord, Manifest, PackageRecord

__all__ = ["KernelStore", "ask_kernel", "describe_kernel", "has_time_travel"]

PROBE_TIMEOUT_S = 30.0

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
            GuestError: The cache cannot be written to; here, or in an ``OSError`` of whatever runs inside.
        """
        try:
            self.cache.mkdir(parents=True, exist_ok=True)
            with (self.cache / self._lock).open("w") as file:
                yield self._wait_for(file.fileno())
        except OSError as error:
            raise GuestError(
                f"guest cache {error.filename or self.cache}: {error.strerror}",
                hint="make room there"
                if error.errno == errno.ENOSPC
                else "set XDG_CACHE_HOME to a folder of yours",
            ) from error

    @contextlib.contextmanager
    def staging(self, needed_bytes: int) -> Iterator[Path]:
        """Yield an empty folder beside the kernels, removed at the end; only within a turn.

        What an interrupted maker of this kind left is removed first: in our turn, none is under way.

        Raises:
            GuestError: Too little room.
        """
        for left in self.cache.glob(f"{self._prefix}*"):
            shutil.rmtree(left, ignore_errors=True)
        self._check_room(needed_bytes)
        folder = Path(tempfile.mkdtemp(prefix=self._prefix, dir=self.cache))
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)

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
            staging: Where a replaced kernel goes, to be removed.

        Raises:
            GuestError: The folder is not what the manifest says.
        """
        (folder / MANIFEST_NAME).write_bytes(msgspec.json.format(msgspec.json.encode(manifest)))
        verify_kernel(read_kernel(folder))
        _write_out(folder)
        target = self.cache / name
        if target.exists():
            target.rename(staging / "replaced")
        folder.rename(target)
        return read_kernel(target)

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
            raise GuestError(
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
        release=ask_kernel(folder, "--version").strip(),
        sha256=sha256,
        time_travel=has_time_travel(ask_kernel(folder, "--showconfig")),
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


def has_time_travel(configuration: str) -> bool:
    """Return whether a kernel with this configuration can run in virtual time."""
    return "CONFIG_UML_TIME_TRAVEL_SUPPORT=y" in configuration.splitlines()


def ask_kernel(folder: Path, option: str) -> str:
    """Return what the kernel in a folder prints for an option: the proof that it runs here at all.

    Raises:
        GuestError: It does not.
    """
    try:
        result = subprocess.run(
            ["./linux", option],
            cwd=folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=PROBE_TIMEOUT_S,
            check=True,
        )
    except PermissionError as error:
        raise GuestError(
            f"guest cache {folder.parent.parent}: nothing can be executed there (mounted noexec?)",
            hint="set XDG_CACHE_HOME to a folder that allows it",
        ) from error
    except (subprocess.SubprocessError, OSError) as error:
        raise GuestError(f"guest: the new kernel does not run on this machine: {error}") from error
    return result.stdout.decode(errors="replace")
