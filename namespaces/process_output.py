"""What a process in a host prints: its last bytes kept in memory, or all of it in a file.

::

    process --pipe--> KeptTail   the newest 64 KiB, read by the lab's thread
    process --------> FileOutput everything, in a file of the user's
    process --------> Inherited  our own stdout and stderr: nothing is kept
    process --------> HandedOver descriptors somebody gave us for it: nothing is kept
"""

from __future__ import annotations

import errno
import os
import stat
import threading
from collections import deque
from pathlib import Path
from typing import Protocol

from netlab.errors import LabError

__all__ = ["FileOutput", "HandedOver", "Inherited", "KeptTail", "ProcessOutput", "last_lines"]

TAIL_BYTES = 1 << 16
_READ_BYTES = 1 << 16
_NOT_PLAIN = "not a plain file"


class ProcessOutput(Protocol):
    """Where a process's stdout and stderr go."""

    @property
    def stdout_fd(self) -> int:
        """What the process gets as descriptor 1."""
        ...

    @property
    def stderr_fd(self) -> int:
        """What the process gets as descriptor 2."""
        ...

    @property
    def pump_fd(self) -> int | None:
        """A descriptor to be read by ``pump`` when it is readable; None where there is nothing to read."""
        ...

    def pump(self) -> bool:
        """Read what has come, without waiting; False at end of file."""
        ...

    def tail(self) -> bytes:
        """Return the end of what was printed, at most 64 KiB."""
        ...

    def started(self) -> None:
        """Let go of what only the process needs."""
        ...

    def close(self) -> None:
        """Let go of everything but the tail."""
        ...


class KeptTail:
    """Keep the newest 64 KiB of stdout and stderr together, in memory."""

    def __init__(self) -> None:
        self._read_fd, self._write_fd = os.pipe2(os.O_CLOEXEC)
        os.set_blocking(self._read_fd, False)
        self._pieces: deque[bytes] = deque()
        self._size = 0
        self._lock = threading.Lock()

    @property
    def stdout_fd(self) -> int:
        """The pipe's end for the process."""
        return self._write_fd

    @property
    def stderr_fd(self) -> int:
        """The same end: one stream, in the order of printing."""
        return self._write_fd

    @property
    def pump_fd(self) -> int | None:
        """The pipe's end for us."""
        return self._read_fd if self._read_fd >= 0 else None

    def pump(self) -> bool:
        """Read what has come, without waiting; False at end of file."""
        while self._read_fd >= 0:
            try:
                piece = os.read(self._read_fd, _READ_BYTES)
            except BlockingIOError:
                return True
            if not piece:
                return False
            with self._lock:
                self._pieces.append(piece)
                self._size += len(piece)
                while self._size - len(self._pieces[0]) >= TAIL_BYTES:
                    self._size -= len(self._pieces.popleft())
        return False

    def tail(self) -> bytes:
        """Return the newest bytes, at most 64 KiB."""
        with self._lock:
            return b"".join(self._pieces)[-TAIL_BYTES:]

    def started(self) -> None:
        """Close the process's end, so that end of file can come."""
        if self._write_fd >= 0:
            os.close(self._write_fd)
            self._write_fd = -1

    def close(self) -> None:
        """Close both ends."""
        self.started()
        if self._read_fd >= 0:
            os.close(self._read_fd)
            self._read_fd = -1


class FileOutput:
    """Write stdout and stderr to one file.

    Raises:
        LabError: The file cannot be written.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        # Without O_NONBLOCK a named pipe that nobody reads would hang us here for ever.
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND | os.O_CLOEXEC | os.O_NONBLOCK
        try:
            self._fd = os.open(path, flags, 0o666)
            if not stat.S_ISREG(os.fstat(self._fd).st_mode):
                os.close(self._fd)
                raise OSError(errno.EINVAL, _NOT_PLAIN)
            os.set_blocking(self._fd, True)
        except OSError as error:
            words = _NOT_PLAIN if error.errno == errno.ENXIO else error.strerror
            raise LabError(f"cannot write a process's output to {path}: {words}") from error

    @property
    def stdout_fd(self) -> int:
        """The file."""
        return self._fd

    @property
    def stderr_fd(self) -> int:
        """The file."""
        return self._fd

    @property
    def pump_fd(self) -> int | None:
        """None: the kernel writes the file."""
        return None

    def pump(self) -> bool:
        """Do nothing."""
        return False

    def tail(self) -> bytes:
        """Return the end of the file, at most 64 KiB."""
        try:
            with self.path.open("rb") as file:
                file.seek(max(0, file.seek(0, os.SEEK_END) - TAIL_BYTES))
                return file.read(TAIL_BYTES)
        except OSError:  # moved or deleted by the user, whose file it is
            return b""

    def started(self) -> None:
        """Close our descriptor."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def close(self) -> None:
        """Close our descriptor."""
        self.started()


class Inherited:
    """Let the process print where netlab itself prints."""

    stdout_fd = 1
    stderr_fd = 2
    pump_fd: int | None = None

    def pump(self) -> bool:
        """Do nothing."""
        return False

    def tail(self) -> bytes:
        """Return nothing: it was not kept."""
        return b""

    def started(self) -> None:
        """Do nothing."""

    def close(self) -> None:
        """Do nothing."""


class HandedOver:
    """Let the process print to descriptors that are its own alone: a client's, for instance. Nothing is kept.

    Args:
        stdout_fd: Ours to close once the process has it.
        stderr_fd: The same.
    """

    pump_fd: int | None = None

    def __init__(self, stdout_fd: int, stderr_fd: int) -> None:
        self.stdout_fd = stdout_fd
        self.stderr_fd = stderr_fd

    def pump(self) -> bool:
        """Do nothing."""
        return False

    def tail(self) -> bytes:
        """Return nothing: it was not kept."""
        return b""

    def started(self) -> None:
        """Close our copies."""
        for fd in (self.stdout_fd, self.stderr_fd):
            if fd >= 0:
                os.close(fd)
        self.stdout_fd = self.stderr_fd = -1

    def close(self) -> None:
        """Close our copies."""
        self.started()


def last_lines(data: bytes, count: int) -> str:
    """Return the last lines of some output as text."""
    return "\n".join(data.decode("utf-8", "replace").splitlines()[-count:])
