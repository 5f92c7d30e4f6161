"""A relay that dies in the middle: whatever was being done has no result, and says so."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from netlab.errors import LabError
from netlab.lab import Lab
from netlab.namespaces.relay.direction import RelayDirection
from netlab.namespaces.relay.wiring import RelayWiring

WAIT_S = 60.0
SPEC = """
[hosts.edge]
{command}
[hosts.agent]
[[link]]
ends = ["edge", "agent"]
profile = "delay=5ms"
"""
EPISODE = """
[episode]
edge = "edge"
agent = "agent"
episodes = 1000
"""


@pytest.mark.parametrize(
    ("words", "spec", "begun"),
    [
        (("demo", "--network", "delay=5ms", "--labs", "1", "--episodes", "1000", "--output", "r.json"), "", "env"),
        (("lab", "run", "lab.toml", "--output", "r.json"), SPEC.format(command="") + EPISODE, "env"),
        (("lab", "run", "lab.toml"), SPEC.format(command='command = ["sleep", "300"]'), "sleep"),
        (("exec", "--profile", "delay=5ms", "--packets", "r.json", "--", "sleep", "300"), "", "sleep"),
        (("exec", "--profile", "delay=5ms", "--", "sleep", "300"), "", "sleep"),
    ],
    ids=["experiment", "episode", "lab run", "exec packets", "exec"],
)
def test_a_dead_relay_is_an_error_and_no_result(
    words: tuple[str, ...], spec: str, begun: str, tmp_path: Path
) -> None:
    (tmp_path / "lab.toml").write_text(spec)
    # Not --json: the demo's progress goes to stderr, a result would go to stdout.
    with subprocess.Popen(
        [sys.executable, "-P", "-m", "netlab", words[0], *insert_engine(words)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=tmp_path,
        text=True,
    ) as command:
        relay = wait_for(command.pid, "relay.server", begun)
        time.sleep(0.5)
        os.kill(relay, signal.SIGKILL)
        killed_s = time.monotonic()
        output, errors = command.communicate(timeout=WAIT_S)
    assert command.returncode == 1, errors
    assert "the relay of lab" in errors and "died" in errors
    assert "Traceback" not in errors
    assert output == ""
    assert not (tmp_path / "r.json").exists()
    assert time.monotonic() - killed_s < 50


def insert_engine(words: tuple[str, ...]) -> list[str]:
    """Return the words after the first, with ``--on relay`` before what is the program's own."""
    rest = [*words[1:]]
    at = rest.index("--") if "--" in rest else len(rest)
    return [*rest[:at], "--on", "relay", *rest[at:]]


def wait_for(command: int, program: str, begun: str) -> int:
    """Return the child of a command that runs a program, once another of its descendants runs as well."""
    deadline_s = time.monotonic() + WAIT_S
    while time.monotonic() < deadline_s:
        lines = {pid: words for pid, words in processes().items() if command in ancestors(pid)}
        found = [pid for pid, words in lines.items() if program in words]
        if found and any(words.split()[-1:] and begun in words.split() for words in lines.values()):
            return found[0]
        time.sleep(0.05)
    raise AssertionError(f"no {program} or no {begun} below {command}")


def processes() -> dict[int, str]:
    found = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                found[int(entry.name)] = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()
            except OSError:
                continue
    return found


def ancestors(pid: int) -> set[int]:
    found: set[int] = set()
    while pid > 1:
        try:
            pid = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
        except OSError:
            break
        found.add(pid)
    return found


def test_closing_says_that_the_relay_had_died() -> None:
    lab = Lab("closing", wiring=RelayWiring()).open()
    lab.add_link(lab.add_host("a"), lab.add_host("b"), "delay=5ms", name="one")
    lane = lab.links["one"].forward
    assert isinstance(lane, RelayDirection)
    os.kill(lane.relay.pid, signal.SIGKILL)
    while not lane.relay.is_dead:
        time.sleep(0.01)
    with pytest.raises(LabError, match="died"):
        lab.close()


def test_programs_of_a_relayed_lab_are_told_what_carries_their_packets() -> None:
    with Lab("told", wiring=RelayWiring()) as lab:
        host = lab.add_host("a")
        told = host.start(["sh", "-c", "echo $NETLAB_ENGINE"])
        told.wait(30)
        assert told.last_lines() == "relay"
