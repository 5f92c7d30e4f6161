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
from collections.abc import Callable
from typing import TYPE_CHECKING

from netlab.clock_name import clock_name, in_virtual_time
from netlab.engines import LAB_KEY_VARIABLE, Engine, GuestEngine, HostEngine, RelayEngine, lab_key
from netlab.errors import FeatureMissing, GuestError, KernelError, PrivilegeError, SpecError
from netlab.host_survey import HostSurvey, host_netem_problem, host_problem, survey_host
from netlab.machine import inside_guest

if TYPE_CHECKING:
    from netlab.namespaces.guest.installed import GuestKernel

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

Say = Callable[[str], None]


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
        reason = f"on this kernel ({platform.release()}) through a relay, as asked"
        return RelayEngine(reason, rootless=makes_labs and _needs_user_namespace())
    if inside_guest():
        return _inside_engine(makes_labs)
    if wanted == "host":
        reason = f"on this kernel ({platform.release()}), as asked"
        return HostEngine(reason, rootless=makes_labs and _needs_user_namespace())
    if wanted == "guest":
        return GuestEngine(guest_kernel(say), "asked for with --on guest")
    return _first_that_works(say)


def _inside_engine(makes_labs: bool) -> HostEngine:
    reason = f"in guest kernel {platform.release()}, with real netem, in {clock_name()} time"
    return HostEngine(reason, rootless=makes_labs and _needs_user_namespace())


def _needs_user_namespace() -> bool:
    """Tell whether labs need a user namespace of ours and can have it; who may do all of it asks no further."""
    from netlab.namespaces.user_namespace import has_capabilities

    return not has_capabilities() and survey_host().rootless


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


def virtual_engine(wanted: str, *, makes_labs: bool = True) -> Engine:
    """Return the guest with virtual time that ``--virtual-time`` asks for; inside it, that we are there.

    Args:
        wanted: What ``--on`` said; empty where it said nothing.
        makes_labs: Whether the command makes labs.

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
        return _inside_engine(makes_labs)
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
