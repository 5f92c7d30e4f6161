"""realtime_process: a context in which a Python process keeps deadlines better.

Three causes of lateness are taken away and put back afterwards: the kernel's timer slack (50 us by default, a
thread's own), the pauses of Python's cyclic garbage collector and, where the process may ask for it (root, or a
limit on niceness), the turns of other programs.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import os
from collections.abc import Iterator
from pathlib import Path

from netlab.clock_name import in_virtual_time

__all__ = ["collect_garbage", "realtime_process"]

_PR_SET_TIMERSLACK = 29
_PR_GET_TIMERSLACK = 30

_NICENESS = -10
_AUTOGROUP = "/proc/self/autogroup"


@contextlib.contextmanager
def realtime_process() -> Iterator[None]:
    """Keep deadlines better while inside; call it from the thread that runs the loop.

    The collector is off inside: call ``collect_garbage`` where there is time for it.
    """
    was_collecting = gc.isenabled()
    slack_ns = _set_timer_slack(1)
    gc.collect()
    gc.freeze()
    gc.disable()
    niceness, session_niceness = os.getpriority(os.PRIO_PROCESS, 0), _session_niceness()
    _favour(min(niceness, _NICENESS), min(session_niceness, _NICENESS))
    try:
        yield
    finally:
        _favour(niceness, session_niceness)
        gc.unfreeze()
        if was_collecting:
            gc.enable()
        if slack_ns > 0:
            _set_timer_slack(slack_ns)


def _favour(niceness: int, session_niceness: int) -> None:
    """Set both, as far as we may: Linux shares a CPU among sessions first, then among a session's processes.

    A session that we do not lead is somebody's shell: it would stay favoured if we were killed. In virtual time
    nobody competes for a CPU, so nobody is favoured.
    """
    if in_virtual_time():
        return
    with contextlib.suppress(PermissionError):
        os.setpriority(os.PRIO_PROCESS, 0, niceness)
    if os.getsid(0) == os.getpid():
        with contextlib.suppress(OSError):
            Path(_AUTOGROUP).write_text(str(session_niceness))


def _session_niceness() -> int:
    """Return the niceness of this session's share; 0 where the kernel does not share by sessions."""
    try:
        return int(Path(_AUTOGROUP).read_text().split()[-1])
    except (OSError, ValueError, IndexError):
        return 0


def collect_garbage() -> None:
    """Collect now what has become garbage since the loop began; what was there before is not looked at."""
    gc.collect()


def _set_timer_slack(slack_ns: int) -> int:
    """Set this thread's timer slack and return what it was; 0 where the system has no such thing."""
    try:
        prctl = ctypes.CDLL(None, use_errno=True).prctl
    except (OSError, AttributeError):
        return 0
    before_ns = int(prctl(_PR_GET_TIMERSLACK, 0, 0, 0, 0))
    prctl(_PR_SET_TIMERSLACK, ctypes.c_ulong(slack_ns), 0, 0, 0)
    return max(before_ns, 0)
