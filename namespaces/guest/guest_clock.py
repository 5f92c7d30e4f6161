"""Clocks of a guest: what real and virtual time add to the kernel's arguments, the job and the watch outside.

::

    RealClock     the guest's time is this machine's
    VirtualClock  time stands still while anything computes and jumps when all wait: same run, same output

The launcher is given one of them and asks it; nothing else in ``guest/`` knows which it is (docs/virtual-time.md).
"""

from __future__ import annotations

import dataclasses
import math
import os
import secrets
import signal
from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

from netlab.errors import GuestError
from netlab.namespaces.guest.guest_ends import ENTRY
from netlab.namespaces.guest.installed import GuestKernel
from netlab.namespaces.guest.job import FILE, NULL, PIPE, TERMINAL, Job
from netlab.namespaces.guest.kernel_probe import time_travel_problem
from netlab.namespaces.guest.spinner import busiest_program, has_lost
from netlab.namespaces.guest.spool import SPOOL_NAME
from netlab.namespaces.guest.watchdog import VirtualWatchdog, WallWatchdog, Watchdog

__all__ = ["CLOCK_VARIABLE", "GuestClock", "RealClock", "VirtualClock"]

CLOCK_VARIABLE = "NETLAB_CLOCK"
"""Tells a command inside which clock it has: ``virtual``, or nothing at all for the real one."""

DEFAULT_START_NS = 1_767_225_600 * 10**9
"""2026-01-01 00:00:00 UTC: late enough for certificates, the same in every run."""

SECRET_BYTES = 64
DEFAULT_BUDGET_S = 24 * 3600.0
DEFAULT_STALL_S = 30.0
"""Importing a large library holds the clock for 2 to 5 s, on a busy machine for more."""

DEFAULT_BEAT_S = 0.25

_PASSED_ON = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
_LATEST_START_NS = 2**62
_CLOCK_SOURCE = "time-travel-clock"

# Where chance or the number of this machine's CPUs would come into a program.
_SETTLED = {"TZ": "UTC", CLOCK_VARIABLE: "virtual"}
_SETTLED_UNLESS_GIVEN = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1",
                         "OMP_WAIT_POLICY": "passive"}  # fmt: skip


class GuestClock(Protocol):
    """What a launcher asks of a clock."""

    @property
    def passed_on(self) -> tuple[signal.Signals, ...]:
        """Signals that reach the command."""
        ...

    @property
    def kernel_arguments(self) -> tuple[str, ...]:
        """What the kernel is told."""
        ...

    @property
    def hurries(self) -> bool:
        """Whether the guest goes before other programs of the machine, as far as that is permitted."""
        ...

    def require(self, kernel: GuestKernel) -> None:
        """Make sure that a kernel, whole and as its manifest says, can run by this clock.

        Raises:
            GuestError: It cannot.
        """
        ...

    def arrange(self, job: Job, job_folder: str) -> Job:
        """Return a job as it is to run by this clock."""
        ...

    def watchdog(self, deadline_s: float | None, job_folder: str, supervisor: int) -> Watchdog:
        """Return what ends a guest that does not end by itself.

        Args:
            deadline_s: The limit outside, on the monotonic clock; None for none.
            job_folder: Where pid 1 makes its notes.
            supervisor: The process below which all of the guest is found.
        """
        ...


class RealClock:
    """The time of the machine outside."""

    passed_on = (*_PASSED_ON, signal.SIGWINCH)
    kernel_arguments: tuple[str, ...] = ()
    hurries = True

    def require(self, kernel: GuestKernel) -> None:
        """Every kernel can."""

    def arrange(self, job: Job, job_folder: str) -> Job:
        """Return the job as it is; whatever clock the caller itself has is not passed on."""
        return dataclasses.replace(job, env={name: job.env[name] for name in job.env if name != CLOCK_VARIABLE})

    def watchdog(self, deadline_s: float | None, job_folder: str, supervisor: int) -> Watchdog:
        """Return a watch on the time outside alone."""
        return WallWatchdog(deadline_s)


