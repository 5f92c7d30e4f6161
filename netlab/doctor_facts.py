"""Facts: what ``netlab doctor`` looks at, gathered once and handed on as data.

Roof. Looks and changes nothing; what the facts mean is ``netlab.doctor``'s affair.
"""

from __future__ import annotations

import importlib.util
import os
import platform
import shutil

from msgspec import Struct

from netlab.engine_choice import installed_guest
from netlab.errors import GuestError
from netlab.host_survey import HostSurvey, survey_host
from netlab.machine import inside_guest
from netlab.namespaces.guest.installed import GuestKernel, time_travel_kernel, verify_kernel
from netlab.rootless import rootless_remedy

__all__ = ["Facts", "gather_facts"]

COMMANDS = ("ip", "tc", "ping")
LIBRARIES = ("torch", "scapy", "matplotlib")


class Facts(Struct, frozen=True, kw_only=True):
    """One machine, as far as it matters to netlab.

    Attributes:
        release: ``uname -r``.
        architecture: ``uname -m``.
        is_root: Whether the user is root.
        inside: The guest kernel we are inside; None on a host.
        survey: What labs can have on this kernel.
        guest: The guest kernel for real time; None where there is none, an error where none can be had.
        guest_damage: What is wrong with its files; empty where nothing is.
        virtual_guest: The guest kernel with time travel; None where there is none, an error where it is damaged.
        fifo: Whether a relay may have real-time priority.
        rootless_remedy: What would let ordinary users have user namespaces.
        commands: Where programs are; None for those that are not there.
        libraries: Which optional libraries are there.
    """

    release: str
    architecture: str
    is_root: bool
    inside: str | None
    survey: HostSurvey
    guest: GuestKernel | GuestError | None
    guest_damage: str = ""
    virtual_guest: GuestKernel | GuestError | None
    fifo: bool
    rootless_remedy: str
    commands: dict[str, str | None]
    libraries: dict[str, bool]


def gather_facts() -> Facts:
    """Look at this machine."""
    path = f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"
    survey = survey_host()  # first of all: it forks, and what comes later may have threads
    guest = installed_guest()
    return Facts(
        release=platform.release(),
        architecture=platform.machine(),
        is_root=os.geteuid() == 0,
        inside=inside_guest(),
        survey=survey,
        guest=guest,
        guest_damage=_damage(guest),
        virtual_guest=_virtual_guest(),
        fifo=_may_be_real_time(),
        rootless_remedy=rootless_remedy(),
        commands={name: shutil.which(name, path=path) for name in COMMANDS},
        libraries={name: importlib.util.find_spec(name) is not None for name in LIBRARIES},
    )


def _damage(guest: GuestKernel | GuestError | None) -> str:
    """Return what keeps a guest kernel from being started that looks whole: its files are read here."""
    if isinstance(guest, GuestKernel):
        try:
            verify_kernel(guest)
        except GuestError as error:
            return str(error)
    return ""


def _virtual_guest() -> GuestKernel | GuestError | None:
    try:
        found = time_travel_kernel()
    except GuestError:  # said of the other one already
        return None
    damage = _damage(found)
    return GuestError(damage, hint="netlab guest build --again") if damage else found


def _may_be_real_time() -> bool:
    from netlab.namespaces.relay.priority import is_real_time_permitted

    return is_real_time_permitted()
