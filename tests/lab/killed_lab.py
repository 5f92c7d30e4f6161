"""Kills running labs at random moments and tells what they left; a program of its own for test_kill.py.

Usage: killed_lab.py KILLS SEED [PROFILE]. Forks a child for each lab, so that importing netlab is paid for once.
"""

from __future__ import annotations

import json
import os
import random
import signal
import socket
import sys
import time
from pathlib import Path

from netlab.lab import Lab
from netlab.namespaces.features import kernel_features
from netlab.namespaces.syscalls import set_subreaper

GONE_WITHIN_S = 30.0
# A process, a child that ignores polite requests, and a daemon in a session of its own.
FAMILY = "trap '' TERM HUP INT; sleep 1000 & (setsid sh -c 'trap \"\" TERM; sleep 1000' &) ; wait"


def live(token: str, report_fd: int, profile: str | None) -> None:
    """Make a lab with everything in it, over and over; never returns."""
    os.environ["NETLAB_KILL_TEST"] = token
    while True:
        with Lab() as lab:
            edge, agent = lab.add_host("edge"), lab.add_host("agent")
            for node in (edge.node, agent.node):
                os.write(report_fd, f"{node.namespace.inode}\n".encode())
            lab.add_link(edge, agent, profile)
            os.write(report_fd, f"{lab.links['edge-agent'].wire.namespace.inode}\n".encode())
            lab.play()  # which does nothing unless the profile has schedules
            for host in (edge, agent, edge):
                host.start(["sh", "-c", FAMILY])
            os.write(report_fd, b"up\n")
            time.sleep(0.1)


def time_to_up_s(profile: str | None) -> float:
    """Return how long this machine takes until a first lab is up."""
    read_fd, write_fd = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            live("warm-up", write_fd, profile)
        finally:
            os._exit(1)
    os.close(write_fd)
    began_s = time.monotonic()
    reported = b""
    while b"up" not in reported:
        reported += os.read(read_fd, 4096)
    took_s = time.monotonic() - began_s
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    os.close(read_fd)
    return took_s


def left(token: str, inodes: set[int]) -> list[str]:
    """Return what can still be seen of a lab: processes that carry its token, holders of its namespaces."""
    found = []
    mark = f"NETLAB_KILL_TEST={token}".encode()
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if mark in (process / "environ").read_bytes().split(b"\0"):
                found.append(f"process {process.name}: {(process / 'cmdline').read_bytes()!r}")
            if os.stat(process / "ns/net").st_ino in inodes:
                found.append(f"namespace held by process {process.name}")
            for link in (process / "fd").iterdir():
                target = os.readlink(link)
                if target.startswith("net:[") and int(target[5:-1]) in inodes:
                    found.append(f"namespace held by descriptor {link}")
        except OSError:  # it ended while we looked
            continue
    return found


def bury_adopted() -> bool:
    """Collect dead keepers, which have become our children; True when none is left."""
    try:
        while os.waitpid(-1, os.WNOHANG) != (0, 0):
            pass
    except ChildProcessError:
        return True
    return False


def one_kill(number: int, life_s: float, profile: str | None) -> dict[str, object]:
    token = f"{os.getpid()}-{number}"
    read_fd, write_fd = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read_fd)
        try:
            live(token, write_fd, profile)
        finally:
            os._exit(1)
    os.close(write_fd)
    time.sleep(life_s)
    os.kill(child, signal.SIGKILL)
    killed_s = time.monotonic()
    _, status = os.waitpid(child, 0)
    reported = b""
    while piece := os.read(read_fd, 65536):  # ends when nobody holds the pipe: no child of the lab has it
        reported += piece
    os.close(read_fd)
    lines = reported.decode().splitlines()
    inodes = {int(line) for line in lines if line.isdigit()}
    while time.monotonic() - killed_s < GONE_WITHIN_S:
        found = left(token, inodes)
        if bury_adopted() and not found:
            break
        time.sleep(0.005)
    return {
        "killed": os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL,
        "life_s": life_s,
        "ups": lines.count("up"),
        "gone_s": time.monotonic() - killed_s,
        "left": found,
        "interfaces": [name for _, name in socket.if_nameindex()],
    }


if __name__ == "__main__":
    kills, seed = int(sys.argv[1]), int(sys.argv[2])
    profile = sys.argv[3] if len(sys.argv) > 3 else None
    chance = random.Random(seed)
    set_subreaper()
    if profile:
        kernel_features()  # probed once, before the first fork
    up_s = min(time_to_up_s(profile) for _ in range(3))  # a busy machine makes others longer
    longest_s = 3.0 * up_s  # making, running and closing all get their share
    print(json.dumps([one_kill(n, chance.uniform(0.0, longest_s), profile) for n in range(kills)]))
