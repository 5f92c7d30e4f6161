"""Observation -> action between two hosts, frames sealed, against a bare socket ping-pong of the same bytes."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Sequence

import numpy as np

from netlab.bench import ping_pong
from netlab.bench.figure import Figure
from netlab.lab import Lab
from netlab.lab_key import lab_key
from netlab.run_folder import run_folder

__all__ = ["rtt_vs_socket"]

P50_TARGET = 1.5
P99_TARGET = 2.0
AGENT_PORT, ECHO_PORT = 7447, 7448
BUDGET_S = 120.0


def rtt_vs_socket(say: Callable[[str], None]) -> Figure:
    """Measure both in the same two processes' hosts, in blocks, in turn, on a clean link."""
    with run_folder("rtt") as folder, Lab() as lab:
        key_file, found_file, ready = folder / "lab.key", folder / "found.json", folder / "ready"
        lab_key().write(key_file)
        edge, agent = lab.add_host("edge"), lab.add_host("agent")
        lab.add_link(edge, agent)
        services = [
            agent.start(_module("netlab", "agent", "serve", "--bind", f"{agent.address}:{AGENT_PORT}",
                                "--policy", "linear", "--key-file", key_file, "--ready-file", ready)),
            agent.start(_module(ping_pong.__name__, "echo", agent.address, ECHO_PORT)),
        ]  # fmt: skip
        asking = edge.start(
            _module(ping_pong.__name__, "ask", agent.address, AGENT_PORT, ECHO_PORT, key_file), stdout=found_file
        )
        placed = _give_each_host_a_cpu([*(service.pid for service in services)], asking.pid)
        asking.wait(BUDGET_S)
        asking.check()
        for service in services:
            service.check()
        found = json.loads(found_file.read_text().splitlines()[-1])
    return _figure(found["netlab_ns"], found["bare_ns"], found["frame_bytes"], placed)


def _give_each_host_a_cpu(agent_pids: Sequence[int], edge_pid: int) -> str:
    """Pin what runs in one host to one CPU and the other host's to another, as two machines would have them."""
    cpus = sorted(os.sched_getaffinity(0))
    if len(cpus) < 2:
        return "both hosts on the one CPU there is"
    for pid in agent_pids:
        os.sched_setaffinity(pid, {cpus[0]})
    os.sched_setaffinity(edge_pid, {cpus[1]})
    return "each host on a CPU of its own"


def _figure(netlab_ns: list[int], bare_ns: list[int], frame_bytes: list[int], placed: str) -> Figure:
    ours, bare = (
        np.quantile(values, (0.50, 0.99), method="inverted_cdf") / 1e3 for values in (netlab_ns, bare_ns)
    )
    p50, p99 = (float(ratio) for ratio in ours / bare)
    return Figure(
        name="rtt-vs-socket",
        value=p50,
        unit="times a bare ping-pong (p50)",
        target=f"p50 within {P50_TARGET:g}, p99 within {P99_TARGET:g}",
        holds=p50 <= P50_TARGET and p99 <= P99_TARGET,
        n=len(netlab_ns),
        spread=f"p99 {p99:.2f} times",
        note=f"p50 {ours[0]:.0f} us against {bare[0]:.0f} us, p99 {ours[1]:.0f} us against {bare[1]:.0f} us; "
        f"{frame_bytes[0]} bytes there, {frame_bytes[1]} back; {placed}",
    )


def _module(name: str, *words: object) -> list[str]:
    return [sys.executable, "-P", "-m", name, *(str(word) for word in words)]
