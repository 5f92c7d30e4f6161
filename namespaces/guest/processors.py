"""Processors: which CPU a guest is pinned to.

A guest hands over between its kernel and its programs at every system call; on one CPU that is three times
cheaper than across two (docs/guest.md), and it can use only one at a time anyway.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from netlab.errors import GuestError

__all__ = ["busy_ticks", "chosen_cpus", "idlest_first", "read_busy_ticks"]

_IDLE_FIELDS = (3, 4)  # idle, iowait


def busy_ticks(stat: str) -> dict[int, int]:
    """Return the ticks each CPU has been busy since it started.

    Args:
        stat: The text of ``/proc/stat``.
    """
    ticks = {}
    for line in stat.splitlines():
        name, *numbers = line.split()
        if name.startswith("cpu") and name != "cpu":
            # guest and guest_nice (fields 8, 9) are counted in user and nice already
            ticks[int(name[3:])] = sum(int(n) for i, n in enumerate(numbers[:8]) if i not in _IDLE_FIELDS)
    return ticks


def read_busy_ticks() -> dict[int, int]:
    """Return the ticks each CPU has been busy since it started, now."""
    return busy_ticks(Path("/proc/stat").read_text(encoding="ascii"))


def idlest_first(before: dict[int, int], after: dict[int, int], allowed: Iterable[int]) -> tuple[int, ...]:
    """Return CPUs ordered by how busy they were between two readings; the last first where that is equal.

    The last, because interrupts and whatever else prefers a CPU mostly prefer the first.
    """
    return tuple(sorted(allowed, key=lambda cpu: (after.get(cpu, 0) - before.get(cpu, 0), -cpu)))


def chosen_cpus(cpu: int | None, before: dict[int, int]) -> tuple[int, ...]:
    """Return the CPUs a guest may go to, best first: the one asked for, else those we may use, idlest first.

    Raises:
        GuestError: We may not use the one asked for.
    """
    allowed = os.sched_getaffinity(0)
    if cpu is None:
        return idlest_first(before, read_busy_ticks(), allowed)
    if cpu not in allowed:
        raise GuestError(
            f"guest: CPU {cpu}: not one of those this process may use ({', '.join(map(str, sorted(allowed)))})",
            hint="name one of them, or leave the choice to netlab",
        )
    return (cpu,)
