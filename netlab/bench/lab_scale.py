"""A star of 1,001 hosts: how long until it is up, and until the kernel has removed the last device of it.

::

    hub ---- host 0
     |`----- host 1        the hub is closed last, and the kernel cleans namespaces in the order of closing: when
     `------ ...           an interface in the hub is gone, so are all
"""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from netlab.bench.figure import Figure, spread_text
from netlab.errors import LabError
from netlab.lab import Lab
from netlab.lab_links import LinkOrder
from netlab.namespaces.features import kernel_features
from netlab.namespaces.host import Host
from netlab.namespaces.node import Node

__all__ = ["lab_1000"]

TARGET_UP_S, TARGET_DOWN_S, TARGET_RATIO = 10.0, 5.0, 2.0
LINKS = 1000
ROUNDS = 3
"""Stars of each size; the small ones are made ten times as often."""
_PROFILE = "delay=10ms,loss=1%"
_GONE_S = 120.0
_LOOK_S = 0.005


class _Star(NamedTuple):
    """What one star cost: seconds, those of this process's processor time, and memory a link."""

    up_s: float
    busy_s: float
    down_s: float
    kernel_kib: float
    process_kib: float


def lab_1000(say: Callable[[str], None]) -> Figure:
    """Make and remove stars of 10, 100 and 1,000 links, with netem on both directions where this kernel has it."""
    profile = _PROFILE if kernel_features().netem else None
    _make_star(1, profile)  # the first imports
    stars: dict[int, list[_Star]] = {}
    for links in (LINKS, 100, 10):  # the largest first: it finds the caches empty
        count = ROUNDS if links == LINKS else 10 * ROUNDS if links == 10 else 2 * ROUNDS
        stars[links] = [_make_star(links, profile) for _ in range(count)]
        say(f"lab-1000: {_text(links, stars[links])}")
    return _figure(stars, profile)


def _figure(stars: dict[int, list[_Star]], profile: str | None) -> Figure:
    """Return the figure of stars by their number of links."""
    large = stars[LINKS]
    up_s, down_s = (statistics.median(getattr(star, field) for star in large) for field in ("up_s", "down_s"))
    ratio = _cost_s(large) / LINKS / (_cost_s(stars[10]) / 10)
    return Figure(
        name="lab-1000",
        value=up_s,
        unit="s until a star of 1,001 hosts is up",
        target=f"at most {TARGET_UP_S:g}; down {TARGET_DOWN_S:g} s; a link {TARGET_RATIO:g} times one of 10",
        holds=up_s <= TARGET_UP_S and down_s <= TARGET_DOWN_S and ratio <= TARGET_RATIO,
        n=len(large),
        spread=spread_text([star.up_s for star in large], "s"),
        note=f"{'netem on both directions' if profile else 'clean links: no netem here'}; down in {down_s:.2f} s; "
        f"a link costs {ratio:.2f} times one of a star of 10; "
        + "; ".join(_text(links, made) for links, made in sorted(stars.items())),
    )


def _make_star(links: int, profile: str | None) -> _Star:
    """Make a star and remove it."""
    gc.collect()
    kernel_kib, process_kib = _kernel_kib(), _process_kib()
    began_s, busy_s = time.perf_counter(), time.process_time()
    with Lab() as lab, Node.open("the watcher of devices") as watcher:
        hub = lab.add_host("hub")
        hosts = [lab.add_host(f"host{number}") for number in range(links)]
        lab.add_links([LinkOrder(hub, host, profile) for host in hosts])
        up_s, busy_s = time.perf_counter() - began_s, time.process_time() - busy_s
        kernel_kib, process_kib = _kernel_kib() - kernel_kib, _process_kib() - process_kib
        for number, host in enumerate((hub, hosts[-1])):
            _watch(watcher, host, f"watch{number}")
        began_s = time.perf_counter()
        lab.close()
        while any(entry.kind == "veth" for entry in watcher.routes.links()):
            if time.perf_counter() > began_s + _GONE_S:
                raise LabError(f"a star of {links} links: its devices are there {_GONE_S:g} s after it was closed")
            time.sleep(_LOOK_S)
        down_s = time.perf_counter() - began_s
    return _Star(up_s, busy_s, down_s, kernel_kib / links, process_kib / links)


def _watch(watcher: Node, host: Host, name: str) -> None:
    """Make a veth pair whose end in the watcher is gone when the host is."""
    watcher.routes.add_veth(name, "watched", peer_netns_fd=host.node.namespace.fd)


def _cost_s(stars: list[_Star]) -> float:
    return statistics.median(star.up_s + star.down_s for star in stars)


def _text(links: int, stars: list[_Star]) -> str:
    up_s, busy_s, down_s = (statistics.median(column) for column in list(zip(*stars, strict=True))[:3])
    text = (
        f"{links} links: up {up_s:.3f} s ({busy_s:.3f} s of processor time), down {down_s:.3f} s "
        f"(n = {len(stars)}), {1e3 * up_s / links:.2f} ms a link"
    )
    if links < LINKS:
        return text
    # The first: those after it take what it has left in the caches.
    first = stars[0]
    return f"{text}, {first.kernel_kib:.0f} KiB a link in the kernel, {first.process_kib:.1f} KiB here"


def _kernel_kib() -> float:
    """Return what the kernel's own structures take on the whole machine (others disturb it)."""
    lines = (line.split() for line in Path("/proc/meminfo").read_text(encoding="utf-8").splitlines())
    return float(sum(int(line[1]) for line in lines if line[0] in ("Slab:", "Percpu:")))


def _process_kib() -> float:
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    return float(next(line.split()[1] for line in lines if line.startswith("VmRSS:")))
