"""Installed guest kernels: folders in the user's cache, each with a manifest that says what is in it.

::

    $XDG_CACHE_HOME/netlab/guest/
    |- debian-7.2um1-libc-2.43-7/   one kernel, moved into place when it was whole
    |  |- manifest.json             versions, SHA-256 and size of every file
    |  |- linux                     the kernel
    |  |- lib/                      a C library for it (2.43-7), where the machine's own is too old
    |  `- modules/
    |- debian-7.2um1/               one that uses the machine's own C library: no lib/
    |- built-7.2.12-3f0c5d2a9e17/   one built here, with time travel: no lib/, no modules/
    `- .lock, .staging-*            a fetch or a build under way

A folder is what its manifest says or it is not used: never repaired, only fetched or built again.
"""

from __future__ import annotations

import errno
import hashlib
import io
import os
import pwd
import re
import stat
from pathlib import Path

import msgspec
from msgspec import Struct

from netlab.errors import GuestError
from netlab.namespaces.guest.manifest import MANIFEST_NAME, MAX_MANIFEST_BYTES, Manifest, parse_manifest

__all__ = [
    "GuestKernel",
    "default_guest_kernel",
    "file_sha256",
    "guest_cache",
    "list_guest_kernels",
    "read_kernel",
    "ready_made_kernel",
    "time_travel_kernel",
    "verify_kernel",
    "version_key",
]


class GuestKernel(Struct, frozen=True, kw_only=True):
    """A guest kernel on this machine.

    Attributes:
        path: Its folder.
        release: What ``uname -r`` says inside; empty where the manifest cannot be read.
        sha256: Its identity, 64 hexadecimal digits; empty where the manifest cannot be read.
        time_travel: Whether it can run in virtual time.
        problem: Why it cannot be used; empty when it can.
        manifest: What its folder holds; None where it cannot be read.
    """

    path: Path
    release: str = ""
    sha256: str = ""
    time_travel: bool = False
    problem: str = ""
    manifest: Manifest | None = None

    @property
    def identity(self) -> str:
        """The kernel as results name it, and as ``NETLAB_GUEST`` does."""
        return f"{self.release} sha256:{self.sha256}"

    @property
    def binary(self) -> Path:
        """The program to execute."""
        return self.path / (self.manifest.kernel if self.manifest else "linux")

    @property
    def module_paths(self) -> tuple[Path, ...]:
        """The modules, in the order to load them."""
        return tuple(self.path / name for name in self.manifest.modules) if self.manifest else ()


