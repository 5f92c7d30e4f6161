"""CommandStreams: the standard streams of the command inside the guest, pipes or a terminal.

::

    stdin  <--pipe-- give_input()                 terminal (pty) in place of those pipes
    stdout --pipe--> Pump --> /dev/tty1          that stand for the caller's terminal
    stderr --pipe--> Pump --> /dev/tty2

Owned by pid 1, which polls. It knows no frames. Standard library only.
"""

from __future__ import annotations

import array
import contextlib
import fcntl
import os
import pty
import struct
import termios

from netlab.namespaces.guest.inside import open_console
from netlab.namespaces.guest.job import FILE, NULL, SAME_AS_STDOUT, TERMINAL, Job
from netlab.namespaces.guest.pump import Pump

__all__ = ["CommandStreams"]

STDOUT, STDERR = 1, 2
"""The consoles' numbers, and the streams'."""

_END_OF_INPUT = b"\x04"  # what the key for it sends, Ctrl-D


class CommandStreams:
    """What the command reads and writes.

    Attributes:
        ends: The command's own descriptors 0, 1, 2; closed here once it has been started.
        slave: The command's side of its terminal; None without one.
        terminal: Our side of it.
        outputs: What it prints, on its way to the consoles, by stream; a terminal's under the first it stands for.
        input: What it is to read, on its way to it.
    """

    def __init__(self, job: Job) -> None:
        self._job = job
        self.terminal: int | None = None
        self.slave: int | None = None
        if TERMINAL in (job.stdin, job.stdout, job.stderr):
            self._open_terminal()
        self._consoles = {STDOUT: open_console(STDOUT), STDERR: open_console(STDERR)}
        self.outputs: dict[int, Pump] = {}
        self.input = Pump(None, None)
        self._input_owed = False
        self.ends = [self._open_input()]
        self.ends.append(self._open_output(job.stdout, STDOUT))
        self.ends.append(self._open_output(job.stderr, STDERR))

    def close_ends(self) -> None:
        """Let go of the command's own descriptors, so that their last user's end is seen."""
        for end in {*self.ends, *(() if self.slave is None else (self.slave,))}:
            os.close(end)

    def give_input(self, data: bytes) -> None:
        """Pass input on to the command; nothing means its end."""
        self._input_owed = True
        if self.input.sink is None:
            return
        if data:
            self.input.pending += data
        elif self._job.stdin == TERMINAL:
            self.input.pending += _END_OF_INPUT  # the end of one read only, as at a real terminal
        else:
            os.close(self.input.sink)
            self.input.sink = None

    def takes_more_input(self) -> bool:
        """Return True once after each ``give_input``, when the command has room again and still reads."""
        if not self._input_owed or self.input.pending:
            return False
        self._input_owed = False
        return self.input.sink is not None

    def close_output(self, stream: int) -> None:
        """Have the command meet what it would meet outside: a pipe that nobody reads any more."""
        pump = self.outputs.get(stream)
        if pump is not None and pump.source is not None and pump.source != self.terminal:
            os.close(pump.source)
            pump.source = pump.sink = None
            pump.pending.clear()

    def set_window(self, rows: int, columns: int) -> None:
        """Give the terminal a size, if there is one and the size is known."""
        if self.terminal is not None and rows and columns:
            fcntl.ioctl(self.terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def foreground_group(self) -> int | None:
        """Return the process group that the terminal's keys reach; None where there is no terminal."""
        if self.terminal is not None:
            with contextlib.suppress(OSError):
                return os.tcgetpgrp(self.terminal) or None
        return None

    def take_what_is_left(self) -> None:
        """Read what the ended command left in its pipes; those that others still hold are forgotten."""
        for pump in self.outputs.values():
            if pump.source is None or pump.source == self.terminal:
                continue
            waiting = array.array("i", [0])
            fcntl.ioctl(pump.source, termios.FIONREAD, waiting)
            left = waiting[0]
            while left > 0 and pump.source is not None:
                left -= pump.fill()
            pump.source = None

    def wait_until_printed(self) -> None:
        """Return when the consoles have passed on all they were given."""
        for pump in self.outputs.values():
            if pump.sink is not None:
                termios.tcdrain(pump.sink)

    def _open_terminal(self) -> None:
        self.terminal, self.slave = pty.openpty()
        os.set_blocking(self.terminal, False)
        attributes = termios.tcgetattr(self.slave)
        # The caller's own terminal echoes, and turns line ends into what it needs: once is enough.
        attributes[1] &= ~termios.OPOST
        attributes[3] &= ~termios.ECHO
        termios.tcsetattr(self.slave, termios.TCSANOW, attributes)
        self.set_window(self._job.rows, self._job.columns)

    def _open_input(self) -> int:
        if self._job.stdin == NULL:
            return os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
        if self._job.stdin == FILE:
            return os.open(self._job.stdin_path, os.O_RDONLY | os.O_CLOEXEC)
        if self._job.stdin == TERMINAL:
            self.input = Pump(None, self.terminal)
            return self._slave_end()
        read_end, write_end = os.pipe2(os.O_CLOEXEC)
        os.set_blocking(write_end, False)
        self.input = Pump(None, write_end)
        return read_end

    def _open_output(self, kind: str, stream: int) -> int:
        if kind == SAME_AS_STDOUT:
            return self.ends[STDOUT]
        if kind == TERMINAL:
            if self.terminal not in (pump.source for pump in self.outputs.values()):
                self.outputs[stream] = Pump(self.terminal, self._consoles[stream])
            return self._slave_end()
        read_end, write_end = os.pipe2(os.O_CLOEXEC)
        os.set_blocking(read_end, False)
        self.outputs[stream] = Pump(read_end, self._consoles[stream])
        return write_end

    def _slave_end(self) -> int:
        assert self.slave is not None
        return self.slave
