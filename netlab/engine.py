"""Engine: what a command's labs run on, and by which clock; chosen once, when the command begins.

Roof: composes ``host_survey`` (what this kernel can do) and ``namespaces.guest`` (a kernel of our own).

::

    choose_engine -> HostEngine    this kernel's netem                     wiring: KernelWiring
                  |> RelayEngine   a relay process with TAPs               wiring: RelayWiring
                  `> GuestEngine   the same command again in a guest kernel, where it finds a HostEngine:
                                   in real time, or in virtual time
"""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, ClassVar, Literal

from netlab.clock_name import REAL, VIRTUAL, clock_name, in_virtual_time
from netlab.errors import FeatureMissing, GuestError, KernelError, PrivilegeError, SpecError
from netlab.host_survey import HostSurvey, host_netem_problem, host_problem, survey_host
from netlab.machine import ENGINE_VARIABLE, inside_guest

if TYPE_CHECKING:
    from netlab.namespaces.guest.guest_clock import GuestClock
    from netlab.namespaces.guest.installed import GuestKernel
    from netlab.namespaces.wire import Wiring
    from netlab.wire.key import Key

__all__ = [
    "LAB_KEY_VARIABLE",
    "Engine",
    "GuestEngine",
    "HostEngine",
    "RelayEngine",
    "choose_engine",
    "guest_kernel",
    "host_netem_problem",
    "host_problem",
    "inside_guest",
    "lab_key",
    "no_kernel",
    "virtual_engine",
]

LAB_KEY_VARIABLE = "NETLAB_LAB_KEY"
"""Names a file, never a key: inside a guest, the file with the key that the host has made for this run's labs."""

Say = Callable[[str], None]


class HostEngine:
    """The netem of the kernel we run on: the machine's own, or the guest's once we are inside.

    Args:
        reason: Where labs run, in words that follow "labs run".
        rootless: Whether labs need a user namespace of ours.
    """

    elsewhere: Literal[False] = False

    def __init__(self, reason: str, *, rootless: bool = False) -> None:
        self.reason = reason
        self.name = "guest" if inside_guest() else "host"
        self.clock = clock_name()
        self.rootless = rootless

    @property
    def wiring(self) -> Wiring:
        """What carries the packets of labs."""
        from netlab.namespaces.kernel_wire import KernelWiring

        return KernelWiring()

    def begin(self) -> None:
        """Make this process ready for labs; once, before anything heavy is imported.

        Raises:
            PrivilegeError: They need a user namespace, and the system does not let us have it.
        """
        os.environ.pop(ENGINE_VARIABLE, None)
        _begin(self.rootless)


class RelayEngine:
    """A relay process on the kernel we run on: labs without netem.

    Args:
        reason: Where labs run, in words that follow "labs run".
        rootless: Whether labs need a user namespace of ours.
    """

    elsewhere: Literal[False] = False
    name: ClassVar[str] = "relay"

    def __init__(self, reason: str, *, rootless: bool = False) -> None:
        self.reason = reason
        self.clock = clock_name()
        self.rootless = rootless

    @property
    def wiring(self) -> Wiring:
        """What carries the packets of labs."""
        from netlab.namespaces.relay.wiring import RelayWiring

        return RelayWiring()

    def begin(self) -> None:
        """Make this process ready for labs; its programs learn by what their packets travel.

        Raises:
            PrivilegeError: They need a user namespace, and the system does not let us have it.
        """
        os.environ[ENGINE_VARIABLE] = self.name
        _begin(self.rootless)


class GuestEngine:
    """A guest kernel, in which the same command runs again.

    Args:
        kernel: The kernel.
        reason: Why it.
        clock: What the guest's time is; the machine's unless given.
    """

    elsewhere: Literal[True] = True
    name: ClassVar[str] = "guest"

    def __init__(self, kernel: GuestKernel, reason: str, clock: GuestClock | None = None) -> None:
        self.kernel = kernel
        self.reason = reason
        self.clock = REAL if clock is None else VIRTUAL
        self._guest_clock = clock

    def rerun(self, arguments: Sequence[str], *, stdin: int | None = None, stdout: int = 1) -> int:
        """Run ``netlab ARGUMENTS`` in the guest; return its exit status.

        Args:
            arguments: As they were given to us: inside, ``choose_engine`` sees where it is and stays there.
            stdin: Descriptor its input comes from; None for none.
            stdout: Descriptor its output goes to.

        Raises:
            GuestError: The guest cannot be started, or has died.
        """
        from netlab.namespaces.guest.guest_clock import RealClock
        from netlab.namespaces.guest.launcher import run_in_guest

        # The key is made here: a kernel that has just started has gathered little chance of its own.
        return run_in_guest(
            [sys.executable, "-P", "-m", "netlab", *arguments],
            kernel=self.kernel,
            clock=self._guest_clock or RealClock(),
            stdin=stdin,
            stdout=stdout,
            private_files={LAB_KEY_VARIABLE: lab_key().reveal()},
        )


