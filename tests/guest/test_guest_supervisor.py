"""The supervisor's last act: nothing below it survives, in whatever group or session it hides."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

import netlab

ENDING = """
import os, sys, time
sys.path.insert(0, sys.argv[1])
from netlab.namespaces import syscalls
from netlab.namespaces.guest import supervisor
syscalls.set_subreaper()
read_end, write_end = os.pipe()
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.setsid()  # as a guest kernel does
        if os.fork() == 0:
            os.setsid()
            os.write(write_end, b"x")
        time.sleep(60)
    time.sleep(60)
os.read(read_end, 1)
if sys.argv[2] == "search":
    supervisor._children = supervisor._children_by_search
supervisor._end_descendants()
"""


@pytest.mark.parametrize("way", ["list", "search"])
def test_descendants_in_sessions_of_their_own_are_ended(way: str) -> None:
    begin = time.monotonic()
    root = str(Path(netlab.__file__).parents[1])
    subprocess.run(
        [sys.executable, "-c", ENDING, root, way], check=True, timeout=50
    )  # a child left would be waited for
    assert time.monotonic() - begin < 45
