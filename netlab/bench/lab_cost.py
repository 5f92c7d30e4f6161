"""A two-host lab, up and down: netlab against the same network made by ``ip`` and ``tc``."""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from netlab.bench.figure import Figure, spread_text
from netlab.errors import FeatureMissing
from netlab.lab import Lab
from netlab.namespaces.features import kernel_features
from netlab.namespaces.syscalls import CLONE_NEWNS, MS_PRIVATE, MS_REC, mount, unshare

__all__ = ["lab_vs_iproute"]

TARGET = 3.0
ROUNDS = 15
_PROFILE = "delay=10ms,loss=1%"


def lab_vs_iproute(say: Callable[[str], None]) -> Figure:
    """Compare both, in turn; with netem on both directions where this kernel has it."""
    programs = [shutil.which(name, path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin") for name in ("ip", "tc")]
    if None in programs:
        raise FeatureMissing("compare with ip and tc", words="they are not there", hint="apt-get install iproute2")
    ip, tc = (str(program) for program in programs)
    with_netem = kernel_features().netem
    _make_lab(with_netem)  # the first imports
    ours_s, theirs_s = [], []
    with ThreadPoolExecutor(1, initializer=_enter_private_mounts) as private:
        for _ in range(ROUNDS):
            ours_s.append(_seconds(lambda: _make_lab(with_netem)))
            theirs_s.append(private.submit(_seconds, lambda: _run_commands(ip, tc, with_netem)).result())
    ratios = [slow / fast for slow, fast in zip(theirs_s, ours_s, strict=True)]
    value = statistics.median(ratios)
    return Figure(
        name="lab-vs-iproute",
        value=value,
        unit="times faster than ip and tc",
        target=f"at least {TARGET:g}",
        holds=value >= TARGET,
        n=ROUNDS,
        spread=spread_text(ratios, "times"),
        note=f"{'with' if with_netem else 'without'} netem: {1e3 * statistics.median(ours_s):.1f} ms against "
        f"{1e3 * statistics.median(theirs_s):.0f} ms",
    )


def _enter_private_mounts() -> None:
    """Leave this thread, and what it starts, with a /run of its own: ``ip netns`` keeps its names there.

    They vanish with the thread then, whatever happens to us.
    """
    unshare(CLONE_NEWNS)
    mount("none", "/", "", MS_REC | MS_PRIVATE)
    mount("tmpfs", "/run", "tmpfs", 0)


def _make_lab(with_netem: bool) -> None:
    with Lab() as lab:
        lab.add_link(lab.add_host("a"), lab.add_host("b"), _PROFILE if with_netem else None)


def _run_commands(ip: str, tc: str, with_netem: bool) -> None:
    """Make and remove the same three namespaces, two veth pairs, addresses, neighbours and redirections."""
    mark = f"nlb{os.getpid()}"
    a, wire, b = f"{mark}a", f"{mark}w", f"{mark}b"
    for name in (a, wire, b):
        _run(ip, "netns", "add", name)
    for host, end, own, other in ((a, "wa", 1, 2), (b, "wb", 2, 1)):
        _run(
            ip, "link", "add", "eth0", "netns", host, "address", f"02:00:00:00:00:0{own}", "gso_max_segs", "1",
            "type", "veth", "peer", "name", end, "netns", wire,
        )  # fmt: skip
        _run(ip, "-n", host, "addr", "add", f"10.77.0.{own}/30", "dev", "eth0")
        _run(ip, "-n", host, "link", "set", "lo", "up")
        _run(ip, "-n", host, "link", "set", "eth0", "up")
        _run(ip, "-n", wire, "link", "set", end, "up")
        _run(
            ip, "-n", host, "neigh", "add", f"10.77.0.{other}", "lladdr", f"02:00:00:00:00:0{other}",
            "dev", "eth0", "nud", "permanent",
        )  # fmt: skip
    for come, go in (("wa", "wb"), ("wb", "wa")):
        _run(tc, "-n", wire, "qdisc", "add", "dev", come, "ingress")
        _run(
            tc, "-n", wire, "filter", "add", "dev", come, "parent", "ffff:", "protocol", "all", "u32",
            "match", "u32", "0", "0", "action", "mirred", "egress", "redirect", "dev", go,
        )  # fmt: skip
        if with_netem:
            _run(tc, "-n", wire, "qdisc", "add", "dev", go, "root", "netem", "delay", "10ms", "loss", "1%")
    for name in (a, wire, b):
        _run(ip, "netns", "del", name)


def _run(*words: str) -> None:
    subprocess.run(words, check=True, close_fds=False, stdin=subprocess.DEVNULL)


def _seconds(act: Callable[[], None]) -> float:
    begin = time.perf_counter()
    act()
    return time.perf_counter() - begin
