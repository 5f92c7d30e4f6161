"""The choice of an engine: what a command's labs run on, and by which clock; once, when the command begins.

Roof: composes ``host_survey`` (what this kernel can do) and ``namespaces.guest`` (a kernel of our own).

::

    choose_engine -> HostEngine    this kernel's netem                     wiring: KernelWiring
                  |> RelayEngine   a relay process with TAPs               wiring: RelayWiring
                  `> GuestEngine   the same command again in a guest kernel, where it finds a HostEngine:
                                   in real time, or in virtual time
"""

from __future__ import annotations

import enum
import os
import platform
from collections.abc import Callable
from typing import TYPE_CHECKING

from netlab.clock_name import clock_name, in_virtual_time
from netlab.engine_request import EngineRequest
from netlab.engines import Engine, GuestEngine, HostEngine, RelayEngine
from netlab.errors import FeatureMissing, GuestError, KernelError, PrivilegeError, SpecError
from netlab.host_survey import HostSurvey, survey_host
from netlab.machine import inside_guest

if TYPE_CHECKING:
    from netlab.namespaces.guest.installed import GuestKernel

__all__ = [
    "BUILD_HINT",
    "FirstChoice",
    "choose_engine",
    "first_choice",
    "guest_kernel",
    "installed_guest",
    "no_kernel",
    "virtual_kernel",
]

Say = Callable[[str], None]

BUILD_HINT = "netlab guest build (5 minutes on two quiet cores)"
"""How a kernel for virtual time is had, and what it takes; as the README says."""


class FirstChoice(enum.Enum):
    """Where labs run that nobody has told where."""

    HOST = enum.auto()
    GUEST = enum.auto()
    FETCHED_GUEST = enum.auto()
    RELAY = enum.auto()
    NOWHERE = enum.auto()


def first_choice(found: HostSurvey, guest: GuestKernel | GuestError | None) -> FirstChoice:
    """Return where labs run: this kernel where it has netem, else a guest, else a relay.

    The only place that knows the order; ``netlab doctor`` asks it as well.

    Args:
        found: What this kernel can do.
        guest: The guest kernel; None where one is still to be fetched, an error where none can be had.
    """
    if found.problem is None:
        return FirstChoice.HOST
    if not isinstance(guest, GuestError):
        return FirstChoice.FETCHED_GUEST if guest is None else FirstChoice.GUEST
    return FirstChoice.RELAY if found.can_relay else FirstChoice.NOWHERE


def choose_engine(request: EngineRequest, say: Say, *, makes_labs: bool = True) -> Engine:
    """Return the engine that was asked for, or the first that works.

    Args:
        request: What was asked for; ``--on auto`` and nothing at all are the same.
        say: Told what is chosen and why, and of downloads.
        makes_labs: Whether the command makes labs, for which an ordinary user needs a user namespace.

    Raises:
        SpecError: The request contradicts itself.
        FeatureMissing: Nothing here can impair a link; names what was tried.
        GuestError: The guest was asked for and cannot be had.
    """
    if request.virtual_time:
        return _virtual_engine(request, makes_labs)
    if request.check:
        problem = "two runs are alike in virtual time alone"
        raise SpecError(problem, key="--check", hint="add --virtual-time, or leave it out")
    if request.engine == "relay":
        reason = f"on this kernel ({platform.release()}) through a relay, as asked"
        return RelayEngine(reason, rootless=makes_labs and _needs_user_namespace())
    if inside_guest():
        return _inside_engine(makes_labs)
    if request.engine == "host":
        reason = f"on this kernel ({platform.release()}), as asked"
        return HostEngine(reason, rootless=makes_labs and _needs_user_namespace())
    if request.engine == "guest":
        return _guest_engine(guest_kernel(say), "asked for with --on guest")
    return _first_that_works(say)


def _inside_engine(makes_labs: bool) -> HostEngine:
    reason = f"in guest kernel {platform.release()}, with real netem, in {clock_name()} time"
    return HostEngine(reason, rootless=makes_labs and _needs_user_namespace())


