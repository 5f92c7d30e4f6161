"""A process is known by more than its number."""

from __future__ import annotations

import os
import platform
import subprocess
import sys

import msgspec
import pytest

from netlab.holder.process_identity import ProcessIdentity


def test_our_own() -> None:
    own = ProcessIdentity.own()
    assert own.pid == os.getpid()
    assert own.is_ours_to_see
    assert own.is_alive()
    assert not own.wait(0.0)
    assert msgspec.json.decode(msgspec.json.encode(own), type=ProcessIdentity) == own


def test_a_number_that_has_changed_hands_is_another_process() -> None:
    own = ProcessIdentity.own()
    for changed in ({"start_ticks": own.start_ticks + 1}, {"boot_id": "another"}):
        other = msgspec.structs.replace(own, **changed)
        assert not other.is_alive()
        assert other.wait(0.0), "has ended already"
        other.send_signal(9)  # would be our end, had it been taken for us


def test_another_pid_namespace_cannot_be_judged() -> None:
    assert not msgspec.structs.replace(ProcessIdentity.own(), pid_space=1).is_ours_to_see


def test_a_child_lives_dies_and_is_dead_before_it_is_buried() -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
        (identity,) = (one for one in ProcessIdentity.own().children() if one.pid == child.pid)
        assert identity.is_alive()
        identity.send_signal(9)
        assert identity.wait(10.0)
        assert not identity.is_alive(), "not buried yet, and dead"
    assert identity.wait(0.0)


DYING = """
import ctypes, threading, time
threading.Thread(target=time.sleep, args=(0.5,)).start()
print("up", flush=True)
ctypes.CDLL(None).syscall(EXIT, 0)  # the first thread alone
"""


def test_it_has_ended_when_its_last_thread_has() -> None:
    numbers = {"x86_64": "60", "aarch64": "93", "riscv64": "93"}
    if platform.machine() not in numbers:
        pytest.skip(f"the number of exit on {platform.machine()} is not known here")
    words = [sys.executable, "-c", DYING.replace("EXIT", numbers[platform.machine()])]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        (identity,) = (one for one in ProcessIdentity.own().children() if one.pid == child.pid)
        assert child.stdout.readline() == "up\n"
        while identity.is_alive():  # until its first thread is dead
            os.sched_yield()
        assert not identity.wait(0.0)
        assert identity.wait(20.0)
