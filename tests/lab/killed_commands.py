"""Kills ``netlab lab COMMAND`` at random moments and tells what is left; a program of its own.

Usage: killed_commands.py COMMAND KILLS SEED FOLDER. Forks for each command, so that importing is paid for once.
``holder`` kills not the command but the holder that ``up`` has just started.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import socket
import sys
import time
from pathlib import Path
from typing import Any

import netlab.holder.client
import netlab.holder.execution
from netlab.cli.main import main
from netlab.holder.directory import LabDirectory
from netlab.namespaces.cgroup_folder import CgroupFolder
from netlab.namespaces.syscalls import set_subreaper

GONE_WITHIN_S = 60.0
QUIET_S = 0.3
FAMILY = "trap '' TERM HUP INT; sleep 1000 & (setsid sh -c 'trap \"\" TERM; sleep 1000' &) ; wait"
SPEC = f"""
name = "NAME"
[hosts.a]
command = ["sh", "-c", {json.dumps(FAMILY)}]
[hosts.b]
[[link]]
ends = ["a", "b"]
name = "radio"
"""
SLEEP = "sleep 555"
"""In an executed command, and in no other: its words tell them apart."""
TIMINGS = {"up": 2, "holder": 2, "down": 2, "gc": 3}
"""Of those that take seconds, or need a lab each time; five of the others."""
WORDS: dict[str, list[str]] = {
    "holder": ["up", "--on", "ENGINE", "SPEC"],
    "up": ["up", "--on", "ENGINE", "SPEC"],
    "list": ["list"],
    "show": ["show", "NAME"],
    "set": ["set", "NAME", "radio=delay=20ms"],
    "exec": ["exec", "NAME", "a", "--", "sh", "-c", f"trap '' TERM; {SLEEP} & {SLEEP}"],
    "down": ["down", "NAME"],
    "gc": ["gc"],
}


class Commands:
    """Commands in one runtime folder, and what they leave."""

    def __init__(self, folder: Path, engine: str) -> None:
        self.name = f"killed-{os.getpid()}"  # a name is taken for all of a network namespace
        self.spec = folder / "killed.toml"
        self.spec.write_text(SPEC.replace("NAME", self.name))
        self._places = {"SPEC": str(self.spec), "ENGINE": engine, "NAME": self.name}
        self.mark = f"NETLAB_KILL_TEST={os.getpid()}".encode()
        os.environ["NETLAB_KILL_TEST"] = str(os.getpid())
        os.environ["NETLAB_RUNTIME_DIR"] = str(folder / "run")
        self.runtime = folder / "run"
        self.ids: set[str] = set()

    def start(self, command: str) -> int:
        child = os.fork()
        if child == 0:
            nothing = os.open(os.devnull, os.O_RDWR)
            for fd in (0, 1, 2):
                os.dup2(nothing, fd)
            try:
                words = [self._places.get(word, word) for word in WORDS[command]]
                main(["lab", *words], standalone_mode=False)
            except SystemExit as end:
                os._exit(int(end.code or 0))
            finally:
                os._exit(0)
        return child

    def run(self, command: str) -> None:
        os.waitpid(self.start(command), 0)

    def entries(self) -> list[Any]:
        found = LabDirectory.of_this_user().entries()
        self.ids |= {entry.id for entry in found}
        return found

    def alive(self) -> list[Any]:
        return [entry for entry in self.entries() if entry.alive]

    def kill_holder(self) -> None:
        for entry in self.alive():
            entry.record.holder.send_signal(signal.SIGKILL)
            entry.record.holder.wait(30.0)

    def processes(self) -> list[str]:
        found = []
        for process in Path("/proc").glob("[0-9]*"):
            if int(process.name) == os.getpid():
                continue
            with contextlib.suppress(OSError):
                if self.mark in (process / "environ").read_bytes().split(b"\0"):
                    command = (process / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                    found.append(f"process {process.name}: {command}")
        return found

    def rests(self) -> list[str]:
        names = [path.name for path in self.runtime.iterdir()] if self.runtime.exists() else []
        groups = [str(path) for one in self.ids for path in CgroupFolder.plan(one).paths if path.exists()]
        return names + groups

    def left(self) -> list[str]:
        return self.processes() + self.rests() + namespaces_left(self.mark)


def namespaces_left(mark: bytes) -> list[str]:
    """Return which of the namespaces we have seen are still held: nothing may outlive its holder."""
    return [f"namespace {inode}" for inode in SEEN & _held_by_us(mark)]


SEEN: set[int] = set()


def note_namespaces(pid: int) -> None:
    """Remember the network namespaces that a holder has made."""
    own = os.readlink("/proc/self/ns/net")
    with contextlib.suppress(OSError):
        for link in Path(f"/proc/{pid}/fd").iterdir():
            with contextlib.suppress(OSError):
                target = os.readlink(link)
                if target.startswith("net:[") and target != own:
                    SEEN.add(int(target[5:-1]))


def _held_by_us(mark: bytes) -> set[int]:
    """Return the network namespaces that processes of ours are in or hold.

    Others' do not count: the kernel gives a dead namespace's number to the next one at once, and other tests
    make namespaces meanwhile.
    """
    held = set()
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if int(process.name) == os.getpid() or not _is_ours(int(process.name), mark):
                continue
            for link in (process / "ns/net", *(process / "fd").iterdir()):
                with contextlib.suppress(OSError):
                    target = os.readlink(link)
                    if target.startswith("net:["):
                        held.add(int(target[5:-1]))
    return held


def _is_ours(pid: int, mark: bytes) -> bool:
    """Tell whether a process has our mark, or descends from us: orphans of ours come to us."""
    if mark in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0"):
        return True
    while pid > 1:
        pid = int(Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()[1])
        if pid == os.getpid():
            return True
    return False


def bury() -> None:
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG) != (0, 0):
            pass


def settle(commands: Commands, is_wanted: Any) -> bool:
    """Wait until it is as wanted."""
    deadline_s = time.monotonic() + GONE_WITHIN_S
    while time.monotonic() < deadline_s:
        bury()
        if is_wanted():
            return True
        time.sleep(0.01)
    return False


def prepare(commands: Commands, command: str) -> None:
    if command in ("up", "holder"):
        return
    if not commands.alive():
        commands.run("up")
    assert commands.alive(), "a lab must be there before a command is killed that needs one"
    for entry in commands.alive():
        note_namespaces(entry.record.holder.pid)
    if command == "gc":
        commands.kill_holder()
        settle(commands, lambda: not commands.processes())


def one_kill(commands: Commands, command: str, life_s: float) -> dict[str, Any]:
    prepare(commands, command)
    child = commands.start(command)
    time.sleep(life_s)
    hit = False
    if command == "holder":  # too early or too late, and there is none to hit: then the lab stays
        for line in commands.processes():
            if "netlab.holder.holder" in line:
                pid = int(line.split()[1].rstrip(":"))
                note_namespaces(pid)
                os.kill(pid, signal.SIGKILL)
                hit = True
    else:
        for entry in commands.alive():
            note_namespaces(entry.record.holder.pid)
        with contextlib.suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    death = {"killed": hit or os.WIFSIGNALED(status), "life_s": life_s, "problem": ""}
    death["problem"] = AFTER[command](commands)
    death["interfaces"] = [name for _, name in socket.if_nameindex()]
    return death


def gone_or_up(commands: Commands) -> str:
    """After a killed ``up``: all is gone by itself, or the lab had been reported and stays."""
    settle(commands, lambda: not commands.processes() or time.monotonic() % 1.0 < 0.02)
    time.sleep(QUIET_S)
    if commands.alive():
        commands.run("down")
    return all_gone(commands)


def all_gone(commands: Commands) -> str:
    settle(commands, lambda: not commands.left())
    return "; ".join(commands.left())


def gone_after_gc(commands: Commands) -> str:
    if commands.alive():
        commands.run("down")
    commands.run("gc")
    return all_gone(commands)


def gone_after_down(commands: Commands) -> str:
    settle(commands, lambda: not commands.processes() or bool(commands.alive()))
    commands.run("down")
    return all_gone(commands)


def still_whole(commands: Commands) -> str:
    """After a killed question: its command is gone, the lab is not, and answers."""
    settle(commands, lambda: not [line for line in commands.processes() if SLEEP in line])
    rests = [line for line in commands.processes() if SLEEP in line]
    entries = commands.alive()
    if rests or len(entries) != 1:
        return f"{rests} {entries}"
    from netlab.holder.messages import ShowLab
    from netlab.holder.report import LabReport

    report = netlab.holder.client.ask(commands.name, ShowLab(), LabReport)
    return "" if report.name == commands.name and len(report.hosts) == 2 else repr(report)


AFTER = {
    "holder": gone_after_gc,
    "up": gone_or_up,
    "down": gone_after_down,
    "gc": gone_after_gc,
    "list": still_whole,
    "show": still_whole,
    "set": still_whole,
    "exec": still_whole,
}


def longest_life_s(commands: Commands, command: str) -> float:
    """Return how long the command takes here at its quickest, and some more."""
    if command == "exec":  # as long as it is let
        prepare(commands, command)
        return 0.6
    took_s = []
    for _ in range(TIMINGS.get(command, 5)):  # the first is the slowest, and a busy machine makes any slow
        prepare(commands, command)
        began_s = time.monotonic()
        commands.run(command)
        took_s.append(time.monotonic() - began_s)
        if command in ("up", "holder"):
            commands.run("down")
    return 1.3 * min(took_s)


if __name__ == "__main__":
    name, kills, seed, folder = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), Path(sys.argv[4])
    chance = random.Random(seed)
    set_subreaper()
    # A link is set where it can be impaired on any kernel.
    all_of_it = Commands(folder, "relay" if name == "set" else "host")
    longest_s = longest_life_s(all_of_it, name)
    deaths = []
    life_s = longest_s
    for _ in range(kills):
        deaths.append(one_kill(all_of_it, name, chance.uniform(0.0, life_s)))
        # One that ended first shows that it takes less than it took when it was timed, on a busy machine.
        life_s = min(longest_s, life_s * (1.03 if deaths[-1]["killed"] else 0.9))
    if all_of_it.alive():
        all_of_it.run("down")
    all_of_it.run("gc")
    print(json.dumps({"deaths": deaths, "longest_s": longest_s, "left": all_gone(all_of_it)}))
