"""Watchdogs: when the launcher ends a guest that does not end by itself, and what it says then.

::

    wall clock ----------> WallWatchdog --------------------.
    read_beat(folder) ---> VirtualWatchdog (has the former) -+--> Verdict --> GuestSession ends the guest
    busiest_program(pid) -'

They look from outside, at two small files and at processes: nothing inside needs to answer.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple, Protocol

from netlab.namespaces.guest.heartbeat import read_beat, read_processes

__all__ = ["LOST_PROCESS", "STATUS_OF_TIMEOUT", "Verdict", "VirtualWatchdog", "WallWatchdog", "Watchdog"]

STATUS_OF_TIMEOUT = 124
"""As timeout(1) has it."""

LOOK_EVERY_S = 0.5
"""Twice that is what a pause between two looks counts at most: who was stopped himself saw nothing stand still."""

LOST_PROCESS = "a process that the guest's programs run in was killed from outside"
"""What is told of it, whoever finds it out: the kernel, or we."""

_CURE = "let it sleep, or declare its cost with netlab.charge.charge(): docs/virtual-time.md"


class Verdict(NamedTuple):
    """The end of a guest.

    Attributes:
        status: The exit status; None where it is an error.
        message: What a person is told; empty where the status says it.
        hint: What to do now.
    """

    status: int | None
    message: str = ""
    hint: str = ""


class Watchdog(Protocol):
    """Decides when a guest is to be ended."""

    def begin(self) -> None:
        """Take in that the kernel has been started: what comes before is not the guest's doing."""
        ...

    def patience_s(self) -> float | None:
        """Return how long until it wants to look again; None for never."""
        ...

    def look(self, *, held_up: bool) -> Verdict | None:
        """Return why the guest is to be ended now; None while it may go on.

        Args:
            held_up: The guest may be waiting for whoever reads its output.
        """
        ...


class WallWatchdog:
    """Ends a guest after some time of the world outside."""

    def __init__(self, deadline_s: float | None, clock: Callable[[], float] = time.monotonic) -> None:
        """Watch a clock.

        Args:
            deadline_s: On that clock; None for no end.
            clock: The monotonic clock, in seconds.
        """
        self._deadline_s = deadline_s
        self._clock = clock

    def begin(self) -> None:
        """Nothing: the time before counts as well."""

    def patience_s(self) -> float | None:
        """Return how long until the deadline."""
        return None if self._deadline_s is None else max(0.0, self._deadline_s - self._clock())

    def look(self, *, held_up: bool) -> Verdict | None:
        """Return the verdict once the deadline has passed."""
        return Verdict(STATUS_OF_TIMEOUT) if self.patience_s() == 0.0 else None


class VirtualWatchdog:
    """Ends a guest in virtual time: after some time outside, some inside, or when the latter stands still.

    The last two count from the kernel's start: input is read to its end before that, which may take any time.
    """

    def __init__(
        self,
        wall: WallWatchdog,
        folder: Path,
        *,
        budget_s: float,
        stall_s: float,
        busiest: Callable[[], str],
        init_lost: Callable[[], bool] = lambda: False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Watch the notes that pid 1 makes.

        Args:
            wall: The limit of the world outside.
            folder: The job folder, with the notes.
            budget_s: The most guest time that the command may take.
            stall_s: How long guest time may stand still, in seconds outside.
            busiest: Names the program that is running; empty where it cannot tell.
            init_lost: Tells whether the process that pid 1 runs in is gone: the guest's kernel learns of that when
                it is pid 1's turn, which never comes while a program holds the clock.
            clock: The monotonic clock, in seconds.
        """
        self._wall = wall
        self._folder = folder
        self._budget_s = budget_s
        self._stall_s = stall_s
        self._busiest = busiest
        self._init_lost = init_lost
        self._clock = clock
        self._passed_s: float | None = None
        self._still_s = 0.0
        self._looked_at_s: float | None = None  # no kernel yet

    def begin(self) -> None:
        """Begin to count."""
        self._looked_at_s = self._clock()

    def patience_s(self) -> float | None:
        """Return how long until the next look at the notes, or until the limit of the world outside."""
        wall_s = self._wall.patience_s()
        if self._looked_at_s is None:
            return wall_s
        due_s = max(0.0, self._looked_at_s + LOOK_EVERY_S - self._clock())
        return due_s if wall_s is None else min(due_s, wall_s)

    def look(self, *, held_up: bool) -> Verdict | None:
        """Return the verdict when one of the three limits is reached."""
        verdict = self._wall.look(held_up=held_up)
        if verdict is not None:
            return verdict._replace(message=f"the time limit is reached, {self._at_the_limit()}")
        if self._looked_at_s is None:
            return None
        since_s = self._clock() - self._looked_at_s
        if since_s < LOOK_EVERY_S:
            return None
        self._looked_at_s += since_s
        passed_s = read_beat(self._folder)
        moved = passed_s != self._passed_s
        self._passed_s = passed_s
        self._still_s = 0.0 if moved or held_up else self._still_s + min(since_s, 2 * LOOK_EVERY_S)
        if passed_s is not None and passed_s >= self._budget_s:
            return self._spent()
        if self._still_s < self._stall_s:
            return None
        return Verdict(None, LOST_PROCESS) if self._init_lost() else self._stalled()

    def _spent(self) -> Verdict:
        return Verdict(
            None,
            f"guest: {self._budget_s:g} s of virtual time are spent and the command goes on; {self._noted()}",
            "give it more (--virtual-budget, NETLAB_VIRTUAL_BUDGET), or find out what it waits for: "
            "where all wait for one another, virtual time runs on alone",
        )

    def _stalled(self) -> Verdict:
        return Verdict(
            None,
            f"guest: virtual time has stood still for {self._still_s:.0f} s, {self._where()}; {self._running()}",
            f"a program that computes or polls without a pause holds the clock: {_CURE}; "
            "or allow more: --stall, NETLAB_STALL",
        )

    def _at_the_limit(self) -> str:
        if self._looked_at_s is None:
            return "before the guest was started: all of its input is read first"
        return f"{self._where()}; {self._running()}"

    def _where(self) -> str:
        return "before its first beat" if self._passed_s is None else f"at {self._passed_s:.3f} s of guest time"

    def _running(self) -> str:
        program = self._busiest()
        return f"running: {program}" if program else f"no program is seen to run; {self._noted()}"

    def _noted(self) -> str:
        programs = read_processes(self._folder)
        return (
            f"its programs, as last noted: {'; '.join(programs)}" if programs else "its programs were never noted"
        )
