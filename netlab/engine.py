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

from netlab.errors import FeatureMissing, GuestError, KernelError, PrivilegeError

if TYPE_CHECKING:
    from netlab.namespaces.guest.installed import GuestKernel
    from netlab.wire.key import Key

__all__ = [
    "LAB_KEY_VARIABLE",
    "Engine",
    "GuestEngine",
    "HostEngine",
    "choose_engine",
    "guest_kernel",
    "host_netem_problem",
    "host_problem",
    "inside_guest",
    "lab_key",
    "machine",
    "no_kernel",
]

LAB_KEY_VARIABLE = "NETLAB_LAB_KEY"
"""Names a file, never a key: inside a guest, the file with the key that the host has made for this run's labs."""

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
        # The key is made here: a kernel that has just started has gathered little chance of its own.
        return run_in_guest(
            [sys.executable, "-P", "-m", "netlab", *arguments],
            kernel=self.kernel,
            stdin=0 if reads_stdin else None,
            private_files={LAB_KEY_VARIABLE: lab_key().reveal()},
        )


def inside_guest() -> str | None:
    """Return the identity of the guest kernel we run in (release and SHA-256), or None on a host."""
    return os.environ.get("NETLAB_GUEST")


def lab_key() -> Key:
    """Return the key of this run's labs: the one the launcher of this guest has made, else a new one.

    Raises:
        AuthError: The file that ``NETLAB_LAB_KEY`` names holds no key, or others can read it.
    """
    from netlab.wire.key import Key

    path = os.environ.get(LAB_KEY_VARIABLE)
    return Key.read(path) if path else Key.new()


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
        return HostEngine(f"in guest kernel {platform.release()}, with real netem")
    if wanted == "host":
        return HostEngine(f"on this kernel ({platform.release()}), as asked")
    if wanted == "guest":
        return GuestEngine(guest_kernel(say), "asked for with --on guest")
    problem = host_problem()
    if problem is None:
        return HostEngine(f"on this kernel ({platform.release()}), which has netem")
    try:
        engine = GuestEngine(guest_kernel(say), str(problem))
    except GuestError as error:
        raise no_kernel(problem, error) from error
    way = "; or sudo, for this kernel" if isinstance(problem, PrivilegeError) and os.geteuid() != 0 else ""
    words = problem.words or str(problem)
    say(f"in guest kernel {engine.kernel.release} (this kernel: {words}){way}")
    return engine


def no_kernel(problem: KernelError, no_guest: GuestError) -> FeatureMissing:
    """Return the error for a machine on which labs can run nowhere.

    Args:
        problem: Why not on its own kernel.
        no_guest: Why not in a guest.
    """
    # What would mend this kernel first: for an ordinary user that is sudo, whatever else is missing.
    remedies = [hint for hint in (problem.hint, no_guest.hint) if hint]
    return FeatureMissing(
        f"find a kernel with netem: {problem}; and there is no guest kernel: {no_guest}",
        hint="; or else: ".join(remedies) or "netlab doctor",
    )


def host_netem_problem() -> str | None:
    """Say why labs with netem cannot run on this kernel; None when they can."""
    problem = host_problem()
    return None if problem is None else str(problem)


def host_problem() -> KernelError | None:
    """Return why labs with netem cannot run on this kernel, with what would mend that; None when they can."""
    from netlab.namespaces.features import probe_features, require_netem

    try:
        require_netem(probe_features())
    except PrivilegeError as error:
        return PrivilegeError("run labs on this kernel", error.errno, f"no rights to {error.attempt}", error.hint)
    except KernelError as error:
        return error
    return None


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
