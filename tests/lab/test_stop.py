"""A command that is told to end leaves nothing: no key, no folder, no process, no half a result."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

WAIT_S = 60.0
EPISODE = """
[hosts.edge]
[hosts.agent]
[[link]]
ends = ["edge", "agent"]
[episode]
edge = "edge"
agent = "agent"
episodes = 1000
"""
COMMANDS = '[hosts.a]\ncommand = ["sleep", "300"]\n'


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize(
    ("words", "spec", "begun"),
    [
        (("demo", "--on", "relay", "--network", "delay=5ms", "--labs", "1", "--episodes", "1000"), "", "env"),
        (("lab", "run", "lab.toml", "--on", "relay", "--output", "r.json"), EPISODE, "env"),
        (("lab", "run", "lab.toml", "--on", "relay"), COMMANDS, "sleep"),
        (("bench", "loop-50"), "", "env"),
        (("exec", "--profile", "delay=5ms", "--on", "relay", "--", "sleep", "300"), "", "sleep"),
    ],
    ids=["demo", "episode", "lab run", "bench", "exec"],
)
def test_a_signal_ends_a_command_in_order(
    words: tuple[str, ...], spec: str, begun: str, number: signal.Signals, tmp_path: Path
) -> None:
    (tmp_path / "lab.toml").write_text(spec)
    runtime = tmp_path / "runtime"
    runtime.mkdir(mode=0o700)
    with subprocess.Popen(
        [sys.executable, "-P", "-m", "netlab", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=tmp_path,
        env={**os.environ, "XDG_RUNTIME_DIR": str(runtime)},
        text=True,
    ) as command:
        wait_for_program(command, begun)
        command.send_signal(number)
        _, errors = command.communicate(timeout=WAIT_S)
    assert command.returncode == 128 + number, errors
    assert "Traceback" not in errors
    if begun == "env":
        assert f"netlab: ended by {number.name}" in errors
    assert list(runtime.glob("netlab-run-*")) == []
    assert not (tmp_path / "r.json").exists()


def wait_for_program(command: subprocess.Popen[str], name: str) -> None:
    """Wait until a program of this name, or a netlab command of it, runs below a command."""
    deadline_s = time.monotonic() + WAIT_S
    while time.monotonic() < deadline_s:
        assert command.poll() is None, command.communicate()
        for entry in Path("/proc").iterdir():
            if entry.name.isdecimal() and is_below(command.pid, int(entry.name)):
                try:
                    words = (entry / "cmdline").read_bytes().decode().split("\0")
                except OSError:
                    continue
                if name in words:
                    time.sleep(0.3)
                    return
        time.sleep(0.05)
    raise AssertionError(f"no {name} below {command.pid}")


def is_below(ancestor: int, pid: int) -> bool:
    while pid > 1 and pid != ancestor:
        try:
            pid = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
        except OSError:
            return False
    return pid == ancestor
