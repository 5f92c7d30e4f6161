"""Toolchain: the programs that building a kernel takes, and what to install where they are missing."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Iterable

from netlab.errors import FeatureMissing

__all__ = ["BUILD_TOOLS", "check_toolchain", "missing_packages"]

BUILD_TOOLS = {
    "gcc": "gcc",
    "ld": "binutils",
    "make": "make",
    "flex": "flex",
    "bison": "bison",
    "bc": "bc",
}
"""Programs that every build calls, each with the Debian package it is in."""

_C_LIBRARY_PACKAGE = "libc6-dev"
_PROBE_TIMEOUT_S = 30.0
_PROBE = b"#include <stdlib.h>\n#include <sys/ptrace.h>\nint main(void) { return EXIT_SUCCESS; }\n"


def check_toolchain(more: Iterable[tuple[str, str]] = ()) -> None:
    """Make sure that a kernel can be compiled here.

    Args:
        more: Programs needed beside ``BUILD_TOOLS``, each with its package.

    Raises:
        FeatureMissing: Names the programs that are missing and the command that installs them.
    """
    needed = {**BUILD_TOOLS, **dict(more)}
    programs, packages = missing_packages(needed, lambda name: shutil.which(name) is not None)
    if "gcc" not in programs and not _can_compile():
        programs.append("the C library's header files")
        packages.append(_C_LIBRARY_PACKAGE)
    if programs:
        raise FeatureMissing(
            "build a guest kernel",
            words=f"{', '.join(programs)} {'is' if len(programs) == 1 else 'are'} not there",
            hint=f"apt-get install {' '.join(packages)}",
        )


def missing_packages(needed: dict[str, str], is_there: Callable[[str], bool]) -> tuple[list[str], list[str]]:
    """Return the programs that are not there, and the packages they are in.

    Args:
        needed: Packages by program.
        is_there: Whether a program is.
    """
    programs = [name for name in needed if not is_there(name)]
    return programs, list(dict.fromkeys(needed[name] for name in programs))


def _can_compile() -> bool:
    try:
        result = subprocess.run(
            ["gcc", "-fsyntax-only", "-x", "c", "-"],
            input=_PROBE,
            capture_output=True,
            timeout=_PROBE_TIMEOUT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return result.returncode == 0
