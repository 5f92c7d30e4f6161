"""KernelSource: where a kernel's source comes from: Debian's archive, a tarball or a tree that the user names.

::

    DebianSource  package, signature checked -.
    TarballSource FILE                         }-find-> identity, unpack -> a tree -check_tree-> version
    TreeSource    FOLDER, read only           -'

The identity is known before anything is unpacked: it decides whether there is anything to build.
"""

from __future__ import annotations

import functools
import hashlib
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple, Protocol

from msgspec import Struct

from netlab.errors import FeatureMissing, GuestError
from netlab.namespaces.guest.archive import PackageFacts
from netlab.namespaces.guest.guarded_command import run_guarded
from netlab.namespaces.guest.installed import file_sha256
from netlab.namespaces.guest.machine import check_distribution, machine_mirrors, read_os_release
from netlab.namespaces.guest.manifest import PackageRecord
from netlab.namespaces.guest.private_apt import PrivateApt
from netlab.namespaces.guest.suite_search import OLDEST_SERIES, find_suite

__all__ = [
    "DebianSource",
    "FoundSource",
    "KernelSource",
    "SourceIdentity",
    "TarballSource",
    "TreeSource",
    "check_tree",
    "named_source",
]

PACKAGE = "linux-source"
# Two thirds of a tree that no guest is made of: written to disk and removed again for nothing. Kconfig reads the
# Kconfig files of all of it, so those stay, and the headers in include/ as well.
_LEFT_OUT = (
    "*/arch/[!ux]*/*.[chS]",  # neither um nor x86
    "*/arch/[!ux]*/*.dts*",
    "*/drivers/gpu/*.[ch]",
    "*/drivers/media/*.[ch]",
    "*/drivers/net/ethernet/*.[ch]",
    "*/drivers/net/wireless/*.[ch]",
    "*/drivers/scsi/*.[ch]",
    "*/sound/*.c",
    "*/Documentation/*.rst",
    "*/Documentation/*.yaml",
    "*/tools/perf/*",
    "*/tools/testing/*",
)
_UNPACKING = (("tar", "tar"), ("xz", "xz-utils"))
_SOURCE_PACKAGE = re.compile(r"\blinux-source-[0-9][0-9.]*\b")
_VERSION_LINE = re.compile(r"^(VERSION|PATCHLEVEL|SUBLEVEL|EXTRAVERSION)[ \t]*=[ \t]*(\S*)[ \t]*$", re.MULTILINE)
_MAX_MAKEFILE_BYTES = 1 << 20
_SOURCE_HINT = "name a Linux tree or tarball, 6.13 or newer, from kernel.org: netlab guest build --source PATH"

Say = Callable[[str], None]


class SourceIdentity(Struct, frozen=True, kw_only=True):
    """What a source is, before it is unpacked.

    Attributes:
        sha256: Two sources with the same one have the same content.
        packages: Where it comes from; empty for one that the user named.
        suite: The suite of the archive; empty likewise.
    """

    sha256: str
    packages: tuple[PackageRecord, ...] = ()
    suite: str = ""


class FoundSource(NamedTuple):
    """A source that can be had.

    Attributes:
        identity: What it is.
        unpack: Returns the tree, unpacked into the staging folder if need be; raises GuestError where it cannot be
            had, or is not a Linux tree.
    """

    identity: SourceIdentity
    unpack: Callable[[Path, Say], Path]


class KernelSource(Protocol):
    """A source of a kernel.

    Attributes:
        tools: Programs that unpacking takes, each with its package.
    """

    tools: tuple[tuple[str, str], ...]

    def find(self, staging: Path, say: Say) -> FoundSource:
        """Return what the source is, and how to have it.

        Raises:
            GuestError: It cannot be had.
            FeatureMissing: This machine cannot have it.
        """
        ...


class DebianSource:
    """The newest kernel source in Debian's archive, its signature checked by apt."""

    tools: tuple[tuple[str, str], ...] = _UNPACKING

    def find(self, staging: Path, say: Say) -> FoundSource:
        """Return the newest source package of the first suite that has one new enough."""
        try:
            codename = check_distribution(read_os_release())
        except GuestError as error:
            raise FeatureMissing(
                "build a guest kernel", words=f"its source comes from Debian's archive: {error}", hint=_SOURCE_HINT
            ) from error
        apt, suite, newest = find_suite(staging, machine_mirrors(codename), PACKAGE, say)
        name = _SOURCE_PACKAGE.search(newest.depends)
        package = apt.show(name[0]) if name else None
        if package is None:
            raise GuestError(f"guest: suite {suite}: {PACKAGE} leads to no package", hint=_SOURCE_HINT)
        record = PackageRecord(name=package.name, version=package.version, sha256=package.sha256)
        identity = SourceIdentity(sha256=package.sha256, packages=(record,), suite=suite)
        return FoundSource(identity, functools.partial(_unpack_package, apt, package))


