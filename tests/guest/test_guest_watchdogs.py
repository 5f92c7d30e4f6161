"""In virtual time: what never ends is ended and named; what ends a guest in real time ends it here too."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from guest_driver import Driver, descendants, wait_until_gone

STALL_S = 3.0
SPIN = "print('before', flush=True)\nwhile True: pass"
CALLS = "import os\nprint('before', flush=True)\nwhile True: os.getppid()"


@pytest.mark.parametrize("program", [SPIN, CALLS])
def test_a_program_that_holds_the_clock_is_named(
    virtual_driver: Driver, temporary_folder: Path, program: str
) -> None:
    before = set(descendants(os.getpid()))
    script = f'sleep 20h & {sys.executable} -c "{program}" "two words" café'
    result = virtual_driver.run("sh", "-c", script, virtual={"stall_s": STALL_S})
    errors = result.stderr.decode()
    assert "GuestError: guest: virtual time has stood still for 3 s" in errors
    shown = " ".join(program.replace("\n", " ").split())
    assert f"running: {sys.executable} -c {shown} two words café" in errors
    assert "HINT" in errors
    assert "charge" in errors
    assert result.stdout == b"before\n"
    assert not wait_until_gone(before, temporary_folder)


def test_it_is_named_at_the_moment_it_began_to(virtual_driver: Driver) -> None:
    script = f'sleep 10; exec {sys.executable} -c "while True: pass"'
    errors = virtual_driver.run("sh", "-c", script, virtual={"stall_s": STALL_S}).stderr.decode()
    assert ", at 9.787 s of guest time; running:" in errors, errors


def test_a_slow_clock_is_no_standstill(virtual_driver: Driver) -> None:
    """A loop that reads the clock moves it by 256 ns each time: slowly, but it ends."""
    program = "import time\nend = time.monotonic() + 0.05\nwhile time.monotonic() < end: pass\nprint('done')"
    result = virtual_driver.run(sys.executable, "-c", program, virtual={"stall_s": 10.0})
    assert result.stdout == b"done\n", result.stderr


def test_all_that_wait_for_one_another_are_named_when_the_budget_is_spent(virtual_driver: Driver) -> None:
    program = "import threading\nlock = threading.Lock()\nlock.acquire()\nlock.acquire()"
    begun_s = time.monotonic()
    result = virtual_driver.run(sys.executable, "-c", program, "tango", virtual={"budget_s": 600.0})
    errors = result.stderr.decode()
    assert "GuestError: guest: 600 s of virtual time are spent" in errors
    assert "tango (waiting)" in errors
    assert time.monotonic() - begun_s < 100.0


def test_the_limit_outside_is_124_and_names_what_runs(virtual_driver: Driver) -> None:
    result = virtual_driver.run(sys.executable, "-c", SPIN, timeout_s=5.0)
    assert result.returncode == 124
    assert "the time limit is reached, before its first beat; running: " in result.stderr.decode()


def test_a_reader_that_pauses_is_no_standstill(virtual_driver: Driver) -> None:
    guest = virtual_driver.start("sh", "-c", "head -c 2000000 /dev/zero; sleep 1h", virtual={"stall_s": 2.0})
    time.sleep(4.0)
    output, errors = guest.communicate(timeout=60)
    assert (guest.returncode, len(output)) == (0, 2_000_000), errors


def test_input_that_takes_its_time_is_no_standstill(virtual_driver: Driver, temporary_folder: Path) -> None:
    """All of it is read before the kernel starts, so the guest's clock has not stood still for it."""
    guest = virtual_driver.start("cat", stdin=subprocess.PIPE, virtual={"stall_s": 2.0})
    time.sleep(4.0)
    assert guest.poll() is None
    output, errors = guest.communicate(b"late\n", timeout=60)
    assert (guest.returncode, output) == (0, b"late\n"), errors


def test_ctrl_c_is_a_keyboard_interrupt(virtual_driver: Driver) -> None:
    # It wakes all the time, so that the hours do not pass at once.
    program = "import time\nprint('ready', flush=True)\nwhile time.monotonic() < 1e5: time.sleep(0.001)"
    guest = virtual_driver.start(sys.executable, "-c", program, virtual={"budget_s": 1e6})
    assert guest.stdout is not None
    assert guest.stdout.readline() == b"ready\n"
    guest.send_signal(signal.SIGINT)
    _, errors = guest.communicate(timeout=60)
    assert guest.returncode == 130
    assert b"KeyboardInterrupt" in errors