Engine = HostEngine | RelayEngine | GuestEngine


def lab_key() -> Key:
    """Return the key of this run's labs: the one the launcher of this guest has made, else a new one.

    Raises:
        AuthError: The file that ``NETLAB_LAB_KEY`` names holds no key, or others can read it.
    """
    from netlab.wire.key import Key

    path = os.environ.get(LAB_KEY_VARIABLE)
    return Key.read(path) if path else Key.new()


def choose_engine(wanted: str, say: Say, *, makes_labs: bool = True) -> Engine:
    """Return the engine that was asked for, or the first that works.

    Args:
        wanted: ``host``, ``relay``, ``guest`` or ``auto``.
        say: Told what is chosen and why, and of downloads.
        makes_labs: Whether the command makes labs, for which an ordinary user needs a user namespace.

    Raises:
        FeatureMissing: Nothing here can impair a link; names what was tried.
        GuestError: The guest was asked for and cannot be had.
    """
    if wanted == "relay":
        rootless = makes_labs and survey_host().rootless
        return RelayEngine(f"on this kernel ({platform.release()}) through a relay, as asked", rootless=rootless)
    if inside_guest():
        time = "virtual time" if in_virtual_time() else "real time"
        return HostEngine(f"in guest kernel {platform.release()}, with real netem, in {time}")
    if wanted == "host":
        rootless = makes_labs and survey_host().rootless
        return HostEngine(f"on this kernel ({platform.release()}), as asked", rootless=rootless)
    if wanted == "guest":
        return GuestEngine(guest_kernel(say), "asked for with --on guest")
    return _first_that_works(say)


def _first_that_works(say: Say) -> Engine:
    """Return this kernel if it has netem, else a guest, else a relay."""
    found = survey_host()
    if found.problem is None:
        how = " and user namespaces" if found.rootless else ""
        return HostEngine(f"on this kernel ({platform.release()}), which has netem{how}", rootless=found.rootless)
    try:
        engine = GuestEngine(guest_kernel(say), str(found.problem))
    except GuestError as error:
        if not found.can_relay:
            raise no_kernel(found.problem, error) from error
        return _relay_instead(found, error, say)
    way = "; or sudo, for this kernel" if isinstance(found.problem, PrivilegeError) and os.geteuid() != 0 else ""
    words = found.problem.words or str(found.problem)
    say(f"in guest kernel {engine.kernel.release} (this kernel: {words}){way}")
    return engine


def _relay_instead(found: HostSurvey, no_guest: GuestError, say: Say) -> RelayEngine:
    words = getattr(found.problem, "words", "") or str(found.problem)
    say(f"through a relay process, the third choice (this kernel: {words}; no guest kernel: {no_guest})")
    return RelayEngine(f"on this kernel ({platform.release()}) through a relay", rootless=found.rootless)


def virtual_engine(wanted: str) -> Engine:
    """Return the guest with virtual time that ``--virtual-time`` asks for; inside it, that we are there.

    Args:
        wanted: What ``--on`` said; empty where it said nothing.

    Raises:
        SpecError: Virtual time was asked of what has none.
        GuestError: There is no kernel with time travel.
    """
    if wanted in ("host", "relay"):
        what = "this kernel's clock" if wanted == "host" else "a relay's timers"
        raise SpecError(
            f"{what} is real; virtual time is a guest kernel's alone",
            key=f"--on {wanted} --virtual-time",
            hint="--virtual-time without --on, or --on guest",
        )
    if in_virtual_time():
        return HostEngine(f"in guest kernel {platform.release()}, with real netem, in virtual time")
    if inside_guest():
        raise GuestError(
            "this guest runs in real time: virtual time begins with the guest",
            hint="start it with --virtual-time from outside",
        )
    from netlab.namespaces.guest.guest_clock import VirtualClock
    from netlab.namespaces.guest.installed import time_travel_kernel

    kernel = time_travel_kernel()
    if kernel is None:
        # Never a kernel without it: that would run in real time and not say so.
        raise GuestError("no guest kernel with time travel", hint="netlab guest build (about 5 minutes)")
    return GuestEngine(kernel, "asked for with --virtual-time", VirtualClock())


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


def guest_kernel(say: Say) -> GuestKernel:
    """Return the installed guest kernel, fetching it first where there is none."""
    from netlab.namespaces.guest.fetch import fetch_guest_kernel
    from netlab.namespaces.guest.installed import default_guest_kernel, guest_cache

    kernel = default_guest_kernel()
    if kernel is not None:
        return kernel
    say("fetching a guest kernel, once (about 40 MB)")
    return fetch_guest_kernel(guest_cache(), say)


def _begin(rootless: bool) -> None:
    if rootless:
        from netlab.rootless import begin_rootless

        begin_rootless()