def guest_cache() -> Path:
    """Return the folder of the user's guest kernels; it need not exist yet."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    # The specification of that variable has relative paths ignored.
    return (Path(base) if base.startswith("/") else _home() / ".cache") / "netlab" / "guest"


def _home() -> Path:
    """Return the user's home folder; an empty or relative HOME would put the cache wherever we were started.

    Raises:
        GuestError: Neither HOME nor the user's entry in the password file names one.
    """
    home = os.environ.get("HOME", "")
    if not home.startswith("/"):
        try:
            home = pwd.getpwuid(os.geteuid()).pw_dir
        except KeyError:
            home = ""
    if not home.startswith("/"):
        raise GuestError("guest cache: this user has no home folder", hint="set XDG_CACHE_HOME to a full path")
    return Path(home)


def list_guest_kernels(cache: Path) -> list[GuestKernel]:
    """Return every kernel in a cache, newest first, those that cannot be used with the reason; reads all files.

    Raises:
        GuestError: The folder cannot be read.
    """
    kernels = []
    for kernel in _read_all(cache):
        problem = kernel.problem or _content_problem(kernel)
        kernels.append(msgspec.structs.replace(kernel, problem=problem))
    return kernels


def default_guest_kernel(cache: Path | None = None) -> GuestKernel | None:
    """Return the newest kernel for real time that looks whole; None where there is none.

    A ready-made one goes first: one that was built for virtual time runs in real time as well, but has been
    tried there by nobody but us. Sizes are checked here, contents when it is started.

    Args:
        cache: Folder to look in; the user's unless given.

    Raises:
        GuestError: The folder cannot be read.
    """
    return ready_made_kernel(cache) or time_travel_kernel(cache)


def ready_made_kernel(cache: Path | None = None) -> GuestKernel | None:
    """Return the newest kernel without virtual time that looks whole; None where there is none.

    Raises:
        GuestError: The folder cannot be read.
    """
    return next((kernel for kernel in _usable(cache) if not kernel.time_travel), None)


def time_travel_kernel(cache: Path | None = None) -> GuestKernel | None:
    """Return the newest kernel with virtual time that looks whole; None where there is none.

    Of two with the same release the one built last is taken: an earlier one was built from another source or
    with another configuration.

    Args:
        cache: Folder to look in; the user's unless given.

    Raises:
        GuestError: The folder cannot be read.
    """
    return next((kernel for kernel in _usable(cache) if kernel.time_travel), None)


def read_kernel(folder: Path) -> GuestKernel:
    """Return the kernel in a folder; what is wrong with manifest or sizes stands in ``problem``."""
    try:
        with _open_plain(folder / MANIFEST_NAME) as file:
            manifest = parse_manifest(file.read(MAX_MANIFEST_BYTES + 1))
    except OSError as error:
        return GuestKernel(path=folder, problem=f"{MANIFEST_NAME}: {error.strerror}")
    except GuestError as error:
        return GuestKernel(path=folder, problem=error.message)
    return GuestKernel(
        path=folder,
        release=manifest.release,
        sha256=manifest.sha256,
        time_travel=manifest.time_travel,
        problem=_size_problem(folder, manifest),
        manifest=manifest,
    )


def verify_kernel(kernel: GuestKernel) -> None:
    """Make sure that a kernel is, byte for byte, what its manifest says.

    Raises:
        GuestError: It is not.
    """
    problem = kernel.problem or _content_problem(kernel)
    if problem:
        maker = "build" if kernel.time_travel else "fetch"
        raise GuestError(f"guest kernel {kernel.path}: {problem}", hint=f"netlab guest {maker} --again")


def file_sha256(path: Path) -> str:
    """Return the SHA-256 of a file in hexadecimal.

    Raises:
        OSError: It cannot be read, or is no plain file.
    """
    with _open_plain(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _open_plain(path: Path) -> io.BufferedReader:
    """Open a file of a cache for reading; what is no plain file is refused: a named pipe would hang us for ever.

    Raises:
        OSError: It cannot be opened, or is no plain file.
    """
    # Not the builtin open: it has no such flags.
    file = os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb")
    if stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        return file
    file.close()
    raise OSError(errno.EINVAL, "not a plain file", os.fspath(path))


def version_key(version: str) -> tuple[int, ...]:
    """Return the numbers of a release or package version, for comparison."""
    return tuple(int(number) for number in re.findall(r"\d+", version))


def _usable(cache: Path | None) -> list[GuestKernel]:
    return [kernel for kernel in _read_all(cache or guest_cache()) if not kernel.problem]


def _read_all(cache: Path) -> list[GuestKernel]:
    try:
        folders = [entry for entry in cache.iterdir() if entry.is_dir() and not entry.name.startswith(".")]
    except FileNotFoundError:
        return []
    except OSError as error:
        raise GuestError(
            f"guest cache {cache}: {error.strerror}", hint="set XDG_CACHE_HOME to a folder of yours"
        ) from error
    kernels = [read_kernel(folder) for folder in folders]
    return sorted(
        kernels, key=lambda kernel: (version_key(kernel.release), _made_ns(kernel), kernel.path.name), reverse=True
    )


def _made_ns(kernel: GuestKernel) -> int:
    """Return when a kernel was made, in ns since 1970; 0 for one without a manifest."""
    try:
        return (kernel.path / MANIFEST_NAME).stat().st_mtime_ns
    except OSError:
        return 0


def _size_problem(folder: Path, manifest: Manifest) -> str:
    for name, record in manifest.files.items():
        try:
            size = (folder / name).stat().st_size
        except OSError as error:
            return f"{name}: {error.strerror}"
        if size != record.bytes:
            return f"{name}: {size} bytes instead of {record.bytes}"
    return ""


def _content_problem(kernel: GuestKernel) -> str:
    if kernel.manifest is None:
        return f"{MANIFEST_NAME}: not there"
    for name, record in kernel.manifest.files.items():
        try:
            found = file_sha256(kernel.path / name)
        except OSError as error:
            return f"{name}: {error.strerror}"
        if found != record.sha256:
            return f"{name}: its SHA-256 begins {found[:12]}, the manifest's {record.sha256[:12]}"
    return ""
