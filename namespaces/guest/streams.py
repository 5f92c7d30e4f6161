"""Streams: what the caller's standard streams are, so that the command inside finds the same.

A program behaves differently on a terminal, on a pipe, on nothing; and output that went to one place by two
streams must keep its order. So each descriptor is looked at before the guest starts.
"""

from __future__ import annotations

import fcntl
import os
import stat
import struct
import termios
from typing import NamedTuple

from netlab.errors import GuestError
from netlab.namespaces.guest.job import NULL, PIPE, SAME_AS_STDOUT, TERMINAL

__all__ = ["CallerStreams", "StreamKinds", "describe_streams", "in_background", "window_size"]

_NULL_DEVICE = os.makedev(1, 3)


class StreamKinds(NamedTuple):
    """What the command's standard streams are to be, in the words of ``job.py``."""

    stdin: str
    stdout: str
    stderr: str


class CallerStreams:
    """The caller's standard streams and what they are.

    Attributes:
        stdin: Descriptor; None for no input.
        stdout: Descriptor.
        stderr: Descriptor.
        kinds: What they are.
        window: Rows and columns of the first that is a terminal.

    Raises:
        GuestError: Output cannot go to one of them.
    """

    def __init__(self, stdin: int | None, stdout: int, stderr: int) -> None:
        try:
            self.kinds = describe_streams(stdin, stdout, stderr)
        except OSError as error:
            raise GuestError(f"guest: no output to descriptors {stdout} and {stderr}: {error.strerror}") from error
        self.stdin = None if self.kinds.stdin == NULL else stdin
        self.stdout = stdout
        self.stderr = stderr
        self.window = window_size((stdout, stderr, self.stdin))


def describe_streams(stdin: int | None, stdout: int, stderr: int) -> StreamKinds:
    """Return what three descriptors are.

    Args:
        stdin: Descriptor that input comes from; None for no input.
        stdout: Descriptor that output goes to.
        stderr: Descriptor that errors go to.
    """
    output = TERMINAL if os.isatty(stdout) else PIPE
    if output == PIPE and _same_file(stdout, stderr):
        errors = SAME_AS_STDOUT
    else:
        errors = TERMINAL if os.isatty(stderr) else PIPE
    return StreamKinds(_input_kind(stdin), output, errors)


def window_size(descriptors: tuple[int | None, ...]) -> tuple[int, int]:
    """Return rows and columns of the first descriptor that is a terminal; zeros where none is."""
    for fd in descriptors:
        if fd is not None and os.isatty(fd):
            rows, columns, _, _ = struct.unpack("HHHH", fcntl.ioctl(fd, termios.TIOCGWINSZ, bytes(8)))
            return rows, columns
    return 0, 0


def in_background(terminal: int | None) -> bool:
    """Return whether reading a terminal would stop us: another process group has it."""
    try:
        return terminal is not None and os.tcgetpgrp(terminal) != os.getpgrp()
    except OSError:  # not our controlling terminal: no job control, reading is fine
        return False


def _input_kind(stdin: int | None) -> str:
    if stdin is None:
        return NULL
    try:
        facts = os.fstat(stdin)
    except OSError:  # closed, as a service may start us: nothing to read
        return NULL
    if stat.S_ISCHR(facts.st_mode) and facts.st_rdev == _NULL_DEVICE:
        return NULL
    return TERMINAL if os.isatty(stdin) else PIPE


def _same_file(one: int, other: int) -> bool:
    a, b = os.fstat(one), os.fstat(other)
    return (a.st_dev, a.st_ino) == (b.st_dev, b.st_ino)
