"""Heartbeat: how pid 1 tells the launcher that the guest's time goes on: two files, both ends of them.

::

    timer of the guest --each beat--> Heartbeat.strike --"12.537"--> beat       <--read_beat------  launcher
                                          `--1, 2, 4, 8 ... beats--> processes  <--read_processes-

It must not disturb what it watches, in a machine whose clock moves when it is read. So it reads no clock: beats
are counted, by a timer on absolute times. They fall between the moments at which programs like to wake.

Standard library only: pid 1 imports it.
"""

from __future__ import annotations

import contextlib
import os
import re
import stat
import time
from pathlib import Path
from typing import Protocol

from netlab.namespaces.guest import kernel_calls
from netlab.namespaces.guest.job import Job
from netlab.namespaces.syscalls import timerfd_create, timerfd_settime

__all__ = ["Heartbeat", "NoHeartbeat", "Pulse", "begin_heartbeat", "read_beat", "read_processes", "wait_for_start"]

PHASE_NS = 37_123_457
"""From the start to the first beat: a moment that no program's round numbers meet."""

BEATS_A_NUDGE = 8
SHOWN_PROCESSES = 8
SHOWN_CHARACTERS = 160

_BEAT_NAME = "beat"
_PROCESSES_NAME = "processes"
_MOST_BEAT_BYTES = 32
_MOST_PROCESSES_BYTES = 4096
_BEAT = re.compile(rb"([0-9]{1,12}\.[0-9]{3})\n")
_STATES = {"R": "running", "S": "waiting", "D": "waiting", "T": "stopped", "Z": "ended"}


class Pulse(Protocol):
    """What pid 1 does regularly beside its work.

    Attributes:
        fd: Descriptor to poll; readable when it is time. None where nothing is to be done.
        patience_s: How long pid 1 may wait for anything at all; None for ever.
    """

    @property
    def fd(self) -> int | None: ...  # noqa: D102 - above

    @property
    def patience_s(self) -> float | None: ...  # noqa: D102

    def strike(self) -> None:
        """Do it; called when ``fd`` is readable, or when patience has ended."""
        ...


class _Nudge:
    """Has the kernel's last message shown: it keeps one without an end of line back until the next.

    "Unexpectedly lost MM child!" is one: a process that the guest runs in was killed from outside.
    """

    def __init__(self) -> None:
        self._log: int | None = None
        with contextlib.suppress(OSError):
            self._log = os.open("/dev/kmsg", os.O_WRONLY | os.O_CLOEXEC)

    def give(self) -> None:
        """Say something at the level that no console shows."""
        if self._log is not None:
            with contextlib.suppress(OSError):
                os.write(self._log, b"<7>netlab: awake\n")


class NoHeartbeat:
    """Nothing to note: in real time the launcher has a clock of its own."""

    fd = None

    def __init__(self, patience_s: float | None) -> None:
        self.patience_s = patience_s
        self._nudge = _Nudge()

    def strike(self) -> None:
        """Nudge the kernel's log; called when nothing has happened for a while."""
        self._nudge.give()


