"""kill -9 of whatever, at any moment, leaves no process, no folder, no mount."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import time
from pathlib import Path

import pytest
from guest_driver import Driver, descendants, wait_until_gone

LATEST_MOMENT_S = 0.6
WAIT_S = 60.0


@pytest.mark.parametrize(("victim", "runs"), [("launcher", 20), ("supervisor", 6), ("warden", 6), ("kernel", 6)])
def test_a_kill_at_random_moments_leaves_nothing(
    driver: Driver, temporary_folder: Path, victim: str, runs: int
) -> None:
    """The leak check around each test makes this process the parent of every orphan."""
    moments = random.Random(victim)
    mounts = Path("/proc/self/mountinfo").read_text()
    for number in range(runs):
        before = set(descendants(os.getpid()))
        process = driver.start("sh", "-c", "sleep 60 & sleep 60", stdout=subprocess.DEVNULL)
        time.sleep(moments.uniform(0.02, LATEST_MOMENT_S))
        below = descendants(process.pid)
        order = {"launcher": -1, "supervisor": 0, "warden": 1, "kernel": 2}[victim]
        target = below[order] if 0 <= order < len(below) else process.pid
        os.kill(target, signal.SIGKILL)
        process.communicate(timeout=WAIT_S)
        left = wait_until_gone(before, temporary_folder)
        assert not left, f"run {number}, {len(below)} processes when {victim} was killed: left {left}"
    assert Path("/proc/self/mountinfo").read_text() == mounts


def test_the_supervisors_death_is_told(driver: Driver, temporary_folder: Path) -> None:
    before = set(descendants(os.getpid()))
    process = driver.start("sh", "-c", "echo ready; sleep 60")
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    os.kill(descendants(process.pid)[0], signal.SIGKILL)
    _, errors = process.communicate(timeout=WAIT_S)
    assert b"GuestError: the guest's supervisor was killed" in errors
    assert not wait_until_gone(before, temporary_folder)


def test_nothing_is_left_after_an_orderly_end(driver: Driver, temporary_folder: Path) -> None:
    assert driver.run("true").returncode == 0
    assert not list(temporary_folder.iterdir())
