"""DebianKernel: an ordinary kernel of a Debian release, unpacked in the user's cache; nothing is installed.

::

    machine's apt sources -> PrivateApt(suite) -> linux-image-amd64 names linux-image-... -> unpack -> rename

What is not whole is never seen: a kernel appears in the cache by one rename, under a name that says its version.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from netlab.errors import GuestError
from netlab.namespaces.guest.archive import Mirror, PackageFacts
from netlab.namespaces.guest.installed import version_key
from netlab.namespaces.guest.kernel_store import KernelStore
from netlab.namespaces.guest.machine import check_distribution, check_processor, machine_mirrors, read_os_release
from netlab.namespaces.guest.private_apt import PrivateApt

__all__ = ["DebianKernel", "fetch_debian_kernel", "newest_cached"]

NEEDED_BYTES = 1 << 30
META_PACKAGE = "linux-image-amd64"
_IMAGE = re.compile(r"\blinux-image-[0-9][^\s,(]*")

Say = Callable[[str], None]


class DebianKernel(NamedTuple):
    """A kernel in the cache.

    Attributes:
        suite: The release it comes from.
        folder: What its package holds: ``boot/vmlinuz-*``, ``lib/modules/*``.
    """

    suite: str
    folder: Path

    @property
    def image(self) -> Path:
        """The file to boot."""
        return next(self.folder.glob("boot/vmlinuz-*"))

    @property
    def release(self) -> str:
        """What ``uname -r`` says in it."""
        return self.image.name.removeprefix("vmlinuz-")


def newest_cached(cache: Path, suite: str) -> DebianKernel | None:
    """Return the newest kernel of a suite that is in the cache; None where there is none."""
    folders = sorted(cache.glob(f"{suite}_*"), key=lambda folder: version_key(folder.name.partition("_")[2]))
    return DebianKernel(suite, folders[-1]) if folders else None


def fetch_debian_kernel(cache: Path, suite: str, say: Say) -> DebianKernel:
    """Fetch the newest kernel of a suite, signature checked; one of that version that is there is kept.

    Args:
        cache: Folder of kernels; made if it is not there.
        suite: For example ``bookworm``.
        say: Told what is being done.

    Raises:
        GuestError: Not an x86-64 Debian, no network, no room, or a signature that does not hold.
    """
    check_processor()
    mirrors = machine_mirrors(check_distribution(read_os_release()))
    store = KernelStore(cache, "fetch of a kernel", f".{suite}.lock", f".staging-{suite}-", say)
    with store.turn(), store.staging(NEEDED_BYTES) as staging:
        say(f"reading the package lists of Debian {suite}")
        apt, package = _newest(staging, mirrors, suite)
        target = cache / f"{suite}_{package.version.replace(':', '.')}"
        if not target.exists():
            say(f"fetching {package.name} {package.version} ({package.size_bytes / 1e6:.0f} MB)")
            file = apt.download(package)
            _unpack(file, staging / "kernel")
            (staging / "kernel").rename(target)
    return DebianKernel(suite, target)


def _newest(staging: Path, mirrors: list[Mirror], suite: str) -> tuple[PrivateApt, PackageFacts]:
    """Return the package that a suite's meta package names, and whom to get it from."""
    for number, mirror in enumerate(mirrors):
        apt = PrivateApt(staging / f"apt-{number}", mirror, suite)
        meta = apt.show(META_PACKAGE) if apt.update() else None
        named = _IMAGE.search(meta.depends) if meta else None
        package = apt.show(named[0]) if named else None
        if package is not None:
            return apt, package
    raise GuestError(
        f"kernel of Debian {suite}: none in {', '.join(mirror.uri for mirror in mirrors)}",
        hint="use a mirror that carries all of Debian's suites",
    )


def _unpack(package: Path, folder: Path) -> None:
    """Unpack a package and list its modules, as its installation would."""
    folder.mkdir()
    _run("dpkg-deb", "-x", str(package), str(folder))
    if not (folder / "lib").exists():  # newer packages have usr/lib alone; virtme-ng looks in lib
        (folder / "lib").symlink_to("usr/lib")
    _run("depmod", "-b", str(folder), DebianKernel("", folder).release)


def _run(*command: str) -> None:
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            env={**os.environ, "PATH": f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"},
            capture_output=True,
            text=True,
            check=False,
        )
    except FileNotFoundError as error:
        raise GuestError(f"kernel: {command[0]} is not there", hint="sudo apt-get install dpkg kmod") from error
    if done.returncode:
        raise GuestError(f"kernel: {' '.join(command)}: {done.stderr.strip()}")
