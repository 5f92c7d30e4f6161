"""``netlab verify`` through a relay: what is asked passes. Wide allowances but once: the machine may be busy."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from measured_network import RATE_HZ, fitted_profile, fitted_schedule, replayed
from orphans import Orphans
from timely import timely

from netlab.namespaces.relay.wiring import RelayWiring
from netlab.probe.probe_plan import ProbePlan
from netlab.traces.conformance.allowance import Allowance, default_allowance
from netlab.traces.pair import ProfilePair
from netlab.traces.presets import parse_preset
from netlab.traces.trace import Trace
from netlab.verification.verify import verify_in_lab

WIDE = Allowance(later_s=5e-3, stragglers=0.1)
PLAN = ProbePlan(count=500, rate_hz=250.0)
ATTEMPTS = 3

Made = Callable[[Path], tuple[ProfilePair, Trace]]
MADE: dict[str, Made] = {
    "profile": lambda folder: fitted_profile(),
    "schedule": lambda folder: fitted_schedule(),
    "replay": replayed,
}


@pytest.fixture(autouse=True)
def tun() -> None:
    if not Path("/dev/net/tun").exists():
        pytest.skip("this kernel has no tun")


@pytest.mark.parametrize(
    "profile",
    [
        "wifi-normal",
        "measured",
        "delay=10ms,loss.mean=5%,loss.burst=3,duplicate=2%",
        "cellular-lte",
        "satellite-leo",
        "wifi-home",
        "wifi-jammed",
    ],
)
def test_a_relay_delivers_what_is_asked(profile: str) -> None:
    """n = 500 each way over 2 s; the seed decides the losses."""
    pair = parse_preset(profile)
    measured, report = timely(lambda: verify_in_lab(profile, pair, PLAN, 7, RelayWiring(), WIDE))
    assert report.holds, [(one.direction, one.failed) for one in report.conformance.directions]
    assert report.machine["engine"] == "relay"
    assert {flow.trace.n for flow in measured.values()} == {500}


@pytest.mark.parametrize("name", MADE)
def test_what_a_trace_became_is_delivered_and_like_the_trace(name: str, tmp_path: Path) -> None:
    """A whole pass of 12 s, n = 1,200 each way."""
    pair, trace = MADE[name](tmp_path)
    plan = ProbePlan(count=trace.n, rate_hz=RATE_HZ)
    report = timely(lambda: verify_in_lab(name, pair, plan, 7, RelayWiring(), WIDE, data=[trace]))[1]
    assert report.holds, [(one.direction, one.failed) for one in report.conformance.directions]
    (like,) = report.likeness
    assert like.holds and like.path == "round-trip", like


def test_the_default_allowance_of_real_time_is_enough_for_a_preset() -> None:
    """n = 1,000 each way at 250 Hz; of three runs one must pass, since others may want this processor."""
    plan = ProbePlan(count=1000, rate_hz=250.0)
    failed = []
    for seed in range(ATTEMPTS):
        pair, allowed = parse_preset("wifi-normal"), default_allowance(virtual=False)
        report = verify_in_lab("wifi-normal", pair, plan, seed, RelayWiring(), allowed)[1]
        if report.holds:
            return
        failed.append([(one.direction, one.failed) for one in report.conformance.directions])
    pytest.fail(f"none of {ATTEMPTS} passes: {failed}")


def test_all_engines_side_by_side_are_really_run(tmp_path: Path) -> None:
    """n = 200 each way on each engine there is here; relay and model are always, and lose the same packets."""
    command = [
        sys.executable, "-P", "-m", "netlab", "verify", "wifi-degraded", "--count", "200", "--all-engines",
        "--allowance", "20ms", "--output", str(tmp_path / "all.json"), "--json",
    ]  # fmt: skip
    done = subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300, check=False
    )
    found = json.loads(done.stdout)
    assert found == json.loads((tmp_path / "all.json").read_text())
    corners = {corner["name"]: corner for corner in found["corners"]}
    assert list(corners) == ["host", "relay", "guest", "guest virtual", "model"]
    assert all((corner["report"] is None) == bool(corner["missing"]) for corner in corners.values())
    lost = {}
    for name in ("relay", "model"):
        report = corners[name]["report"]
        assert report is not None, corners[name]["missing"]
        assert report["machine"]["engine"] == name
        lost[name] = [one["packets"] - one["arrived"] for one in report["conformance"]["directions"]]
    assert lost["relay"] == lost["model"] and sum(lost["model"]) > 0


def start(folder: Path, *words: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-P", "-m", "netlab", "verify", "delay=5ms", "--allowance", "50ms", *words]
    return subprocess.Popen(
        command, env=os.environ | {"XDG_RUNTIME_DIR": str(folder)}, start_new_session=True,
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip


def wait_until(is_so: Callable[[], bool], what: str) -> None:
    deadline_s = time.monotonic() + 60
    while not is_so():
        assert time.monotonic() < deadline_s, what
        time.sleep(0.05)


def test_what_a_killed_run_leaves_the_next_one_sweeps(tmp_path: Path) -> None:
    orphans = Orphans()
    killed = start(tmp_path, "--on", "relay", "--count", "100000")
    wait_until(lambda: bool(list(tmp_path.glob("*verify*"))), "no flow has begun")
    killed.kill()
    killed.wait()
    orphans.bury()
    assert len(list(tmp_path.glob("*verify*"))) == 1, "nobody could remove it"
    assert start(tmp_path, "--on", "relay", "--count", "50").wait(60) == 0
    assert list(tmp_path.glob("*verify*")) == []


def test_a_killed_comparison_takes_its_run_along(tmp_path: Path) -> None:
    orphans = Orphans()
    killed = start(tmp_path, "--all-engines", "--count", "100000")
    wait_until(lambda: bool(list(tmp_path.glob("*verify*"))), "no flow has begun")
    (child,) = children(killed.pid)
    killed.kill()
    killed.wait()
    orphans.bury(within_s=15.0)
    assert not Path(f"/proc/{child}").exists(), "its child still runs"
    assert list(tmp_path.glob("*verify*")) == [], "the child has cleaned up"


def children(pid: int) -> list[int]:
    text = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii")
    return [int(word) for word in text.split()]