class Heartbeat:
    """Notes the guest's time, and now and then its processes, in files of the job folder."""

    patience_s = None  # a time limit of poll(2) reads the clock

    def __init__(self, folder: Path, start_ns: int, beat_ns: int, budget_ns: int) -> None:
        """Begin to beat.

        Args:
            folder: The job folder.
            start_ns: When the command starts, on the monotonic clock.
            beat_ns: From beat to beat.
            budget_ns: Guest time since the start after which the processes are noted once more; 0 for never.

        Raises:
            OSError: No room for the first note, or no descriptors left.
        """
        with contextlib.ExitStack() as undo:
            self._file = os.open(folder / _BEAT_NAME, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
            undo.callback(os.close, self._file)
            os.pwrite(self._file, b"\n", 0)  # takes the room that later notes are written over
            self.fd = timerfd_create()
            undo.callback(os.close, self.fd)
            timerfd_settime(self.fd, start_ns + PHASE_NS, beat_ns)
            undo.pop_all()
        self._folder = folder
        self._beat_ns = beat_ns
        self._budget_ns = budget_ns
        self._count = 0
        self._next_note = 1
        self._nudge = _Nudge()

    def strike(self) -> None:
        """Note how much guest time has passed since the start.

        A note that cannot be made (a full disk) is left out: it must not end pid 1, and the machine with it.
        """
        with contextlib.suppress(BlockingIOError):
            self._count += int.from_bytes(os.read(self.fd, 8), "little")
        if self._count % BEATS_A_NUDGE == 0:
            self._nudge.give()
        passed_ns = PHASE_NS + (self._count - 1) * self._beat_ns
        spent = 0 < self._budget_ns <= passed_ns
        if self._count >= self._next_note or spent:
            # Ever more rarely, so that it costs nothing: who spins in the end has mostly been there for long.
            self._next_note = 2 * self._count
            self._budget_ns = 0 if spent else self._budget_ns
            with contextlib.suppress(OSError):
                (self._folder / _PROCESSES_NAME).write_text(describe_processes(), encoding="utf-8")
        with contextlib.suppress(OSError):
            os.pwrite(self._file, f"{passed_ns // 10**9}.{passed_ns // 10**6 % 1000:03}\n".encode("ascii"), 0)


def wait_for_start(step_s: int) -> None:
    """Wait until the guest's clock shows a multiple of so many seconds, half a one away or more; 0: not at all."""
    if step_s:
        step_ns = step_s * 10**9
        now_ns = time.time_ns()
        kernel_calls.sleep_until(time.CLOCK_REALTIME, -(-(now_ns + step_ns // 2) // step_ns) * step_ns)


def begin_heartbeat(job: Job, folder: Path, awake_s: float) -> Pulse:
    """Return the pulse that a job asks for, begun now.

    Args:
        job: What pid 1 runs.
        folder: The job folder.
        awake_s: How often pid 1 is to wake in real time.
    """
    # In any case: the clock costs a little, and a run is to be the same with and without.
    start_ns = time.monotonic_ns()
    if not job.beat_s:
        return NoHeartbeat(None if job.clock_source else awake_s)
    return Heartbeat(folder, start_ns, round(job.beat_s * 1e9), round(job.budget_s * 1e9))


def describe_processes(proc: Path = Path("/proc")) -> str:
    """Return the programs that run, pid 1 apart, a few of them, one a line: arguments and state."""
    lines = []
    for pid in sorted(int(entry.name) for entry in proc.iterdir() if entry.name.isdigit()):
        with contextlib.suppress(OSError):  # it has ended meanwhile
            words = (proc / str(pid) / "cmdline").read_bytes()[: 4 * SHOWN_CHARACTERS].split(b"\0")
            if pid == 1 or not words[0]:  # ourselves, threads of the kernel
                continue
            state = (proc / str(pid) / "stat").read_text(errors="replace").rpartition(")")[2].split()[0]
            command = printable(words)
            lines.append(f"{command} ({_STATES.get(state, state)})")
    more = [f"and {len(lines) - SHOWN_PROCESSES} more"] if len(lines) > SHOWN_PROCESSES else []
    return "".join(f"{line}\n" for line in lines[:SHOWN_PROCESSES] + more)


def printable(words: list[bytes]) -> str:
    """Return a command line that can be shown: bounded, on one line, without control characters."""
    text = " ".join(word.decode("utf-8", "replace") for word in words if word)
    text = "".join(character if character.isprintable() else " " for character in text)
    return text if len(text) <= SHOWN_CHARACTERS else text[: SHOWN_CHARACTERS - 3] + "..."


def read_beat(folder: Path) -> float | None:
    """Return the guest seconds since the command's start as last noted; None where there is no note yet."""
    match = _BEAT.fullmatch(_read_guests_file(folder / _BEAT_NAME, _MOST_BEAT_BYTES))
    return None if match is None else float(match[1])


def read_processes(folder: Path) -> list[str]:
    """Return the programs that ran when pid 1 last noted them, one a line."""
    data = _read_guests_file(folder / _PROCESSES_NAME, _MOST_PROCESSES_BYTES)
    return [printable([line]) for line in data.split(b"\n")[: SHOWN_PROCESSES + 1] if line]


def _read_guests_file(path: Path, most_bytes: int) -> bytes:
    """Return what a file holds that the guest may have put anything in place of; nothing where it is no file."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return b""
    try:
        return os.read(fd, most_bytes) if stat.S_ISREG(os.fstat(fd).st_mode) else b""
    finally:
        os.close(fd)
