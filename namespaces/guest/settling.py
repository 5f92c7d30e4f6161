"""Settling: pid 1 lets the last chance of a kernel's own start pass before virtual time begins for the command.

::

    boot ----.-----15 s .. 45 s: the kernel's own clean-up, once-----.----- command: SETTLING_S after boot
             `--- pid 1 waits, a second a time, on timers of jiffies ---'

Every kernel cleans its table of neighbours for the first time at a moment it draws between 15 and 45 s after its
boot. That is one wake-up more, at another moment in each run, and the readings of the clock after it differ by
steps. Its timer is of the deferrable kind, which wakes nothing: it runs along when a timer of jiffies does, which
sleeping and polling are not, but a socket's time limit is. So a guest that sleeps would only put it off.

Standard library only: pid 1 imports it.
"""

from __future__ import annotations

import contextlib
import socket
import struct
import time
from pathlib import Path

from netlab.errors import GuestError
from netlab.namespaces.guest import kernel_calls

__all__ = ["SETTLING_S", "clean_up_count", "start_at"]

SETTLING_S = 60
"""From boot to the command. Timers of 45 s are late by 512 jiffies of 10 ms at most: 50.2 s; the rest is reserve."""

_STATISTICS = Path("/proc/net/stat/arp_cache")
_COLUMN = "periodic_gc_runs"
_LAST_TURN_NS = (SETTLING_S - 3) * 10**9
_TURN = struct.pack("@ll", 1, 0)  # struct timeval


def start_at(start_ns: int, statistics: Path = _STATISTICS) -> None:
    """Wait until the guest's clock shows a moment, the kernel's clean-up being done by then; 0: not at all.

    Args:
        start_ns: When the command is to start, in nanoseconds since 1970.
        statistics: Where the kernel counts its clean-ups.

    Raises:
        GuestError: The clean-up has not come: it would come in the middle of the run.
    """
    if not start_ns:
        return
    _turn_until(_LAST_TURN_NS)
    if not clean_up_count(statistics.read_text(encoding="ascii")):
        raise GuestError(
            f"guest: {statistics}: {_COLUMN} = 0 after {_LAST_TURN_NS // 10**9} s: two runs would not be the same"
        )
    kernel_calls.sleep_until(time.CLOCK_REALTIME, start_ns)


def clean_up_count(text: str) -> int:
    """Return how often the kernel has cleaned its table of neighbours, from its statistics.

    Raises:
        GuestError: They do not say.
    """
    lines = [line.split() for line in text.splitlines()]
    if len(lines) < 2 or _COLUMN not in lines[0] or len(lines[1]) != len(lines[0]):
        raise GuestError(f"guest: the kernel's statistics of neighbours have no column {_COLUMN}")
    return int(lines[1][lines[0].index(_COLUMN)], 16)


def _turn_until(moment_ns: int) -> None:
    """Wait until the monotonic clock shows a moment, by timers of jiffies."""
    near, far = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    with near, far:
        near.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, _TURN)
        while time.monotonic_ns() < moment_ns:
            with contextlib.suppress(BlockingIOError):  # what a time limit looks like
                near.recv(1)
