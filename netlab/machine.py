"""machine: what a result says of where it was measured: processor, kernel, guest, engine, clock, memory.

Roof. Reads this process and /proc, changes nothing.
"""

from __future__ import annotations

import os
import platform
from pathlib import Path

from netlab.clock_name import VIRTUAL, clock_name

__all__ = ["ENGINE_VARIABLE", "GUEST_VARIABLE", "engine_name", "inside_guest", "machine"]

ENGINE_VARIABLE = "NETLAB_ENGINE"
"""Tells the programs of a lab what its wiring is called; a lab's host sets it, nobody else."""
GUEST_VARIABLE = "NETLAB_GUEST"
"""Names the guest kernel that a process runs on; the launcher of the guest sets it."""

_KERNEL = "host"


def inside_guest() -> str | None:
    """Return the identity of the guest kernel we run in (release and SHA-256), or None on a host."""
    return os.environ.get(GUEST_VARIABLE)


def engine_name(wiring: str = "") -> str:
    """Return what results call the thing that carries a lab's packets: ``host``, ``relay``, ``guest``, ``model``.

    Args:
        wiring: The wiring's name; that of the lab whose program we are unless given. The kernel's own is called
            ``guest`` inside a guest.
    """
    name = wiring or os.environ.get(ENGINE_VARIABLE) or _KERNEL
    return "guest" if name == _KERNEL and inside_guest() else name


def machine(wiring: str = "", clock: str = "") -> dict[str, object]:
    """Return what a result says of the machine it was measured on.

    ``engine`` and ``clock`` together are the corner: host, relay, guest real, guest virtual, model. ``guest`` is
    the guest kernel's release and SHA-256. ``not_claimable`` says which figures mean nothing under this clock.

    Args:
        wiring: Name of the wiring of the labs in question; see ``engine_name``.
        clock: By which clock; this process's unless given.
    """
    clock = clock or clock_name()
    found: dict[str, object] = {
        "cpu": _field("/proc/cpuinfo", "model name") or platform.processor() or platform.machine(),
        "cpus": len(os.sched_getaffinity(0)),
        "memory_bytes": _memory_bytes(),
        "kernel": f"{platform.system()} {platform.release()}",
        "guest": inside_guest(),
        "engine": engine_name(wiring),
        "clock": clock,
        "python": platform.python_version(),
    }
    if clock == VIRTUAL:
        found["not_claimable"] = "deadlines and processing time: computing is free in virtual time"
    return found


def _memory_bytes() -> int | None:
    """Return the memory of this kernel: in a guest the guest's."""
    words = _field("/proc/meminfo", "MemTotal").split()
    return int(words[0]) * 1024 if words and words[0].isdecimal() else None


def _field(path: str, name: str) -> str:
    """Return the first value of a name in one of /proc's tables; empty where it has none, or there is no /proc."""
    try:
        text = Path(path).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    for line in text.splitlines():
        key, _, value = line.partition(":")
        if key.strip() == name:
            return value.strip()
    return ""
