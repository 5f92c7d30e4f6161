"""Facts: what ``netlab doctor`` looks at, gathered once and handed on as data.

Roof. Looks and changes nothing; what the facts mean is ``netlab.doctor``'s affair.
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
import platform
import shutil

from msgspec import Struct

from netlab.errors import GuestError
from netlab.host_survey import HostSurvey, survey_host
from netlab.machine import inside_guest
from netlab.namespaces.guest.installed import GuestKernel, default_guest_kernel, time_travel_kernel
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
        guest: The guest kernel for real time; None where there is none, an error where it cannot be told.
        virtual_guest: The guest kernel with time travel; None where there is none.
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
    virtual_guest: GuestKernel | None
    fifo: bool
    rootless_remedy: str
    commands: dict[str, str | None]
    libraries: dict[str, bool]


def gather_facts() -> Facts:
    """Look at this machine."""
    path = f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"
    survey = survey_host()  # first of all: it forks, and what comes later may have threads
    return Facts(
        release=platform.release(),
        architecture=platform.machine(),
        is_root=os.geteuid() == 0,
        inside=inside_guest(),
        survey=survey,
        guest=_guest(),
        virtual_guest=_virtual_guest(),
        fifo=_may_be_real_time(),
        rootless_remedy=rootless_remedy(),
        commands={name: shutil.which(name, path=path) for name in COMMANDS},
        libraries={name: importlib.util.find_spec(name) is not None for name in LIBRARIES},
    )


def _guest() -> GuestKernel | GuestError | None:
    try:
        return default_guest_kernel()
    except GuestError as error:
        return error


def _virtual_guest() -> GuestKernel | None:
    with contextlib.suppress(GuestError):  # said of the other one already
        return time_travel_kernel()
    return None


def _may_be_real_time() -> bool:
    from netlab.namespaces.relay.priority import is_real_time_permitted

    return is_real_time_permitted()