def test_a_second_ctrl_c_ends_what_holds_the_clock(virtual_driver: Driver, temporary_folder: Path) -> None:
    before = set(descendants(os.getpid()))
    guest = virtual_driver.start(sys.executable, "-c", SPIN)
    assert guest.stdout is not None
    assert guest.stdout.readline() == b"before\n"
    guest.send_signal(signal.SIGINT)
    time.sleep(0.5)
    assert guest.poll() is None
    guest.send_signal(signal.SIGINT)
    guest.communicate(timeout=60)
    assert guest.returncode == 130
    assert not wait_until_gone(before, temporary_folder)


@pytest.mark.parametrize("victim", ["launcher", "supervisor", "warden", "kernel"])
def test_a_kill_at_random_moments_leaves_nothing(
    virtual_driver: Driver, temporary_folder: Path, victim: str
) -> None:
    moments = random.Random(victim)
    for number in range(5):
        before = set(descendants(os.getpid()))
        # Spins: what is killed in the end is busy.
        guest = virtual_driver.start(sys.executable, "-c", SPIN, stdout=subprocess.DEVNULL)
        time.sleep(moments.uniform(0.02, 0.8))
        below = descendants(guest.pid)
        order = {"launcher": -1, "supervisor": 0, "warden": 1, "kernel": 2}[victim]
        os.kill(below[order] if 0 <= order < len(below) else guest.pid, signal.SIGKILL)
        guest.communicate(timeout=60)
        left = wait_until_gone(before, temporary_folder)
        assert not left, f"run {number}, {len(below)} processes when {victim} was killed: left {left}"


def test_a_kill_while_input_is_read_leaves_nothing(virtual_driver: Driver, temporary_folder: Path) -> None:
    before = set(descendants(os.getpid()))
    guest = virtual_driver.start("cat", stdin=subprocess.PIPE)
    deadline_s = time.monotonic() + 60.0
    while not list(temporary_folder.glob("netlab-guest-*/stdin")):
        assert time.monotonic() < deadline_s
        time.sleep(0.01)
    guest.kill()
    guest.wait()
    assert not wait_until_gone(before, temporary_folder)
    guest.communicate()


def test_too_little_memory_is_told(virtual_driver: Driver) -> None:
    program = "x = bytearray()\nwhile True: x += bytes(1 << 20)"
    result = virtual_driver.run(sys.executable, "-c", program, memory_bytes=96 << 20)
    assert result.returncode == 137
    assert b"ran out of its 96 MiB" in result.stderr


def test_a_panic_is_shown(virtual_driver: Driver) -> None:
    program = "open('/proc/sys/vm/panic_on_oom', 'w').write('1')\nx = bytearray()\nwhile True: x += bytes(1 << 20)"
    result = virtual_driver.run(sys.executable, "-c", program, memory_bytes=96 << 20)
    assert b"GuestError: the guest kernel gave up: Kernel panic - not syncing: Out of memory" in result.stderr


def test_a_killed_pid_1_is_told_though_a_program_holds_the_clock(virtual_driver: Driver) -> None:
    program = "print('ready', flush=True)\nwhile True: pass"
    guest = virtual_driver.start(sys.executable, "-c", program, virtual={"stall_s": 3.0})
    assert guest.stdout is not None
    assert guest.stdout.readline() == b"ready\n"
    kernel = descendants(guest.pid)[2]
    os.kill(min(descendants(kernel)), signal.SIGKILL)
    _, errors = guest.communicate(timeout=60)
    assert b"a process that the guest's programs run in was killed from outside" in errors
    assert b"stood still" not in errors


def test_what_a_program_runs_in_may_be_killed(virtual_driver: Driver) -> None:
    program = "import time\nprint('ready', flush=True)\nwhile time.monotonic() < 1e5: time.sleep(0.001)"
    guest = virtual_driver.start(sys.executable, "-c", program, virtual={"budget_s": 1e6})
    assert guest.stdout is not None
    assert guest.stdout.readline() == b"ready\n"
    kernel = descendants(guest.pid)[2]
    os.kill(max(descendants(kernel)), signal.SIGKILL)
    _, errors = guest.communicate(timeout=60)
    assert b"a process that the guest's programs run in was killed from outside" in errors