def _needs_user_namespace() -> bool:
    """Tell whether labs need a user namespace of ours and can have it; who may do all of it asks no further."""
    from netlab.namespaces.user_namespace import has_capabilities

    return not has_capabilities() and survey_host().rootless


def _guest_engine(kernel: GuestKernel, reason: str) -> GuestEngine:
    from netlab.guest_limits import GuestLimits

    return GuestEngine(kernel, reason, wall_limit_s=GuestLimits.of_environment().wall_s)


def _first_that_works(say: Say) -> Engine:
    found = survey_host()
    guest = installed_guest() if found.problem is not None else None
    choice = first_choice(found, guest)
    if choice is FirstChoice.FETCHED_GUEST:
        guest = _fetched(say)
        choice = first_choice(found, guest)
    if found.problem is None or choice is FirstChoice.HOST:
        how = " and user namespaces" if found.rootless else ""
        return HostEngine(f"on this kernel ({platform.release()}), which has netem{how}", rootless=found.rootless)
    if isinstance(guest, GuestError):
        if choice is FirstChoice.NOWHERE:
            raise no_kernel(found.problem, guest) from guest
        return _relay_instead(found, guest, say)
    assert guest is not None  # it has been fetched
    engine = _guest_engine(guest, str(found.problem))
    way = "; or sudo, for this kernel" if isinstance(found.problem, PrivilegeError) and os.geteuid() != 0 else ""
    words = found.problem.words or str(found.problem)
    say(f"in guest kernel {guest.release} (this kernel: {words}){way}")
    return engine


def _relay_instead(found: HostSurvey, no_guest: GuestError, say: Say) -> RelayEngine:
    words = getattr(found.problem, "words", "") or str(found.problem)
    say(f"through a relay process, the third choice (this kernel: {words}; no guest kernel: {no_guest})")
    return RelayEngine(f"on this kernel ({platform.release()}) through a relay", rootless=found.rootless)


def _virtual_engine(request: EngineRequest, makes_labs: bool) -> Engine:
    """Return the guest with virtual time; inside it, that we are there."""
    if request.engine in ("host", "relay"):
        what = "this kernel's clock" if request.engine == "host" else "a relay's timers"
        raise SpecError(
            f"{what} is real; virtual time is a guest kernel's alone",
            key=request.words,
            hint="--virtual-time without --on, or --on guest",
        )
    if in_virtual_time():
        return _inside_engine(makes_labs)
    if inside_guest():
        raise GuestError(
            "this guest runs in real time: virtual time begins with the guest",
            hint="start it with --virtual-time from outside",
        )
    from netlab.guest_limits import GuestLimits

    limits = GuestLimits.of_environment()
    return GuestEngine(virtual_kernel(), "asked for with --virtual-time", limits.virtual_clock(), limits.wall_s)


def virtual_kernel() -> GuestKernel:
    """Return the guest kernel with time travel; never one without, which would run in real time and not say so.

    Raises:
        GuestError: There is none.
    """
    from netlab.namespaces.guest.installed import time_travel_kernel

    kernel = time_travel_kernel()
    if kernel is None:
        raise GuestError("no guest kernel with time travel", hint=BUILD_HINT)
    return kernel


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


def installed_guest() -> GuestKernel | GuestError | None:
    """Return the installed guest kernel; None where there is none, an error where that cannot be told."""
    from netlab.namespaces.guest.installed import default_guest_kernel

    try:
        return default_guest_kernel()
    except GuestError as error:
        return error


def _fetched(say: Say) -> GuestKernel | GuestError:
    try:
        return guest_kernel(say)
    except GuestError as error:
        return error


def guest_kernel(say: Say) -> GuestKernel:
    """Return the installed guest kernel, fetching it first where there is none.

    Raises:
        GuestError: It cannot be had.
    """
    from netlab.namespaces.guest.fetch import fetch_guest_kernel
    from netlab.namespaces.guest.installed import default_guest_kernel, guest_cache

    kernel = default_guest_kernel()
    if kernel is not None:
        return kernel
    say("fetching a guest kernel, once (about 40 MB)")
    return fetch_guest_kernel(guest_cache(), say)
