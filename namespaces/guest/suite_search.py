"""find_suite: the first suite of Debian's archive that has a package with a kernel new enough for a guest."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from netlab.errors import GuestUnavailable
from netlab.namespaces.guest.archive import Mirror, PackageFacts, kernel_series
from netlab.namespaces.guest.private_apt import PrivateApt

__all__ = ["OLDEST_SERIES", "SUITES", "find_suite"]

SUITES = ("forky", "testing", "unstable")
"""Suites to look in, in this order: the first whose kernel runs on every x86-64 CPU."""

OLDEST_SERIES = (6, 13)
"""Before it, a guest dies on CPUs with AVX-512."""

Say = Callable[[str], None]


def find_suite(
    folder: Path, mirrors: list[Mirror], name: str, progress: Say
) -> tuple[PrivateApt, str, PackageFacts]:
    """Return the first suite whose package has a kernel that is new enough, ready to fetch from.

    Args:
        folder: Where apt keeps its lists.
        mirrors: Where to look, likeliest first.
        name: Of the package; its version begins with the kernel's.
        progress: Told which lists are read.

    Raises:
        GuestUnavailable: There is none (names each suite with what it has), or no network.
        GuestError: apt failed for another reason.
    """
    reasons = []
    for suite in SUITES:
        progress(f"reading the package lists of Debian {suite}")
        for number, mirror in enumerate(mirrors):
            apt = PrivateApt(folder / f"apt-{suite}-{number}", mirror, suite)
            if not apt.update():
                reasons.append(f"{suite}: not on {mirror.uri}")
                continue
            package = apt.show(name)
            if package is not None and kernel_series(package.version) >= OLDEST_SERIES:
                return apt, suite, package
            reasons.append(f"{suite}: {'none' if package is None else package.version}")
            break
    oldest = ".".join(map(str, OLDEST_SERIES))
    raise GuestUnavailable(
        f"guest: no {name} {oldest} or newer in Debian's archive ({'; '.join(reasons)})",
        hint="use a mirror that carries all of Debian's suites",
    )