class TarballSource:
    """A tarball that the user names.

    Args:
        path: Where it is.
    """

    tools: tuple[tuple[str, str], ...] = _UNPACKING

    def __init__(self, path: Path) -> None:
        self._path = path

    def find(self, staging: Path, say: Say) -> FoundSource:
        """Return it, known by the SHA-256 of the file."""
        try:
            return FoundSource(SourceIdentity(sha256=file_sha256(self._path)), self._unpack)
        except OSError as error:
            raise GuestError(f"kernel source {self._path}: {error.strerror}", hint=_SOURCE_HINT) from error

    def _unpack(self, staging: Path, say: Say) -> Path:
        say(f"unpacking {self._path.name}")
        return _unpack_tarball(self._path, staging)


class TreeSource:
    """A tree that the user names; it is read and never written to.

    Args:
        path: Where it is.
    """

    tools: tuple[tuple[str, str], ...] = ()

    def __init__(self, path: Path) -> None:
        self._path = path

    def find(self, staging: Path, say: Say) -> FoundSource:
        """Return it, known by a digest of the names, sizes and times of its files: their content is 1.5 GB."""
        check_tree(self._path)
        digest = hashlib.sha256()
        for folder, folders, files in os.walk(self._path):
            folders[:] = sorted(name for name in folders if name != ".git")
            for name in sorted(files):
                path = Path(folder) / name
                about = path.lstat()
                line = f"{path.relative_to(self._path)} {about.st_size} {about.st_mtime_ns}\n"
                digest.update(os.fsencode(line))
        return FoundSource(SourceIdentity(sha256=digest.hexdigest()), lambda staging, say: self._path)


def named_source(path: Path) -> KernelSource:
    """Return the source at a path: a tree or a tarball.

    Raises:
        GuestError: There is nothing there, or a folder that is no tree for it.
    """
    if path.is_dir():
        check_tree(path)  # here already: another build may have to be waited for
        return TreeSource(path.resolve())
    if path.is_file():
        return TarballSource(path.resolve())
    raise GuestError(f"kernel source {path}: neither a folder nor a file", hint=_SOURCE_HINT)


def check_tree(folder: Path) -> str:
    """Return the version of a Linux tree that a guest can be built from.

    Raises:
        GuestError: Not a Linux tree, without User-Mode Linux, or too old.
    """
    try:
        with (folder / "Makefile").open(encoding="utf-8", errors="replace") as file:
            text = file.read(_MAX_MAKEFILE_BYTES)
    except OSError as error:
        raise GuestError(f"kernel source {folder}: Makefile: {error.strerror}", hint=_SOURCE_HINT) from error
    part = dict(reversed(_VERSION_LINE.findall(text)))  # of several the first counts
    if not {"VERSION", "PATCHLEVEL"} <= part.keys() or not (folder / "Kconfig").is_file():
        raise GuestError(f"kernel source {folder}: not a Linux tree", hint=_SOURCE_HINT)
    version = f"{part['VERSION']}.{part['PATCHLEVEL']}.{part.get('SUBLEVEL') or 0}{part.get('EXTRAVERSION', '')}"
    if not (folder / "arch" / "um" / "Makefile").is_file():
        raise GuestError(
            f"kernel source {folder}: Linux {version} without arch/um (User-Mode Linux)", hint=_SOURCE_HINT
        )
    numbers = (part["VERSION"], part["PATCHLEVEL"])
    if not all(number.isdecimal() for number in numbers) or tuple(map(int, numbers)) < OLDEST_SERIES:
        oldest = ".".join(map(str, OLDEST_SERIES))
        raise GuestError(
            f"kernel source {folder}: Linux {version}; guests need {oldest} or newer (CPUs with AVX-512)",
            hint=_SOURCE_HINT,
        )
    return version


def _unpack_package(apt: PrivateApt, package: PackageFacts, staging: Path, say: Say) -> Path:
    """Fetch a source package and unpack the tarball that is in it."""
    say(f"fetching {package.name} {package.version} ({package.size_bytes / 1e6:.0f} MB)")
    file = apt.download(package)
    say("unpacking the source")
    folder = staging / "package"
    _run(["dpkg-deb", "-x", str(file), str(folder)], staging, file.name)
    file.unlink()
    tarballs = list(folder.glob("usr/src/linux-source-*.tar.*"))
    if len(tarballs) != 1:
        raise GuestError(f"guest: {file.name}: {len(tarballs)} source tarballs; one is due", hint=_SOURCE_HINT)
    tree = _unpack_tarball(tarballs[0], staging)
    tarballs[0].unlink()
    return tree


def _unpack_tarball(path: Path, staging: Path) -> Path:
    folder = staging / "source"
    folder.mkdir()
    # One level is left out (linux-7.2/); tar itself refuses names that lead out of the folder.
    options = ["-C", str(folder), "--strip-components=1", "--no-same-owner"]
    options += [f"--exclude={pattern}" for pattern in _LEFT_OUT]
    _run(["tar", *options, "-xf", str(path)], staging, path.name)
    return folder


def _run(argv: list[str], cwd: Path, what: str) -> None:
    lines: list[str] = []
    status = run_guarded(argv, cwd=cwd, environment={**os.environ, "LC_ALL": "C"}, on_line=lines.append)
    if status == 0:
        return
    full = next((line for line in lines if "No space left" in line), "")
    hint = "make room there, or set XDG_CACHE_HOME to a folder with more" if full else _SOURCE_HINT
    raise GuestError(
        f"guest: {what} cannot be unpacked: {full or next(iter(lines), f'status {status}')}", hint=hint
    )
