"""Doctor: what this machine can do for netlab, what it cannot, and what would be gained by what.

Roof. Judges the facts that ``doctor_facts`` has gathered, and nothing else: a test hands it other machines.

::

    gather_facts --> Facts --examine--> Finding: about, verdict, text -> remedy
"""

from __future__ import annotations

import platform
from typing import Literal

from msgspec import Struct

import netlab
from netlab.doctor_facts import Facts
from netlab.engine_choice import BUILD_HINT, FirstChoice, first_choice
from netlab.errors import GuestError, GuestUnavailable
from netlab.install_hint import install_hint
from netlab.namespaces.features import KernelFeatures
from netlab.namespaces.guest.installed import GuestKernel

__all__ = ["Finding", "examine"]

_NEEDS = {
    "netem": "sch_netem: impaired links",
    "veth": "veth: any link at all",
    "redirect": "sch_ingress, cls_u32, act_mirred: the wire between two hosts",
}
_GUESTS_ARE_FOR = "x86_64"
_SEED = "netem seeds (Linux 6.6): the same losses again"
_COMMAND_USES = {
    "ip": ("iproute2", "netlab bench compares with it"),
    "tc": ("iproute2", "netlab bench compares with it"),
    "ping": ("iputils-ping", "the examples use it"),
}
_LIBRARY_USES = {
    "torch": ("rl", "training"),
    "scapy": ("capture", "captures"),
    "matplotlib": ("plot", "plots"),
}


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


def examine(facts: Facts) -> list[Finding]:
    """Judge everything netlab depends on."""
    return [
        Finding(about="netlab", verdict="ok", text=f"{netlab.__version__}, Python {platform.python_version()}"),
        _rights(facts),
        *_kernel(facts),
        _guest(facts),
        _virtual_time(facts),
        _relay(facts),
        _where_labs_run(facts),
        *_commands(facts),
        *_libraries(facts),
    ]


def _rights(facts: Facts) -> Finding:
    if facts.is_root:
        return Finding(about="rights", verdict="ok", text="root" + (" (of a guest)" if facts.inside else ""))
    if facts.survey.features is not None:
        how = "in a user namespace of their own" if facts.survey.rootless else "with the rights there are"
        return Finding(about="rights", verdict="ok", text=f"an ordinary user: labs run {how}")
    return Finding(
        about="rights",
        verdict="note",
        text="an ordinary user, who may have no user namespace: labs on this kernel need root, the guest does not",
        remedy=f"sudo netlab ..., or {facts.rootless_remedy}, or --on guest",
    )


def _kernel(facts: Facts) -> list[Finding]:
    features = facts.survey.features
    if features is None:
        problem = facts.survey.problem
        text, remedy = (str(problem), problem.hint) if problem is not None else ("cannot be told", "")
        return [Finding(about="this kernel", verdict="missing", text=f"{facts.release}: {text}", remedy=remedy)]
    needs = {**_NEEDS, "seed": _SEED} if features.netem else _NEEDS
    return [_feature(facts.release, features, name, meaning) for name, meaning in needs.items()]


def _feature(release: str, features: KernelFeatures, name: str, meaning: str) -> Finding:
    there = bool(getattr(features, name))
    return Finding(
        about=f"this kernel: {name}",
        verdict="ok" if there else "missing",
        text=f"{release}: {meaning}",
        remedy="" if there else _kernel_remedy(name),
    )


def _kernel_remedy(feature: str) -> str:
    if feature == "netem":
        return "modprobe sch_netem (package linux-modules-extra on Ubuntu), or --on guest, or --on relay"
    if feature == "seed":
        return "a kernel from 6.6 on, or --on guest"
    return "the full kernel of the distribution, or --on guest"


def _guest(facts: Facts) -> Finding:
    about = "guest kernel"
    if facts.inside:
        return Finding(about=about, verdict="ok", text=f"we are inside one: {facts.inside}")
    if facts.architecture != _GUESTS_ARE_FOR:
        return Finding(about=about, verdict="note", text=f"for x86-64 alone, this is {facts.architecture}")
    if isinstance(facts.guest, GuestError):
        return Finding(about=about, verdict="missing", text=str(facts.guest), remedy=facts.guest.hint)
    if facts.guest is None:
        gain = "none in the cache yet; it has netem and needs no rights"
        return Finding(about=about, verdict="missing", text=gain, remedy="netlab guest fetch")
    if facts.guest_damage:
        remedy = f"netlab guest {'build' if facts.guest.time_travel else 'fetch'} --again"
        return Finding(about=about, verdict="missing", text=facts.guest_damage, remedy=remedy)
    return Finding(about=about, verdict="ok", text=f"{facts.guest.release}, {_time(facts.guest.time_travel)}")


