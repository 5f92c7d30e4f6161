"""What is asked of a kernel's configuration, and that nothing asked is lost without a word."""

from __future__ import annotations

from pathlib import Path

import pytest

from netlab.namespaces.guest.kernel_configuration import (
    KernelConfiguration,
    parse_configuration,
    time_travel_configuration,
)

ESSENTIAL = [
    "UML_TIME_TRAVEL_SUPPORT",
    "EXPERT",
    "HIGH_RES_TIMERS",
    "HOSTFS",
    "TMPFS",
    "DEVTMPFS",
    "NET_NS",
    "USER_NS",
    "PID_NS",
    "VETH",
    "TUN",
    "BRIDGE",
    "IFB",
    "NET_SCH_NETEM",
    "NET_SCH_TBF",
    "NET_SCH_HTB",
    "NET_SCH_FQ",
    "NET_SCH_INGRESS",
    "NET_CLS_U32",
    "NET_CLS_FW",
    "NET_ACT_MIRRED",
    "NET_ACT_SKBEDIT",
    "CGROUP_SCHED",
    "CFS_BANDWIDTH",
    "MEMCG",
    "CGROUP_PIDS",
]


def asked(**options: str) -> KernelConfiguration:
    return KernelConfiguration(path=Path("fragment"), options=options)


@pytest.mark.parametrize("name", ESSENTIAL)
def test_what_a_lab_needs_is_asked(name: str) -> None:
    assert time_travel_configuration().options[f"CONFIG_{name}"] == "y"


@pytest.mark.parametrize("name", ["IPV6", "MODULES", "BLOCK"])
def test_what_must_be_off_is_asked_too(name: str) -> None:
    assert time_travel_configuration().options[f"CONFIG_{name}"] == "n"


def test_each_line_of_the_fragment_is_a_comment_or_a_setting_of_its_own() -> None:
    configuration = time_travel_configuration()
    lines = [line for line in configuration.path.read_text().splitlines() if line and not line.startswith("#")]
    assert len(configuration.options) == len(lines)


def test_a_kernel_that_has_all_of_it_lacks_nothing() -> None:
    configuration = time_travel_configuration()
    resolved = [f"{name}={value}" for name, value in configuration.options.items() if value != "n"]
    resolved += [f"# {name} is not set" for name, value in configuration.options.items() if value == "n"]
    assert configuration.dropped("\n".join(resolved) + "\nCONFIG_MORE=y\n") == []


def test_what_kconfig_dropped_is_named() -> None:
    wanted = asked(CONFIG_A="y", CONFIG_B="y", CONFIG_C="n", CONFIG_D="n", CONFIG_E='"-x"')
    resolved = '# CONFIG_A is not set\nCONFIG_D=y\nCONFIG_E="-y"\n'
    assert wanted.dropped(resolved) == ["CONFIG_A=y", "CONFIG_B=y", "CONFIG_D=n", 'CONFIG_E="-x"']


def test_its_identity_is_what_it_says_and_no_more() -> None:
    one, other = asked(CONFIG_A="y", CONFIG_B="n"), asked(CONFIG_B="n", CONFIG_A="y")
    assert one.sha256 == other.sha256
    assert one.sha256 != asked(CONFIG_A="y", CONFIG_B="y").sha256
    assert parse_configuration("# why\n\nCONFIG_A=y\n") == parse_configuration("CONFIG_A=y\n#CONFIG_B=y")
