"""KernelProbe: what a guest kernel says of itself when it is asked, without being started as a machine.

::

    binary --version-----> its release: the proof that it runs here at all
    binary --showconfig--> its configuration: whether it has time travel

One way to ask for all: who makes a kernel, and who is about to run one by a virtual clock. Knows no cache.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

from netlab.errors import GuestError

__all__ = ["ask_kernel", "has_time_travel", "time_travel_problem"]

PROBE_TIMEOUT_S = 30.0

_NEEDED_SETTING = "CONFIG_UML_TIME_TRAVEL_SUPPORT=y"


def ask_kernel(binary: Path, option: str) -> str:
    """Return what a kernel prints for an option: the proof that it runs here at all.

    Args:
        binary: The kernel; its folder is where its interpreter is found from.
        option: For example ``--version``.

    Raises:
        GuestError: It does not.
    """
    try:
        return _ask(binary, option)
    except PermissionError as error:
        raise GuestError(
            f"guest kernel {binary}: nothing can be executed there (mounted noexec?)",
            hint="set XDG_CACHE_HOME to a folder that allows it",
        ) from error
    except (subprocess.SubprocessError, OSError) as error:
        raise GuestError(f"guest: the new kernel does not run on this machine: {error}") from error


def has_time_travel(binary: Path) -> bool:
    """Return whether a kernel can run in virtual time, by its own word.

    Raises:
        GuestError: It does not run here.
    """
    return _is_able(ask_kernel(binary, "--showconfig"))


def time_travel_problem(binary: Path) -> str:
    """Say why a kernel cannot run in virtual time, from the configuration it was built with; empty where it can.

    Args:
        binary: The kernel; its folder is where its interpreter is found from.
    """
    try:
        configuration = _ask(binary, "--showconfig")
    except (OSError, subprocess.SubprocessError) as error:
        return f"its configuration cannot be read: {getattr(error, 'strerror', None) or error}"
    return "" if _is_able(configuration) else f"it was built without {_NEEDED_SETTING}"


def _is_able(configuration: str) -> bool:
    return _NEEDED_SETTING in configuration.splitlines()


def _ask(binary: Path, option: str) -> str:
    done = subprocess.run(
        [f"./{binary.name}", option],
        cwd=binary.parent,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=PROBE_TIMEOUT_S,
        check=True,
    )
    return done.stdout.decode(errors="replace")
