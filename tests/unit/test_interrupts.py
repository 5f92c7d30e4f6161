"""Ctrl-C reaches what tests start, also where pytest itself was started deaf to it: in a shell's background."""

from __future__ import annotations

import signal
import subprocess
import sys


def ignore_interrupts() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def test_a_child_is_ended_by_an_interrupt() -> None:
    program = "import time; print(flush=True); time.sleep(60)"
    with subprocess.Popen([sys.executable, "-P", "-c", program], stdout=subprocess.PIPE, stderr=-3) as child:
        assert child.stdout is not None and child.stdout.readline() == b"\n"
        child.send_signal(signal.SIGINT)
        assert child.wait(30) == -signal.SIGINT


def test_a_child_of_a_deaf_pytest_is_ended_too() -> None:
    test = f"{__file__}::{test_a_child_is_ended_by_an_interrupt.__name__}"
    words = [sys.executable, "-P", "-m", "pytest", "-q", "-p", "no:cacheprovider", test]
    done = subprocess.run(words, preexec_fn=ignore_interrupts, capture_output=True, text=True, check=False)
    assert done.returncode == 0 and "1 passed" in done.stdout, done.stdout