def _virtual_time(facts: Facts) -> Finding:
    about = "virtual time"
    if facts.inside or facts.architecture != _GUESTS_ARE_FOR:
        where = "chosen from outside the guest" if facts.inside else "for x86-64 alone"
        return Finding(about=about, verdict="note", text=where)
    if facts.virtual_guest is None:
        gain = "no guest kernel with time travel: runs that repeat exactly, many times faster than real time"
        return Finding(about=about, verdict="note", text=gain, remedy=BUILD_HINT)
    if isinstance(facts.virtual_guest, GuestError):
        damage = facts.virtual_guest
        return Finding(about=about, verdict="missing", text=str(damage), remedy=damage.hint)
    return Finding(
        about=about, verdict="ok", text=f"--virtual-time, on guest kernel {facts.virtual_guest.release}"
    )


def _relay(facts: Facts) -> Finding:
    about = "relay"
    if facts.survey.features is None or not facts.survey.can_relay:
        text = "/dev/net/tun cannot be opened: --on relay needs it, for links without netem"
        remedy = "modprobe tun; in a container --device /dev/net/tun; for ordinary users chmod 666 /dev/net/tun"
        return Finding(about=about, verdict="note", text=text, remedy=remedy)
    if facts.fifo:
        return Finding(about=about, verdict="ok", text="--on relay, with real-time priority")
    return Finding(
        about=about,
        verdict="note",
        text="--on relay, without real-time priority: packets are late when the machine is busy",
        remedy="run as root, or set an rtprio limit for this user (ulimit -r)",
    )


def _where_labs_run(facts: Facts) -> Finding:
    """Say what a command that makes labs would do here."""
    about = "labs run"
    match first_choice(facts.survey, _guest_to_be_had(facts)):
        case FirstChoice.HOST:
            how = ", in a user namespace" if facts.survey.rootless else ""
            return Finding(about=about, verdict="ok", text=f"on this kernel{how}")
        case FirstChoice.GUEST if facts.guest_damage:
            guest = _guest(facts)
            text = "nowhere unless told where: the guest kernel, which goes first, is damaged"
            return Finding(about=about, verdict="missing", text=text, remedy=guest.remedy)
        case FirstChoice.GUEST:
            return Finding(about=about, verdict="ok", text="in the guest kernel")
        case FirstChoice.FETCHED_GUEST:
            return Finding(about=about, verdict="note", text="in the guest kernel, once it has been fetched")
        case FirstChoice.RELAY:
            return Finding(about=about, verdict="note", text="through a relay: there is neither netem nor a guest")
    return Finding(
        about=about,
        verdict="missing",
        text="nowhere: no netem here, no guest for this machine, no /dev/net/tun for a relay",
        remedy="install a kernel with sch_netem",
    )


def _guest_to_be_had(facts: Facts) -> GuestKernel | GuestError | None:
    """Return the guest kernel; where there is none, why a fetch would end as it must."""
    if facts.guest is None and facts.architecture != _GUESTS_ARE_FOR:
        return GuestUnavailable(f"guest kernels are for {_GUESTS_ARE_FOR} alone, this is {facts.architecture}")
    return facts.guest


def _time(time_travel: bool) -> str:
    return "real and virtual time" if time_travel else "real time"


def _commands(facts: Facts) -> list[Finding]:
    """Look for the programs that only comparisons and examples call."""
    findings = []
    for command, found in facts.commands.items():
        package, use = _COMMAND_USES[command]
        findings.append(
            Finding(
                about=f"command {command}",
                verdict="ok" if found else "note",
                text=found or f"not there; {use}, netlab itself does not need it",
                remedy="" if found else f"apt-get install {package}",
            )
        )
    return findings


def _libraries(facts: Facts) -> list[Finding]:
    findings = []
    for library, there in facts.libraries.items():
        extra, use = _LIBRARY_USES[library]
        findings.append(
            Finding(
                about=f"extra [{extra}]",
                verdict="ok" if there else "note",
                text=f"{library} is {'there' if there else 'not installed'}: {use}",
                remedy="" if there else install_hint(extra),
            )
        )
    return findings
