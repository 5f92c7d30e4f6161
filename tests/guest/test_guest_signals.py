"""Signals to the launcher reach the command; time limits and second signals end the guest."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest
from guest_driver import Driver


def wait_for_line(process: subprocess.Popen[bytes], line: bytes) -> None:
    assert process.stdout is not None
    assert process.stdout.readline() == line


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT])
def test_a_signal_reaches_the_command(driver: Driver, number: signal.Signals) -> None:
    name = number.name[3:]
    process = driver.start(
        "sh", "-c", f"trap 'echo got {name}; exit 5' {name}; echo ready; while :; do sleep 0.1; done"
    )
    wait_for_line(process, b"ready\n")
    process.send_signal(number)
    output, _ = process.communicate(timeout=30)
    assert (process.returncode, output) == (5, f"got {name}\n".encode())


def test_ctrl_c_is_a_keyboard_interrupt(driver: Driver) -> None:
    process = driver.start("python3", "-c", "import time\nprint('ready',flush=True)\ntime.sleep(60)")
    wait_for_line(process, b"ready\n")
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=30)
    assert process.returncode == 130
    assert b"KeyboardInterrupt" in errors


def test_a_second_ctrl_c_ends_a_command_that_ignores_it(driver: Driver) -> None:
    process = driver.start("sh", "-c", "trap '' INT; echo ready; while :; do sleep 1; done")
    wait_for_line(process, b"ready\n")
    process.send_signal(signal.SIGINT)
    time.sleep(0.3)
    assert process.poll() is None
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert process.returncode == 130


def test_ctrl_c_before_the_guest_is_up_ends_it(driver: Driver) -> None:
    process = driver.start("sleep", "60")
    deadline = time.monotonic() + 60
    while not any_signal_caught(process.pid, signal.SIGHUP):
        assert time.monotonic() < deadline
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert process.returncode == 130


def any_signal_caught(pid: int, number: signal.Signals) -> bool:
    """Whether a process has a handler for a signal: the launcher has, once it has begun."""
    status = Path(f"/proc/{pid}/status").read_text().splitlines()
    mask = next(line for line in status if line.startswith("SigCgt:")).split()[1]
    return bool(int(mask, 16) >> (number - 1) & 1)


def test_nohup_holds_inside(driver: Driver) -> None:
    process = subprocess.Popen(
        [
            "sh",
            "-c",
            'trap "" HUP; exec "$@"',
            "sh",
            *driver.command("sh", "-c", "echo ready; kill -HUP $$; exit 3"),
        ],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
    )
    wait_for_line(process, b"ready\n")
    os.kill(process.pid, signal.SIGHUP)
    process.communicate(timeout=30)
    assert process.returncode == 3


def test_a_timeout_is_124(driver: Driver) -> None:
    begun_s = time.monotonic()
    result = driver.run("sh", "-c", "echo begun; sleep 60", timeout_s=4.0)
    taken_s = time.monotonic() - begun_s
    assert (result.returncode, result.stdout) == (124, b"begun\n")
    assert 4.0 <= taken_s < 40.0, taken_s


def test_a_slow_reader_does_not_stop_signals(driver: Driver) -> None:
    process = driver.start("sh", "-c", "trap 'exit 9' INT; echo ready; yes & wait")
    wait_for_line(process, b"ready\n")
    time.sleep(1.0)  # every buffer on the way is full now
    process.send_signal(signal.SIGINT)
    time.sleep(0.5)
    process.communicate(timeout=30)
    assert process.returncode == 9
