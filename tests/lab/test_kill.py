"""kill -9 at any moment leaves nothing: no process, namespace, interface."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
from orphans import Orphans

KILLS = 50
SEED = 20260101


def test_killed_at_random_moments_leaves_nothing(record_property: pytest.RecordProperty) -> None:
    interfaces = [name for _, name in socket.if_nameindex()]
    program = Path(__file__).with_name("killed_lab.py")
    command = [sys.executable, str(program), str(KILLS), str(SEED)]
    done = subprocess.run(command, stdout=subprocess.PIPE, timeout=600, check=True)
    deaths = json.loads(done.stdout)
    assert len(deaths) == KILLS
    assert all(death["killed"] for death in deaths), "a lab ended before it was killed"
    assert [death["left"] for death in deaths if death["left"]] == []
    assert all(death["interfaces"] == interfaces for death in deaths)
    # The moments must have been spread over making, running and closing.
    assert sum(death["ups"] == 0 for death in deaths) >= 5
    assert sum(death["ups"] > 0 for death in deaths) >= 5
    worst_s = max(death["gone_s"] for death in deaths)
    record_property("gone_s", worst_s)
    print(f"{KILLS} kills, all gone after at most {worst_s * 1e3:.0f} ms")


COPY_HOLDS_THE_SOCKET = """
import os, sys, time
from netlab.lab import Lab
lab = Lab().open()
process = lab.add_host("edge").start(["sleep", "1000"])
copy = os.fork()
if copy == 0:
    time.sleep(1000)
print(process.pid, copy, flush=True)
time.sleep(1000)
"""


def test_a_forked_copy_of_netlab_does_not_keep_a_dead_lab_alive() -> None:
    orphans = Orphans()
    netlab = subprocess.Popen([sys.executable, "-c", COPY_HOLDS_THE_SOCKET], stdout=subprocess.PIPE, text=True)
    assert netlab.stdout is not None
    with netlab.stdout:
        process, copy = (int(word) for word in netlab.stdout.readline().split())
    try:
        netlab.kill()
        netlab.wait(30)
        os.kill(copy, 0)  # the copy lives, and with it the socket's other end
        assert _ended(process), "the parent-death signal did not end the keeper"
    finally:
        os.kill(copy, signal.SIGKILL)
        orphans.bury()


def _ended(pid: int, within_s: float = 30.0) -> bool:
    deadline_s = time.monotonic() + within_s
    while time.monotonic() < deadline_s:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.01)
    return False


def test_a_killed_keeper_is_an_error_that_says_so() -> None:
    from netlab.errors import LabError
    from netlab.lab import Lab

    lab = Lab("keeperless").open()
    process = lab.add_host("edge").start(["sleep", "1000"])
    children = Path(f"/proc/{os.getpid()}/task").glob("*/children")
    keepers = [int(pid) for path in children for pid in path.read_text().split()]
    keeper = next(pid for pid in keepers if b"keeper" in Path(f"/proc/{pid}/cmdline").read_bytes())
    os.kill(keeper, signal.SIGKILL)
    with pytest.raises(LabError, match=r"keeper of lab keeperless died \(exit code -9\)"):
        process.wait(30)
    assert _ended(process.pid)
    with pytest.raises(LabError, match="keeper of lab keeperless died"):
        lab.hosts["edge"].start(["true"])
    with pytest.raises(BaseExceptionGroup, match="closing lab keeperless") as caught:
        lab.close()
    assert all("keeper of lab keeperless died" in str(error) for error in caught.value.exceptions)