@dataclasses.dataclass(frozen=True)
class VirtualClock:
    """Deterministic time: computing takes none, waiting takes what it should and passes at once.

    Attributes:
        start_ns: The guest's clock at boot, nanoseconds since 1970; a whole second.
        budget_s: The most guest time that a command may take.
        stall_s: How long the clock may stand still, in seconds outside.
        beat_s: How often pid 1 notes the time, in guest seconds; 0 for never: without the last two limits then.

    Raises:
        GuestError: A value that is none of these.
    """

    start_ns: int = DEFAULT_START_NS
    budget_s: float = DEFAULT_BUDGET_S
    stall_s: float = DEFAULT_STALL_S
    beat_s: float = DEFAULT_BEAT_S

    def __post_init__(self) -> None:
        for name, value in (("budget_s", self.budget_s), ("stall_s", self.stall_s)):
            if not 0.0 < value < math.inf:
                raise GuestError(f"virtual time: {name} = {value}; it is above 0 and finite")
        if not (self.beat_s == 0.0 or 0.1 <= self.beat_s <= 3600.0):
            raise GuestError(f"virtual time: beat_s = {self.beat_s}; it is 0, or from 0.1 to 3600")
        if not 0 <= self.start_ns <= _LATEST_START_NS or self.start_ns % 10**9:
            raise GuestError(f"virtual time: start_ns = {self.start_ns}; it is a whole second since 1970, in ns")

    @property
    def hurries(self) -> bool:
        """No: whatever the machine does meanwhile, the guest's time is its own."""
        return False

    @property
    def passed_on(self) -> tuple[signal.Signals, ...]:
        """Signals that end something; the size of a window that changes would change the run."""
        return _PASSED_ON

    @property
    def kernel_arguments(self) -> tuple[str, ...]:
        """The clock; no random addresses, which order what programs hash; no IPv6, whose timers are random."""
        return ("time-travel=inf-cpu", f"time-travel-start={self.start_ns}", "norandmaps", "ipv6.disable=1")

    def require(self, kernel: GuestKernel) -> None:
        """Make sure that a kernel has virtual time, by its manifest and by its own word.

        A kernel without it ignores the parameter and runs in real time without saying so.

        Raises:
            GuestError: It has not.
        """
        problem = "" if kernel.time_travel else "it is made for real time"
        problem = problem or time_travel_problem(kernel.binary)
        if problem:
            raise GuestError(
                f"guest kernel {kernel.release} cannot run in virtual time: {problem}", hint="netlab guest build"
            )

    def arrange(self, job: Job, job_folder: str) -> Job:
        """Return a job without what differs from run to run, starting on a whole second."""
        return dataclasses.replace(
            job,
            env=settled(job.env),
            stdin={PIPE: FILE, TERMINAL: NULL}.get(job.stdin, job.stdin),
            stdin_path=f"{job_folder}/{SPOOL_NAME}",
            hostname="guest",
            clock_source=_CLOCK_SOURCE,
            start_step_s=1,
            secret=secrets.token_hex(SECRET_BYTES),
            beat_s=self.beat_s,
            budget_s=self.budget_s,
        )

    def watchdog(self, deadline_s: float | None, job_folder: str, supervisor: int) -> Watchdog:
        """Return a watch on three limits: the time outside, the time inside, and that the latter goes on."""
        wall = WallWatchdog(deadline_s)
        if not self.beat_s:
            return wall
        return VirtualWatchdog(
            wall,
            Path(job_folder),
            budget_s=self.budget_s,
            stall_s=self.stall_s,
            busiest=lambda: busiest_program(supervisor),
            init_lost=lambda: has_lost(supervisor, os.fsencode(ENTRY)),
        )


def settled(env: Mapping[str, str]) -> dict[str, str]:
    """Return an environment in which programs draw nothing by chance that it can settle."""
    seed = env.get("PYTHONHASHSEED", "")
    return {**_SETTLED_UNLESS_GIVEN, **env, **_SETTLED, "PYTHONHASHSEED": seed if seed.isdecimal() else "0"}
