"""Labs that stay, for tests: the command line in a runtime folder of the test's own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from orphans import Orphans

SPEC = """
name = "two"

[hosts.a]
command = ["sleep", "1000"]

[hosts.b]

[[link]]
ends = ["a", "b"]
name = "radio"
"""

# Says when it listens, then prints the number of each packet until one says it is the last.
RECEIVE = """
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 22)
s.bind(("", 5000))
s.settimeout(60)
print("up", flush=True)
while True:
    data = s.recv(100).decode()
    print(data, flush=True)
    if data == "last":
        break
"""
SEND = """
import os, socket, sys
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for text in sys.argv[1].split(","):
    s.sendto(text.encode(), (os.environ["NETLAB_PEER"], 5000))
"""


class StayingLabs:
    """Runs ``netlab lab ...``; at the end no lab may be left."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.on: tuple[str, ...] = ()  # said of every command, a relay of `up` alone
        self.runtime = folder / "run"
        self.spec = folder / "two.toml"
        self.spec.write_text(SPEC)
        self.environment = {**os.environ, "NETLAB_RUNTIME_DIR": str(self.runtime), "NETLAB_STAYING": str(folder)}
        self._orphans = Orphans()

    def command(self, name: str, *words: object) -> list[str]:
        on = () if name != "up" and "relay" in self.on else self.on
        return [sys.executable, "-P", "-m", "netlab", "lab", name, *on, *map(str, words)]

    def run(self, *words: object, timeout: float = 180, **options: Any) -> subprocess.CompletedProcess[str]:
        options = {"env": self.environment, "start_new_session": True, "stdin": subprocess.DEVNULL} | options
        if "input" in options:
            del options["stdin"]
        return subprocess.run(
            self.command(*map(str, words)), capture_output=True, text=True, check=False, timeout=timeout, **options
        )

    def start(self, *words: object, **options: Any) -> subprocess.Popen[str]:
        options = {"env": self.environment, "start_new_session": True, "stdin": subprocess.DEVNULL} | options
        return subprocess.Popen(
            self.command(*map(str, words)), text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options
        )

    def up(self, *words: object) -> dict[str, Any]:
        done = self.run("up", *(words or (self.spec,)), "--json")
        assert done.returncode == 0, done.stderr
        return dict(json.loads(done.stdout))

    def show(self, name: str) -> dict[str, Any]:
        done = self.run("show", name, "--json")
        assert done.returncode == 0, done.stderr
        return dict(json.loads(done.stdout))

    def list(self) -> list[dict[str, Any]]:
        done = self.run("list", "--json")
        assert done.returncode == 0, done.stderr
        return list(json.loads(done.stdout)["labs"])

    def kill_holder(self, record: dict[str, Any]) -> None:
        """Kill a lab's holder and wait until it is dead, buried by us or not."""
        pid = record["holder"]["pid"]
        os.kill(pid, signal.SIGKILL)
        wait_until(lambda: state_of(pid) in ("", "Z"))

    def processes(self) -> list[str]:
        """Return what still runs of this test's labs, by a variable that all of it has."""
        mark = f"NETLAB_STAYING={self.folder}".encode()
        found = []
        for path in Path("/proc").glob("[0-9]*"):
            try:
                if mark in (path / "environ").read_bytes().split(b"\0"):
                    found.append((path / "cmdline").read_bytes().replace(b"\0", b" ").decode())
            except OSError:
                continue
        return found

    def rests(self) -> list[str]:
        """Return what lies in the runtime folder."""
        return sorted(path.name for path in self.runtime.iterdir()) if self.runtime.exists() else []

    def bury(self) -> None:
        self._orphans.bury()

    def close(self) -> None:
        self.run("down", "--all")
        self.bury()
        assert self.processes() == []
        assert self.rests() == []


def wait_until(is_so: Callable[[], object], within_s: float = 60.0) -> None:
    deadline_s = time.monotonic() + within_s
    while not is_so():
        assert time.monotonic() < deadline_s, "it did not come to that"
        time.sleep(0.02)


def state_of(pid: int) -> str:
    """Return the state of a process, a letter; nothing where it is gone."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return ""


def namespaces_of(pid: int) -> set[int]:
    """Return the network namespaces that the descriptors of a process hold, by inode."""
    return {inode for inode, holder in _namespace_holders() if holder == pid}


def namespaces_held(inodes: set[int]) -> set[int]:
    """Return which of these network namespaces any process is in or holds."""
    return inodes & {inode for inode, _ in _namespace_holders()}


def _namespace_holders() -> list[tuple[int, int]]:
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            links = [process / "ns/net", *(process / "fd").iterdir()]
            own = os.readlink(f"/proc/{os.getpid()}/ns/net")
        except OSError:
            continue
        for link in links:
            try:
                target = os.readlink(link)
            except OSError:
                continue
            if target.startswith("net:[") and target != own:
                found.append((int(target[5:-1]), int(process.name)))
    return found
