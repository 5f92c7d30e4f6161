"""Pid 1 of the guest: sets the system up, runs one command, carries its streams, reports how it ended.

::

    command --CommandStreams--> pid 1 --/dev/tty1, /dev/tty2--> launcher
                                      <----/dev/tty3 (frames)--

Standard library only, started by ``entry.py init JOB_FOLDER``. It is the first and the last process: when the
command ends, whatever it left running ends with the guest.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import select
import signal
import sys
import termios
import time
import traceback
from pathlib import Path

from netlab.errors import GuestError, NetlabError
from netlab.namespaces.guest import frames, heartbeat, inside, kernel_calls
from netlab.namespaces.guest.command_streams import CommandStreams
from netlab.namespaces.guest.frames import FrameKind
from netlab.namespaces.guest.job import JOB_FILE_NAME, Job
from netlab.namespaces.guest.pump import Pump, wait_for

__all__ = ["main"]

NOT_FOUND = 127
NOT_EXECUTABLE = 126
AWAKE_S = 2.0
"""Pid 1 sleeps no longer: where the host has killed what it runs in, the kernel finds out, and gives up, only when
it is to run again."""
TERMINAL_QUIET_S = 0.05
TERMINAL_LAST_WORDS_S = 1.0
"""A terminal passes on what was printed a moment later: wait for so much silence, but no longer than this."""

_CONTROL_CONSOLE = 3
_STARTED_FILE_NAME = "started"
_TO_THE_GROUP = frozenset({signal.SIGINT, signal.SIGQUIT, signal.SIGHUP})
"""Signals that a terminal sends to all its foreground processes; others are meant for the command alone."""


def main(job_folder_link: str) -> None:
    """Run the job in the folder that a link of the host's /proc names, and switch the machine off."""
    control = None
    try:
        job_folder = Path(job_folder_link).readlink()  # before /proc is the guest's own
        job = Job.from_json((job_folder / JOB_FILE_NAME).read_text(encoding="ascii"))
        inside.set_up(job)
        control = inside.open_console(_CONTROL_CONSOLE)
        _refuse_second_start(job_folder)
        _Pid1(job, control, job_folder).run()
    except (OSError, NetlabError) as error:
        where = f"{error.filename}: " if isinstance(error, OSError) and error.filename else ""
        reason = error.strerror if isinstance(error, OSError) else error
        _tell_trouble(control, f"{where}{reason}")
    except BaseException as error:  # pid 1 must not end: the kernel would panic and hide the reason
        traceback.print_exc()
        _tell_trouble(control, repr(error))
    kernel_calls.power_off()


def _refuse_second_start(job_folder: Path) -> None:
    """Note that the command has been started: a kernel that reboots starts pid 1 again, in the same folder.

    Raises:
        GuestError: It has been started before.
    """
    try:
        (job_folder / _STARTED_FILE_NAME).touch(exist_ok=False)
    except FileExistsError:
        raise GuestError("the guest rebooted") from None


