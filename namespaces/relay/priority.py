"""How soon the relay runs once a packet or a deadline has come: real-time priority, a processor, timer slack.

It never spins, so real-time priority takes no time from others but what its packets cost.
"""

from __future__ import annotations

import contextlib
import os
import threading

from netlab.namespaces.syscalls import set_timer_slack

__all__ = ["hurry", "is_real_time_permitted"]

_FIFO_PRIORITY = 10
_NICE = -10
# With fewer processors than this, giving one away would crowd the programs that talk over the link.
_SPARE_FROM_CPUS = 4


def hurry() -> str:
    """Give the calling process the best place among others that it may have.

    Returns:
        ``fifo``, ``nice`` or ``ordinary``: what was permitted.
    """
    set_timer_slack(1)
    _take_processor()
    with contextlib.suppress(OSError):
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(_FIFO_PRIORITY))
        return "fifo"
    with contextlib.suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, 0, _NICE)
        return "nice"
    return "ordinary"


def is_real_time_permitted() -> bool:
    """Tell whether a process of ours may have real-time priority, by trying it in a thread thrown away."""
    permitted: list[bool] = []

    def attempt() -> None:
        with contextlib.suppress(OSError):
            os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
            permitted.append(True)

    thread = threading.Thread(target=attempt, name="netlab-priority")
    thread.start()
    thread.join()
    return bool(permitted)


def _take_processor() -> None:
    """Stay on one processor where there are some to spare: relays of several labs spread over the upper half."""
    cpus = sorted(os.sched_getaffinity(0))
    if len(cpus) >= _SPARE_FROM_CPUS:
        upper = cpus[len(cpus) // 2 :]
        with contextlib.suppress(OSError):
            os.sched_setaffinity(0, {upper[os.getpid() % len(upper)]})
