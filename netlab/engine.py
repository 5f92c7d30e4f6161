"""Engine: which kernel a command runs on, and why.

Roof: composes ``namespaces`` (what this kernel can do) and ``namespaces.guest`` (a kernel of our own).

::

    choose_engine("auto") -> HostEngine   this kernel has netem and we may use it
                          `-> GuestEngine  else: the same command runs again inside a guest kernel
"""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from netlab.errors import FeatureMissing, GuestError, KernelError

if TYPE_CHECKING:
    from netlab.namespaces.guest.installed import GuestKernel

__all__ = [
    "Engine",
    "GuestEngine",
    "HostEngine",
    "choose_engine",
    "guest_kernel",
    "host_netem_problem",
    "inside_guest",
    "machine",
]

Say = Callable[[str], None]


class Engine(Protocol):
    """A kernel that a command can run on.

    Attributes:
        elsewhere: True when the command must be run again over there.
        reason: Why this one, in a sentence.
    """

    elsewhere: bool
    reason: str

    def rerun(self, arguments: Sequence[str], *, reads_stdin: bool) -> int:
        """Run ``netlab ARGUMENTS`` there, with our stdin if it reads that; return its exit status."""
        ...


class HostEngine:
    """The kernel we already run on."""

    elsewhere = False

    def __init__(self, reason: str) -> None:
        self.reason = reason

    def rerun(self, arguments: Sequence[str], *, reads_stdin: bool) -> int:
        """Never called: the command already runs where it should."""
        raise AssertionError("a command on the host's kernel is not run again")


class GuestEngine:
    """A guest kernel, in which the same command runs again."""

    elsewhere = True

    def __init__(self, kernel: GuestKernel, reason: str) -> None:
        self.kernel = kernel
        self.reason = reason

    def rerun(self, arguments: Sequence[str], *, reads_stdin: bool) -> int:
        """Run ``netlab ARGUMENTS`` in the guest; return its exit status."""
        from netlab.namespaces.guest.launcher import run_in_guest

        # Inside, choose_engine sees NETLAB_GUEST and stays where it is, so the arguments need no rewriting.
        return run_in_guest(
            [sys.executable, "-m", "netlab", *arguments], kernel=self.kernel, stdin=0 if reads_stdin else None
        )


def inside_guest() -> str | None:
    """Return the identity of the guest kernel we run in (release and SHA-256), or None on a host."""
    return os.environ.get("NETLAB_GUEST")


def choose_engine(wanted: str, say: Say) -> Engine:
    """Return the engine that was asked for, or the first that works.

    Args:
        wanted: ``host``, ``guest`` or ``auto``.
        say: Told what is chosen and why, and of downloads.

    Raises:
        FeatureMissing: Nothing here has netem; names what was tried.
        GuestError: The guest was asked for and cannot be had.
    """
    if inside_guest():
        return HostEngine(f"inside the guest kernel {platform.release()}, real netem")
    if wanted == "host":
        return HostEngine("asked for with --on host")
    if wanted == "guest":
        return GuestEngine(guest_kernel(say), "asked for with --on guest")
    problem = host_netem_problem()
    if problem is None:
        return HostEngine(f"this kernel ({platform.release()}) has netem")
    try:
        engine = GuestEngine(guest_kernel(say), problem)
    except GuestError as error:
        raise FeatureMissing(
            f"find a kernel with netem: {problem}, and there is no guest kernel: {error}",
            hint="install the distribution's full kernel with sch_netem, or: " + (error.hint or "netlab doctor"),
        ) from error
    say(f"{problem}; running in guest kernel {engine.kernel.release}")
    return engine


def host_netem_problem() -> str | None:
    """Say why labs with netem cannot run on this kernel; None when they can."""
    from netlab.namespaces.features import probe_features

    try:
        features = probe_features()
    except KernelError as error:
        return str(error)
    lacking = [name for name in ("netem", "veth", "redirect") if not getattr(features, name)]
    return f"this kernel ({platform.release()}) has no {', no '.join(lacking)}" if lacking else None


def guest_kernel(say: Say) -> GuestKernel:
    """Return the installed guest kernel, fetching it first where there is none."""
    from netlab.namespaces.guest.fetch import fetch_guest_kernel
    from netlab.namespaces.guest.installed import default_guest_kernel, guest_cache

    kernel = default_guest_kernel()
    if kernel is not None:
        return kernel
    say("fetching a guest kernel, once (about 40 MB)")
    return fetch_guest_kernel(guest_cache(), say)


def machine() -> dict[str, object]:
    """Return what a result says of the machine it was measured on."""
    cpu = ""
    for line in Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines():
        if line.startswith("model name"):
            cpu = line.partition(":")[2].strip()
            break
    return {
        "cpu": cpu or platform.processor() or platform.machine(),
        "cpus": len(os.sched_getaffinity(0)),
        "kernel": f"{platform.system()} {platform.release()}",
        "guest": inside_guest(),
        "clock": "real",
        "python": platform.python_version(),
    }