class _Pid1:
    """The command, its streams and the control console, served by one loop that never blocks on any of them."""

    def __init__(self, job: Job, control: int, job_folder: Path) -> None:
        self._job = job
        self._control = control
        self._frames = frames.FrameReader()
        self._to_launcher = Pump(None, control)
        self._streams = CommandStreams(job)
        self._pid = 0
        self._status: int | None = None
        self._deaths, self._deaths_write = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        if job.clock_source:
            inside.go_first()
        heartbeat.wait_for_start(job.start_step_s)
        self._pulse = heartbeat.begin_heartbeat(job, job_folder, AWAKE_S)

    def run(self) -> None:
        """Run the command to its end and report its status."""
        signal.set_wakeup_fd(self._deaths_write, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda number, frame: None)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE):
            signal.signal(number, signal.SIG_IGN)
        self._pid = os.fork()
        if self._pid == 0:
            self._become_command()
        self._streams.close_ends()
        self._say(FrameKind.READY)
        while self._status is None:
            self._turn()
            self._reap()
        self._carry_the_rest()
        os.sync()  # what was written through mapped memory is on the host too: the launcher ends us when it hears
        self._say(FrameKind.EXIT, frames.encode_status(self._status))
        while self._to_launcher.pending:
            self._turn()
        termios.tcdrain(self._control)

    def _become_command(self) -> None:
        job = self._job
        status = NOT_EXECUTABLE
        try:
            os.setsid()
            if self._streams.slave is not None:
                fcntl.ioctl(self._streams.slave, termios.TIOCSCTTY, 1)
            for number in range(1, signal.NSIG):
                with contextlib.suppress(OSError, ValueError):  # KILL, STOP and two of the C library's own
                    signal.signal(number, signal.SIG_IGN if number in job.ignored_signals else signal.SIG_DFL)
            # First out of the way of 0, 1, 2: the ends may be any of them.
            high = [fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 3) for end in self._streams.ends]
            for number, end in enumerate(high):
                os.dup2(end, number)
            os.umask(job.umask)
            inside.apply_limits(job.rlimits)
            os.chdir(job.cwd)
            os.execvpe(job.argv[0], job.argv, job.env)
        except OSError as error:
            status = NOT_FOUND if error.errno == errno.ENOENT else NOT_EXECUTABLE
            # Not the file name of a failed exec: it is only the last place that PATH named.
            what = job.cwd if error.filename == job.cwd else job.argv[0]
            os.write(2, os.fsencode(f"netlab guest: {what or repr(what)}: {error.strerror}\n"))
        except NetlabError as error:
            os.write(2, f"netlab guest: {error}\n".encode())
        finally:
            os._exit(status)

    def _turn(self, timeout_s: float | None = None) -> bool:
        """Carry what can be carried now, or wait until something can; return whether output moved."""
        outputs = tuple(self._streams.outputs.values())
        pumps = (*outputs, self._streams.input, self._to_launcher)
        patience_s = self._pulse.patience_s if timeout_s is None else timeout_s
        ready = wait_for(self._interests(pumps), patience_s)
        if self._pulse.fd in ready or (timeout_s is None and not ready):
            self._pulse.strike()
        if self._deaths in ready:
            with contextlib.suppress(BlockingIOError):
                os.read(self._deaths, 4096)
        if ready.get(self._control, 0) & select.POLLIN:
            self._hear()
        moved = False
        for pump in outputs:
            if pump.source is not None and pump.source in ready:
                moved = pump.fill() > 0 or moved
        for pump in pumps:
            if pump.wants_room and ready.get(pump.sink or -1, 0) & ~select.POLLIN:
                pump.drain()
                moved = True
        if self._streams.takes_more_input():
            self._say(FrameKind.CONSUMED)
        return moved

    def _interests(self, pumps: tuple[Pump, ...]) -> dict[int, int]:
        """Return what to poll for."""
        masks = {self._control: select.POLLIN, self._deaths: select.POLLIN}
        if self._pulse.fd is not None:
            masks[self._pulse.fd] = select.POLLIN
        for pump in pumps:
            pump.add_interests(masks)
        return masks

    def _hear(self) -> None:
        """Do what the launcher says."""
        try:
            data = os.read(self._control, 4096)
        except BlockingIOError:
            return
        for kind, payload in self._frames.feed(data):
            if kind == FrameKind.INPUT:
                self._streams.give_input(payload)
            elif kind == FrameKind.SIGNAL:
                self._signal(payload[0])
            elif kind == FrameKind.WINDOW:
                self._streams.set_window(*frames.decode_window(payload))
            elif kind == FrameKind.CLOSED:
                self._streams.close_output(payload[0])

    def _signal(self, number: int) -> None:
        with contextlib.suppress(ProcessLookupError):
            if number in _TO_THE_GROUP:
                os.killpg(self._streams.foreground_group() or self._pid, number)
            else:
                os.kill(self._pid, number)

    def _reap(self) -> None:
        """Collect every process that has ended: the orphans of this machine are ours."""
        with contextlib.suppress(ChildProcessError):
            while True:
                pid, status = os.waitpid(-1, os.WNOHANG)
                if pid == 0:
                    return
                if pid == self._pid:
                    code = os.waitstatus_to_exitcode(status)
                    self._status = code if code >= 0 else 128 - code

    def _carry_the_rest(self) -> None:
        """Carry what the command printed before it ended; processes it left behind keep nothing waiting."""
        if self._streams.terminal is not None:
            deadline_s = time.monotonic() + TERMINAL_LAST_WORDS_S
            while self._turn(TERMINAL_QUIET_S) and time.monotonic() < deadline_s:
                pass
        self._streams.take_what_is_left()
        while any(pump.pending for pump in self._streams.outputs.values()):
            self._turn()
        self._streams.wait_until_printed()

    def _say(self, kind: FrameKind, payload: bytes = b"") -> None:
        self._to_launcher.pending += frames.encode_frame(kind, payload)
        self._to_launcher.drain()


def _tell_trouble(control: int | None, text: str) -> None:
    """Report why there is no status: to the launcher where there is a way, else among the kernel's messages."""
    print(f"netlab guest: {text}", file=sys.stderr, flush=True)
    if control is not None:
        with contextlib.suppress(OSError):
            os.set_blocking(control, True)
            os.write(control, frames.encode_frame(FrameKind.TROUBLE, text.encode("utf-8", "replace")[:4096]))
            termios.tcdrain(control)
