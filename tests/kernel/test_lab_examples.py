from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from netlab.lab import Lab

EXAMPLES = Path(__file__).parents[2] / "examples"


def test_two_hosts_py() -> None:
    program = [sys.executable, str(EXAMPLES / "two_hosts.py")]
    done = subprocess.run(program, capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    found = re.findall(r"^(\d+) ms each way: a round trip of (\d+) ms$", done.stdout, re.MULTILINE)
    assert [asked for asked, _ in found] == ["10", "50", "100"]
    for asked, measured in found:  # a guest kernel is late by a few ms, sometimes by a scheduler's turn
        assert 2 * int(asked) <= int(measured) <= 2 * int(asked) + 20


def test_two_hosts_toml() -> None:
    if shutil.which("curl") is None:
        pytest.skip("no curl here")
    with Lab.from_toml(EXAMPLES / "two_hosts.toml") as lab:
        commands = lab.start_commands()
        client = next(process for process in commands if process.argv[0] == "sh")
        assert client.wait(30) == 0
        lab.check()
        # Two round trips at 80 ms on average, more where a segment was lost.
        assert 0.05 < float(client.last_lines().split()[0]) < 20
