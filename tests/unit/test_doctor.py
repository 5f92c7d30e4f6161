"""The doctor's verdicts over machines that are not this one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from netlab.doctor import Finding, examine
from netlab.doctor_facts import COMMANDS, LIBRARIES, Facts
from netlab.engine_choice import BUILD_HINT
from netlab.errors import FeatureMissing, GuestError, PrivilegeError
from netlab.host_survey import HostSurvey
from netlab.install_hint import install_hint
from netlab.namespaces.features import KernelFeatures
from netlab.namespaces.guest.installed import GuestKernel

FULL = KernelFeatures(
    release="6.8.0", netem=True, seed=True, nanoseconds=True, rate64=True, slots=True, loss_models=True,
    veth=True, redirect=True, tun=True, user_namespaces=True,
)  # fmt: skip
NO_NETEM = structs.replace(FULL, netem=False, seed=False)
LACKING = FeatureMissing("emulate links on kernel 6.8.0", 0, "it lacks sch_netem", "use --on guest")
NO_RIGHTS = PrivilegeError("run labs on this kernel", 1, "no rights", "run as root (sudo)")
READY_MADE = GuestKernel(path=Path("/none"), release="7.2.7", sha256="0" * 64)
BUILT = GuestKernel(path=Path("/none"), release="7.2.12", sha256="1" * 64, time_travel=True)
USERNS = "sudo sysctl kernel.apparmor_restrict_unprivileged_userns=0"

BEST = Facts(
    release="6.8.0",
    architecture="x86_64",
    is_root=True,
    inside=None,
    survey=HostSurvey(FULL, None),
    guest=READY_MADE,
    virtual_guest=BUILT,
    fifo=True,
    rootless_remedy=USERNS,
    commands=dict.fromkeys(COMMANDS, "/usr/bin/it"),
    libraries=dict.fromkeys(LIBRARIES, True),
)


def finding(about: str, **changes: Any) -> Finding:
    (found,) = (one for one in examine(structs.replace(BEST, **changes)) if one.about == about)
    return found


def test_a_machine_with_everything_lacks_nothing() -> None:
    assert {one.verdict for one in examine(BEST)} == {"ok"}
    assert finding("labs run").text == "on this kernel"


def test_no_netem_is_mended_by_a_module_a_guest_or_a_relay() -> None:
    netem = finding("this kernel: netem", survey=HostSurvey(NO_NETEM, LACKING))
    assert netem.verdict == "missing"
    for word in ("modprobe sch_netem", "--on guest", "--on relay"):
        assert word in netem.remedy
    assert finding("labs run", survey=HostSurvey(NO_NETEM, LACKING)).text == "in the guest kernel"


def test_seeds_are_looked_for_where_there_is_netem_alone() -> None:
    old = HostSurvey(structs.replace(FULL, seed=False), None)
    assert "6.6" in finding("this kernel: seed", survey=old).remedy
    facts = structs.replace(BEST, survey=HostSurvey(NO_NETEM, LACKING))
    assert not [one for one in examine(facts) if one.about == "this kernel: seed"]


def test_an_ordinary_user_with_user_namespaces_needs_no_root() -> None:
    rootless = {"is_root": False, "survey": HostSurvey(FULL, None, rootless=True)}
    assert finding("rights", **rootless).verdict == "ok"
    assert finding("labs run", **rootless).text == "on this kernel, in a user namespace"


def test_an_ordinary_user_without_is_told_of_every_way() -> None:
    barred = {"is_root": False, "survey": HostSurvey(None, NO_RIGHTS)}
    rights = finding("rights", **barred)
    assert rights.verdict == "note"
    for word in ("sudo netlab", USERNS, "--on guest"):
        assert word in rights.remedy
    assert finding("this kernel", **barred).verdict == "missing"
    assert finding("labs run", **barred).text == "in the guest kernel"


@pytest.mark.parametrize(
    ("changes", "verdict", "text"),
    [
        ({"guest": None}, "note", "once it has been fetched"),
        ({"architecture": "aarch64", "guest": None}, "note", "through a relay"),
        (
            {
                "architecture": "aarch64",
                "guest": None,
                "survey": HostSurvey(structs.replace(NO_NETEM, tun=False), LACKING),
            },
            "missing",
            "nowhere",
        ),
    ],
)
def test_where_labs_run_without_netem(changes: dict[str, Any], verdict: str, text: str) -> None:
    found = finding("labs run", **{"survey": HostSurvey(NO_NETEM, LACKING), **changes})
    assert found.verdict == verdict
    assert text in found.text


def test_virtual_time_is_gained_by_a_build() -> None:
    found = finding("virtual time", virtual_guest=None)
    assert (found.verdict, found.remedy) == ("note", BUILD_HINT)


def test_a_damaged_kernel_with_time_travel_is_said() -> None:
    found = finding(
        "virtual time", virtual_guest=GuestError("linux: its SHA-256 ...", hint="netlab guest build --again")
    )
    assert (found.verdict, found.remedy) == ("missing", "netlab guest build --again")


def test_a_damaged_cache_is_said_with_its_hint() -> None:
    found = finding("guest kernel", guest=GuestError("guest cache: Permission denied", hint="set XDG_CACHE_HOME"))
    assert (found.verdict, found.remedy) == ("missing", "set XDG_CACHE_HOME")


def test_inside_a_guest_nothing_is_to_be_fetched_or_built() -> None:
    inside = {"inside": "7.2.7 sha256:00", "guest": None, "virtual_guest": None}
    assert "we are inside one" in finding("guest kernel", **inside).text
    assert not finding("virtual time", **inside).remedy
    assert finding("rights", **inside).text == "root (of a guest)"


def test_a_relay_without_priority_or_device_is_said() -> None:
    assert "rtprio" in finding("relay", fifo=False).remedy
    no_tun = HostSurvey(structs.replace(FULL, tun=False), None)
    assert "/dev/net/tun" in finding("relay", survey=no_tun).text


def test_what_only_comparisons_need_is_a_note() -> None:
    found = finding("command tc", commands={"tc": None})
    assert (found.verdict, found.remedy) == ("note", "apt-get install iproute2")
    extra = finding("extra [rl]", libraries={"torch": False})
    assert (extra.verdict, extra.remedy) == ("note", install_hint("rl"))
