"""Which kernel a command runs on, what is said where none is there, and how the key of its labs comes along."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace

import pytest
from click.testing import CliRunner

import netlab.namespaces.features
import netlab.namespaces.guest.fetch
import netlab.namespaces.guest.installed
import netlab.namespaces.guest.launcher
import netlab.namespaces.user_namespace
import netlab.rootless
from netlab import engine_choice, engines
from netlab.cli.main import main
from netlab.engine_request import EngineRequest
from netlab.errors import AuthError, FeatureMissing, GuestError, PrivilegeError
from netlab.lab_key import lab_key
from netlab.machine import machine
from netlab.namespaces.guest.installed import GuestKernel
from netlab.rootless import RootlessTrial
from netlab.wire.key import Key

AUTO, VIRTUAL = EngineRequest("auto"), EngineRequest(virtual_time=True)
KERNEL = GuestKernel(path=Path("/none"), release="7.2.7", sha256="0" * 64)


def features(netem: bool) -> SimpleNamespace:
    return SimpleNamespace(release="6.8.0-generic", netem=netem, veth=True, redirect=True)


def no_rights() -> object:
    raise PrivilegeError("make the network namespace of a probe", errno.EPERM, hint="run as root (sudo)")


def no_guest(*arguments: object) -> GuestKernel:
    raise GuestError("the guest kernel comes from Debian; this is Ubuntu 24.04", hint="use --on host")


@pytest.fixture(autouse=True)
def outside(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("NETLAB_GUEST", "NETLAB_CLOCK", "NETLAB_ENGINE", "NETLAB_LAB_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(netlab.namespaces.guest.fetch, "fetch_guest_kernel", no_guest)


def host(monkeypatch: pytest.MonkeyPatch, probe: object) -> None:
    monkeypatch.setattr(netlab.namespaces.features, "probe_features", probe)


def guest_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(netlab.namespaces.guest.installed, "default_guest_kernel", lambda cache=None: KERNEL)


def test_an_ordinary_user_without_a_guest_is_told_to_use_sudo_first(monkeypatch: pytest.MonkeyPatch) -> None:
    host(monkeypatch, no_rights)
    with pytest.raises(FeatureMissing, match="no rights to make the network namespace") as caught:
        engine_choice.choose_engine(AUTO, lambda text: None)
    assert caught.value.hint.startswith("run as root (sudo)")
    assert "install" not in caught.value.hint
    assert "this is Ubuntu" in caught.value.message


def test_an_ordinary_user_with_a_guest_hears_of_both_ways(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    host(monkeypatch, no_rights)
    guest_there(monkeypatch)
    told: list[str] = []
    assert engine_choice.choose_engine(AUTO, told.append).elsewhere
    assert "no rights" in told[0]
    assert told[0].startswith("in guest kernel 7.2.7")
    assert told[0].endswith("; or sudo, for this kernel")


def test_root_without_rights_is_not_told_of_sudo(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    host(monkeypatch, no_rights)
    guest_there(monkeypatch)
    told: list[str] = []
    assert engine_choice.choose_engine(AUTO, told.append).elsewhere
    assert "sudo" not in told[0]


def test_a_kernel_without_netem_and_guest_is_told_what_would_mend_it(monkeypatch: pytest.MonkeyPatch) -> None:
    host(monkeypatch, lambda: features(False))
    with pytest.raises(FeatureMissing, match=r"6\.8\.0-generic: it lacks sch_netem; and there is no") as caught:
        engine_choice.choose_engine(AUTO, lambda text: None)
    assert "linux-modules-extra" in caught.value.hint
    assert "sudo" not in caught.value.hint


def test_a_kernel_with_netem_needs_no_guest(monkeypatch: pytest.MonkeyPatch) -> None:
    host(monkeypatch, lambda: features(True))
    assert not engine_choice.choose_engine(AUTO, lambda text: None).elsewhere


@pytest.mark.parametrize(
    ("probe", "status", "says"),
    [
        (lambda: features(True), 0, "going on without a guest kernel: the guest kernel comes from Debian"),
        (no_rights, 0, "run as root (sudo)"),
        (lambda: features(False), 1, "it lacks sch_netem; and there is no guest kernel"),
    ],
)
def test_a_fetch_if_possible_goes_on_where_labs_can(
    monkeypatch: pytest.MonkeyPatch, probe: object, status: int, says: str
) -> None:
    host(monkeypatch, probe)
    done = CliRunner().invoke(main, ["guest", "fetch", "--if-possible"])
    assert done.exit_code == status
    assert says in done.stderr
    assert CliRunner().invoke(main, ["guest", "fetch"]).exit_code == 1  # asked for plainly it is due


def test_a_fetch_if_possible_fetches_though_this_kernel_has_netem(monkeypatch: pytest.MonkeyPatch) -> None:
    host(monkeypatch, lambda: features(True))
    monkeypatch.setattr(netlab.namespaces.guest.fetch, "fetch_guest_kernel", lambda cache, say: KERNEL)
    done = CliRunner().invoke(main, ["guest", "fetch", "--if-possible"])
    assert (done.exit_code, "7.2.7 is ready" in done.stderr) == (0, True)


def test_a_rerun_takes_the_key_along_by_file_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: dict[str, object] = {}

    def run(argv: Sequence[str], **options: object) -> int:
        seen.update(options, argv=argv)
        return 3

    monkeypatch.setattr(netlab.namespaces.guest.launcher, "run_in_guest", run)
    assert engines.GuestEngine(KERNEL, "").rerun(["demo"]).status == 3
    ((name, secret),) = seen.pop("private_files").items()  # type: ignore[attr-defined]
    assert (name, len(secret)) == ("NETLAB_LAB_KEY", 32)
    assert secret not in repr(seen).encode()
    assert "env" not in seen


def test_the_lab_key_is_the_launchers_where_it_has_made_one(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert lab_key() != lab_key()
    file = tmp_path / "key"
    key = Key.new()
    key.write(file)
    monkeypatch.setenv("NETLAB_LAB_KEY", str(file))
    assert lab_key() == key
    file.chmod(file.stat().st_mode | stat.S_IRGRP)
    with pytest.raises(AuthError, match="others than its owner"):
        lab_key()


def test_no_key_that_lasts_is_made_in_a_guest(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("NETLAB_GUEST", "7.2.7 sha256:0")
    done = CliRunner().invoke(main, ["key", "new", str(tmp_path / "robot.key")])
    assert done.exit_code == 1
    assert "on the host" in done.stderr
    assert not (tmp_path / "robot.key").exists()


def relay_possible(monkeypatch: pytest.MonkeyPatch, tun: bool) -> None:
    probed = SimpleNamespace(release="6.8.0", netem=False, veth=True, redirect=True, tun=tun)
    host(monkeypatch, lambda: probed)


def test_without_netem_and_guest_the_relay_is_the_third_choice(monkeypatch: pytest.MonkeyPatch) -> None:
    relay_possible(monkeypatch, tun=True)
    told: list[str] = []
    chosen = engine_choice.choose_engine(AUTO, told.append)
    assert isinstance(chosen, engines.RelayEngine)
    assert (chosen.name, chosen.elsewhere) == ("relay", False)
    assert "third choice" in told[-1]
    assert "it lacks sch_netem" in told[-1]


def test_without_a_tun_device_there_is_no_third_choice(monkeypatch: pytest.MonkeyPatch) -> None:
    relay_possible(monkeypatch, tun=False)
    with pytest.raises(FeatureMissing, match="no guest kernel"):
        engine_choice.choose_engine(AUTO, lambda text: None)


def test_a_guest_goes_before_the_relay(monkeypatch: pytest.MonkeyPatch) -> None:
    relay_possible(monkeypatch, tun=True)
    guest_there(monkeypatch)
    assert engine_choice.choose_engine(AUTO, lambda text: None).name == "guest"


@pytest.mark.parametrize("where", ["host", "relay"])
def test_virtual_time_is_a_guests_alone(where: str) -> None:
    words = ["exec", "--profile", "loss=1%", "--on", where, "--virtual-time", "--", "true"]
    done = CliRunner().invoke(main, words)
    assert done.exit_code == 2
    assert f"--on {where} --virtual-time" in done.stderr
    assert "real" in done.stderr


def test_virtual_time_without_a_kernel_for_it_says_how_to_get_one(monkeypatch: pytest.MonkeyPatch) -> None:
    guest_there(monkeypatch)  # one without time travel is never asked for it
    done = CliRunner().invoke(main, ["exec", "--profile", "loss=1%", "--virtual-time", "--", "true"])
    assert done.exit_code == 1
    assert "no guest kernel with time travel" in done.stderr
    assert f"hint: {engine_choice.BUILD_HINT}\n" in done.stderr


def test_virtual_time_runs_the_newest_kernel_with_time_travel(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = GuestKernel(path=Path("/built"), release="7.2.12", sha256="1" * 64, time_travel=True)
    monkeypatch.setattr(netlab.namespaces.guest.installed, "time_travel_kernel", lambda cache=None: kernel)
    seen: dict[str, object] = {}
    monkeypatch.setattr(
        netlab.namespaces.guest.launcher, "run_in_guest", lambda argv, **options: seen.update(options) or 0
    )
    chosen = engine_choice.choose_engine(VIRTUAL, print)
    assert isinstance(chosen, engines.GuestEngine)
    assert chosen.rerun(["demo"]).status == 0
    assert seen["kernel"] is kernel
    assert type(seen["clock"]).__name__ == "VirtualClock"


def test_a_guest_in_real_time_cannot_turn_virtual(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NETLAB_GUEST", "7.2.7 sha256:0")
    with pytest.raises(GuestError, match="runs in real time"):
        engine_choice.choose_engine(VIRTUAL, print)
    monkeypatch.setenv("NETLAB_CLOCK", "virtual")
    inside = engine_choice.choose_engine(VIRTUAL._replace(engine="guest"), print)
    assert (inside.name, inside.elsewhere) == ("guest", False)


def test_a_check_without_virtual_time_is_refused() -> None:
    done = CliRunner().invoke(main, ["exec", "--profile", "loss=1%", "--check", "--", "true"])
    assert done.exit_code == 2
    assert "--check" in done.stderr
    assert "--virtual-time" in done.stderr


def test_a_result_names_the_wiring_of_its_lab_whatever_the_process_was_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert (machine()["engine"], machine("relay")["engine"]) == ("host", "relay")
    monkeypatch.setenv("NETLAB_ENGINE", "relay")  # a program in a lab
    assert (machine()["engine"], machine("host")["engine"]) == ("relay", "host")
    monkeypatch.setenv("NETLAB_ENGINE", "host")
    monkeypatch.setenv("NETLAB_GUEST", "7.2.12 sha256:1")
    assert (machine()["engine"], machine()["clock"], machine()["guest"]) == ("guest", "real", "7.2.12 sha256:1")
    assert machine("relay")["engine"] == "relay"
    assert "not_claimable" not in machine()
    monkeypatch.setenv("NETLAB_CLOCK", "virtual")
    assert machine()["clock"] == "virtual"
    assert "deadlines" in str(machine()["not_claimable"])
    assert "deadlines" in str(machine("model", "virtual")["not_claimable"])


def test_an_ordinary_user_goes_into_a_user_namespace_where_that_works(monkeypatch: pytest.MonkeyPatch) -> None:
    entered: list[bool] = []
    monkeypatch.setattr(netlab.namespaces.user_namespace, "has_capabilities", lambda: False)
    monkeypatch.setattr(netlab.rootless, "begin_rootless", lambda: entered.append(True))
    monkeypatch.setattr(netlab.rootless, "try_rootless", lambda: RootlessTrial(features(True)))  # type: ignore[arg-type]
    chosen = engine_choice.choose_engine(AUTO, lambda text: None)
    assert isinstance(chosen, engines.HostEngine)
    assert "user namespace" in chosen.reason
    assert entered == []  # it is chosen; nothing has been changed yet
    chosen.begin()
    assert entered == [True]


def test_an_ordinary_user_without_user_namespaces_hears_why_and_what_would_help(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(netlab.namespaces.user_namespace, "has_capabilities", lambda: False)
    barred = RootlessTrial(None, "cannot enter a user namespace: Operation not permitted")
    monkeypatch.setattr(netlab.rootless, "try_rootless", lambda: barred)
    with pytest.raises(FeatureMissing, match="cannot enter a user namespace") as caught:
        engine_choice.choose_engine(AUTO, lambda text: None)
    assert caught.value.hint.startswith("run as root (sudo), or ")


@pytest.mark.parametrize(
    ("name", "value", "remedy"),
    [
        ("user/max_user_namespaces", 0, "max_user_namespaces=10000"),
        ("kernel/apparmor_restrict_unprivileged_userns", 1, "apparmor_restrict_unprivileged_userns=0"),
        ("kernel/unprivileged_userns_clone", 0, "unprivileged_userns_clone=1"),
    ],
)
def test_the_setting_that_bars_user_namespaces_is_named(
    tmp_path: Path, name: str, value: int, remedy: str
) -> None:
    setting = tmp_path / name
    setting.parent.mkdir()
    setting.write_text(f"{value}\n")
    assert netlab.rootless.rootless_remedy(tmp_path).endswith(remedy)
    setting.write_text("7\n" if not value else "0\n")
    assert "sysctl" not in netlab.rootless.rootless_remedy(tmp_path)


@pytest.mark.parametrize(
    "words",
    [
        ("guest", "run", "--on", "relay", "--", "true"),
        ("guest", "run", "--on", "host", "--", "true"),
        ("guest", "fetch", "--on", "relay"),
        ("guest", "fetch", "--on", "guest"),
        ("guest", "build", "--on", "guest"),
        ("lab", "list", "--on", "relay"),
        ("doctor", "--on", "relay"),
        ("profile", "list", "--on", "relay"),
        ("agent", "serve", "--on", "relay"),
    ],
)
def test_an_engine_that_would_change_nothing_is_refused(words: tuple[str, ...]) -> None:
    done = CliRunner().invoke(main, [*words])
    assert done.exit_code == 2, done.output
    assert "Invalid value for '--on'" in done.stderr


@pytest.mark.parametrize(
    "words", [("guest", "fetch"), ("guest", "build"), ("lab", "list"), ("shim", "a", "b", "--profile", "loss=1%")]
)
def test_virtual_time_where_no_guest_runs_is_refused(words: tuple[str, ...]) -> None:
    done = CliRunner().invoke(main, [*words, "--virtual-time"])
    assert done.exit_code == 2, done.output
    assert "guest" in done.stderr


def test_a_guest_cache_that_cannot_be_read_is_the_same_to_doctor_and_engine(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def unreadable(cache: object = None) -> GuestKernel:
        raise GuestError("guest cache /x: Permission denied")

    from netlab.doctor import examine
    from netlab.doctor_facts import gather_facts

    relay_possible(monkeypatch, tun=True)
    monkeypatch.setattr(netlab.namespaces.guest.installed, "default_guest_kernel", unreadable)
    assert engine_choice.choose_engine(AUTO, lambda text: None).name == "relay"
    (found,) = (one for one in examine(gather_facts()) if one.about == "labs run")
    assert found.text.startswith("through a relay")


def test_a_damaged_kernel_is_what_the_engine_takes_and_the_doctor_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from netlab.doctor import examine
    from netlab.doctor_facts import gather_facts

    relay_possible(monkeypatch, tun=True)
    guest_there(monkeypatch)  # a folder that is not there: whole by its record, not by its files
    assert engine_choice.choose_engine(AUTO, lambda text: None).name == "guest"
    found = {one.about: one for one in examine(gather_facts())}
    assert (found["guest kernel"].verdict, found["labs run"].verdict) == ("missing", "missing")
    assert found["labs run"].remedy == "netlab guest fetch --again"


def test_the_environment_limits_the_guest_of_any_command(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = GuestKernel(path=Path("/built"), release="7.2.12", sha256="1" * 64, time_travel=True)
    monkeypatch.setattr(netlab.namespaces.guest.installed, "time_travel_kernel", lambda cache=None: kernel)
    seen: dict[str, object] = {}
    monkeypatch.setattr(
        netlab.namespaces.guest.launcher, "run_in_guest", lambda argv, **options: seen.update(options) or 0
    )
    for name, value in (("VIRTUAL_BUDGET", "48h"), ("STALL", "2min"), ("WALL_LIMIT", "90s")):
        monkeypatch.setenv(f"NETLAB_{name}", value)
    words = ["exec", "--profile", "loss=1%", "--virtual-time", "--", "true"]
    assert CliRunner().invoke(main, words).exit_code == 0
    clock = seen["clock"]
    assert (clock.budget_s, clock.stall_s, seen["timeout_s"]) == (172800.0, 120.0, 90.0)  # type: ignore[attr-defined]
    monkeypatch.setenv("NETLAB_STALL", "0")
    refused = CliRunner().invoke(main, words)
    assert (refused.exit_code, "NETLAB_STALL: '0': must be above 0" in refused.stderr) == (2, True)


def test_a_bug_in_the_trial_of_user_namespaces_is_not_swallowed(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> None:
        raise ValueError("a bug of ours")

    monkeypatch.setattr(netlab.rootless, "enter_user_namespace", broken)
    assert "ValueError('a bug of ours')" in netlab.rootless.try_rootless().problem
