"""Doctor: what this machine can do for netlab, what it cannot, and what would mend it.

Roof. Each check looks at one thing and says one line; nothing here changes the machine.
"""

from __future__ import annotations

import importlib.util
import os
import platform
import shutil
import sys
from typing import Literal

from msgspec import Struct

import netlab
from netlab.engine import inside_guest
from netlab.errors import GuestError, KernelError
from netlab.namespaces.features import KernelFeatures, probe_features
from netlab.namespaces.guest.installed import default_guest_kernel

__all__ = ["Finding", "examine"]


class Finding(Struct, frozen=True, kw_only=True):
    """One line of the doctor.

    Attributes:
        about: What was looked at.
        verdict: ``ok``, ``missing`` (something netlab can use) or ``note``.
        text: What was found.
        remedy: What would mend it; empty where nothing needs to be.
    """

    about: str
    verdict: Literal["ok", "missing", "note"]
    text: str
    remedy: str = ""


def examine() -> list[Finding]:
    """Look at everything netlab depends on."""
    features = _features()
    guest = _guest()
    return [
        Finding(about="netlab", verdict="ok", text=f"{netlab.__version__}, Python {platform.python_version()}"),
        _privilege(),
        *_kernel(features),
        guest,
        _engine(features, guest),
        *_commands(),
        *_extras(),
    ]


def _features() -> KernelFeatures | KernelError:
    try:
        return probe_features()
    except KernelError as error:
        return error


def _privilege() -> Finding:
    if os.geteuid() == 0:
        return Finding(about="rights", verdict="ok", text="root" + (" (of a guest)" if inside_guest() else ""))
    return Finding(
        about="rights",
        verdict="note",
        text="an ordinary user: labs on this kernel need root, the guest does not",
        remedy="sudo netlab ..., or --on guest",
    )


def _kernel(features: KernelFeatures | KernelError) -> list[Finding]:
    release = platform.release()
    if isinstance(features, KernelError):
        return [
            Finding(about="this kernel", verdict="missing", text=f"{release}: {features}", remedy=features.hint)
        ]
    needs = {
        "netem": "sch_netem: impaired links",
        "veth": "veth: any link at all",
        "redirect": "sch_ingress, cls_u32, act_mirred: the wire between two hosts",
    }
    if features.netem:
        needs["seed"] = "netem seeds (Linux 6.6): the same losses again"
    findings = []
    for feature, meaning in needs.items():
        there = getattr(features, feature)
        findings.append(
            Finding(
                about=f"this kernel: {feature}",
                verdict="ok" if there else "missing",
                text=f"{release}: {meaning}",
                remedy="" if there else _kernel_remedy(feature),
            )
        )
    return findings


def _kernel_remedy(feature: str) -> str:
    if feature == "netem":
        return "modprobe sch_netem (package linux-modules-extra on Ubuntu), or --on guest"
    if feature == "seed":
        return "a kernel from 6.6 on, or --on guest"
    return "the full kernel of the distribution, or --on guest"


def _guest() -> Finding:
    if inside_guest():
        return Finding(about="guest kernel", verdict="ok", text=f"we are inside one: {inside_guest()}")
    if platform.machine() != "x86_64":
        return Finding(
            about="guest kernel", verdict="note", text=f"for x86-64 alone, this is {platform.machine()}"
        )
    try:
        kernel = default_guest_kernel()
    except GuestError as error:
        return Finding(about="guest kernel", verdict="missing", text=str(error), remedy=error.hint)
    if kernel is None:
        return Finding(
            about="guest kernel", verdict="missing", text="none in the cache yet", remedy="netlab guest fetch"
        )
    clock = "real and virtual time" if kernel.time_travel else "real time"
    return Finding(about="guest kernel", verdict="ok", text=f"{kernel.release}, {clock}")


def _engine(features: KernelFeatures | KernelError, guest: Finding) -> Finding:
    """Say what a command that needs netem would do here."""
    if not isinstance(features, KernelError) and features.netem and features.veth and features.redirect:
        return Finding(about="labs run", verdict="ok", text="on this kernel")
    if guest.verdict == "ok":
        return Finding(about="labs run", verdict="ok", text="in the guest kernel")
    if guest.verdict == "missing":
        return Finding(about="labs run", verdict="note", text="in the guest kernel, once it has been fetched")
    return Finding(
        about="labs run",
        verdict="missing",
        text="nowhere: no netem here, and no guest for this machine",
        remedy="install a kernel with sch_netem",
    )


def _commands() -> list[Finding]:
    """Look for the programs that only comparisons and examples call."""
    findings = []
    for command, package, use in (
        ("ip", "iproute2", "netlab bench compares with it"),
        ("tc", "iproute2", "netlab bench compares with it"),
        ("ping", "iputils-ping", "the examples use it"),
    ):
        found = shutil.which(command, path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")
        findings.append(
            Finding(
                about=f"command {command}",
                verdict="ok" if found else "note",
                text=found or f"not there; {use}, netlab itself does not need it",
                remedy="" if found else f"apt-get install {package}",
            )
        )
    return findings


def _extras() -> list[Finding]:
    findings = []
    for library, extra, use in (
        ("torch", "rl", "training"),
        ("scapy", "capture", "captures"),
        ("matplotlib", "plot", "plots"),
    ):
        there = importlib.util.find_spec(library) is not None
        findings.append(
            Finding(
                about=f"extra [{extra}]",
                verdict="ok" if there else "note",
                text=f"{library} is {'there' if there else 'not installed'}: {use}",
                remedy="" if there else f"{sys.executable} -m pip install 'netlab-rl[{extra}]'",
            )
        )
    return findings
