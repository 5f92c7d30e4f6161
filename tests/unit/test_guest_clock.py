"""What real and virtual time add to a guest."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from netlab.errors import GuestError
from netlab.namespaces.guest.guest_clock import RealClock, VirtualClock, settled
from netlab.namespaces.guest.inside import require_clock
from netlab.namespaces.guest.installed import GuestKernel
from netlab.namespaces.guest.job import FILE, NULL, PIPE, TERMINAL, Job
from netlab.namespaces.guest.kernel_probe import time_travel_problem
from netlab.namespaces.guest.watchdog import VirtualWatchdog, WallWatchdog


def job(stdin: str = PIPE, **env: str) -> Job:
    return Job(argv=("true",), env=env, cwd="/", umask=0o22, stdin=stdin, hostname="here")


def program(folder: Path, says: str) -> Path:
    path = folder / "linux"
    path.write_text(f"#!/bin/sh\ntest \"$1\" = --showconfig && printf '{says}'\n")
    path.chmod(0o755)
    return path


def test_real_time_adds_nothing_and_passes_no_clock_on() -> None:
    clock = RealClock()
    assert clock.kernel_arguments == ()
    assert clock.arrange(job(A="1", NETLAB_CLOCK="virtual"), "/jobs/a") == job(A="1")
    assert signal.SIGWINCH in clock.passed_on
    assert isinstance(clock.watchdog(None, "/jobs/a", 1), WallWatchdog)


def test_virtual_time_is_asked_of_the_kernel_from_a_fixed_date() -> None:
    arguments = VirtualClock(start_ns=7 * 10**9).kernel_arguments
    assert {"time-travel=inf-cpu", "time-travel-start=7000000000", "norandmaps", "ipv6.disable=1"} <= {*arguments}
    assert VirtualClock().kernel_arguments == VirtualClock().kernel_arguments


def test_a_job_in_virtual_time_starts_on_a_whole_second_by_a_checked_clock() -> None:
    arranged = VirtualClock(budget_s=60.0).arrange(job(), "/jobs/a")
    assert (arranged.start_step_s, arranged.clock_source, arranged.budget_s) == (1, "time-travel-clock", 60.0)
    assert arranged.hostname == "guest"
    assert arranged.argv == ("true",)


@pytest.mark.parametrize(("before", "after"), [(PIPE, FILE), (TERMINAL, NULL), (NULL, NULL)])
def test_input_is_there_whole_before_virtual_time_begins(before: str, after: str) -> None:
    arranged = VirtualClock().arrange(job(before), "/jobs/a")
    assert arranged.stdin == after
    assert arranged.stdin_path == "/jobs/a/stdin"


def test_chance_is_taken_out_of_the_environment() -> None:
    env = settled({"TZ": "Asia/Tokyo", "A": "b", "OMP_NUM_THREADS": "3"})
    assert env["NETLAB_CLOCK"] == "virtual"
    assert (env["TZ"], env["PYTHONHASHSEED"], env["A"]) == ("UTC", "0", "b")
    assert (env["OPENBLAS_NUM_THREADS"], env["OMP_NUM_THREADS"]) == ("1", "3")


@pytest.mark.parametrize(("given", "used"), [("random", "0"), ("", "0"), ("7", "7")])
def test_a_fixed_seed_of_hashes_is_kept(given: str, used: str) -> None:
    assert settled({"PYTHONHASHSEED": given})["PYTHONHASHSEED"] == used


def test_a_window_that_changes_does_not_change_a_run() -> None:
    assert signal.SIGWINCH not in VirtualClock().passed_on
    assert signal.SIGINT in VirtualClock().passed_on


def test_the_watch_is_on_time_inside_too() -> None:
    assert isinstance(VirtualClock().watchdog(None, "/jobs/a", 1), VirtualWatchdog)
    assert isinstance(VirtualClock(beat_s=0.0).watchdog(None, "/jobs/a", 1), WallWatchdog)


@pytest.mark.parametrize(
    "wrong",
    [
        {"budget_s": 0.0}, {"budget_s": float("nan")}, {"stall_s": -1.0}, {"stall_s": float("inf")},
        {"beat_s": 0.01}, {"beat_s": float("nan")}, {"start_ns": 1}, {"start_ns": -(10**9)}, {"start_ns": 2**63},
    ],
)  # fmt: skip
def test_what_no_clock_can_be_is_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(GuestError, match=f"virtual time: {next(iter(wrong))} = "):
        VirtualClock(**wrong)  # type: ignore[arg-type]


def test_a_kernel_that_says_it_has_no_time_travel_is_refused(tmp_path: Path) -> None:
    able = program(tmp_path, "CONFIG_UML_TIME_TRAVEL_SUPPORT=y\\n")
    kernel = GuestKernel(path=able.parent, release="7.2", time_travel=False)
    with pytest.raises(GuestError, match=r"7\.2 cannot run in virtual time: it is made for real time") as caught:
        VirtualClock().require(kernel)
    assert caught.value.hint == "netlab guest build"
    RealClock().require(kernel)


@pytest.mark.parametrize(
    ("says", "problem"),
    [
        ("CONFIG_A=y\\nCONFIG_UML_TIME_TRAVEL_SUPPORT=y\\n", ""),
        ("# CONFIG_UML_TIME_TRAVEL_SUPPORT is not set\\n", "built without"),
        ("CONFIG_UML_TIME_TRAVEL_SUPPORT=yes\\n", "built without"),
        ("", "built without"),
    ],
)
def test_a_kernel_is_asked_for_its_configuration(tmp_path: Path, says: str, problem: str) -> None:
    found = time_travel_problem(program(tmp_path, says))
    assert (problem in found) if problem else not found


def test_a_manifest_alone_is_not_believed(tmp_path: Path) -> None:
    unable = program(tmp_path, "CONFIG_A=y\\n")
    with pytest.raises(GuestError, match="built without CONFIG_UML_TIME_TRAVEL_SUPPORT=y"):
        VirtualClock().require(GuestKernel(path=unable.parent, release="7.2", time_travel=True))


def test_what_is_no_program_has_no_virtual_time(tmp_path: Path) -> None:
    (tmp_path / "linux").write_bytes(b"no program")
    (tmp_path / "linux").chmod(0o755)
    assert "its configuration cannot be read: Exec format error" in time_travel_problem(tmp_path / "linux")


def test_inside_the_clock_is_looked_at_once_more(tmp_path: Path) -> None:
    (tmp_path / "current").write_text("time-travel-clock\n")
    require_clock("time-travel-clock", tmp_path / "current")
    (tmp_path / "current").write_text("os_nsecs\n")
    with pytest.raises(GuestError, match="its clock is 'os_nsecs'"):
        require_clock("time-travel-clock", tmp_path / "current")
