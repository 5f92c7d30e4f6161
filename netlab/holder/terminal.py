"""LabTerminal: our terminal, lent to a program in another session: a terminal of its own, and a relay.

::

    keyboard --> our terminal (raw) --bytes--> pseudo-terminal --> the program's own: Ctrl-C, job control
    screen   <------------------------bytes---      |
    window size ------------------------------------'

A program that is a lab's cannot be in our session, and a terminal belongs to one. Knows terminals alone, not
who runs on them.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import select
import termios
from types import TracebackType
from typing import Any, Self

__all__ = ["LabTerminal"]

_PIECE_BYTES = 1 << 16
_TYPED_AHEAD_BYTES = 1 << 16
_SIZE_BYTES = 8
_LOOK_AGAIN_MS = 100
_INPUT, _OUTPUT = 0, 1
_LOCAL, _CHARACTERS = 3, 6


class LabTerminal:
    """A pseudo-terminal beside ours.

    Attributes:
        far_fd: The program's end; ours to close once the program has it.
        near_fd: Our end.
    """

    def __init__(self) -> None:
        self._settings: list[Any] = termios.tcgetattr(_INPUT)
        self.near_fd, self.far_fd = os.openpty()
        os.set_blocking(self.near_fd, False)
        termios.tcsetattr(self.far_fd, termios.TCSANOW, self._settings)
        self._typed = bytearray()
        self._has_keyboard = True
        self._is_held = True

    @classmethod
    def is_possible(cls) -> bool:
        """Tell whether we are used at a terminal; in a pipeline the program gets its ends as they are."""
        return os.isatty(_INPUT) and os.isatty(_OUTPUT)

    def __enter__(self) -> Self:
        self.take_over()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.give_back()
        self.let_go()
        os.close(self.near_fd)

    def let_go(self) -> None:
        """Close the program's end: it has its own."""
        if self.far_fd >= 0:
            os.close(self.far_fd)
            self.far_fd = -1

    def take_over(self) -> None:
        """Pass every key on as it is; stops us, as it should, while we are in the background."""
        self.copy_size()
        _apply(_raw(self._settings))

    def give_back(self) -> None:
        """Put our terminal back as it was; in the background it is somebody else's."""
        with contextlib.suppress(OSError, termios.error):  # it has hung up
            if os.tcgetpgrp(_INPUT) == os.getpgrp():
                _apply(self._settings)

    def copy_size(self) -> None:
        """Give the program's terminal the size of ours, which tells the program of it."""
        with contextlib.suppress(OSError):
            size = fcntl.ioctl(_INPUT, termios.TIOCGWINSZ, bytes(_SIZE_BYTES))
            fcntl.ioctl(self.near_fd, termios.TIOCSWINSZ, size)

    def watch(self, poll: select.poll) -> int | None:
        """Ask to be woken for what there is to pass on.

        Returns:
            After how many milliseconds to look all the same; None for never.
        """
        wants_keys = self._has_keyboard and len(self._typed) < _TYPED_AHEAD_BYTES
        near_events = select.POLLIN | (select.POLLOUT if self._typed else 0)
        for fd, events in (
            (_INPUT, select.POLLIN if wants_keys else 0),
            (self.near_fd, near_events if self._is_held else 0),
        ):
            if events:
                poll.register(fd, events)
            else:
                with contextlib.suppress(KeyError):
                    poll.unregister(fd)
        return None if self._is_held else _LOOK_AGAIN_MS

    def pump(self, ready: dict[int, int], leader_pid: int) -> bool:
        """Pass on what has come.

        Args:
            ready: Descriptors and their events.
            leader_pid: The program, whose session the terminal is.

        Returns:
            Whether the user asks to stop the program, and nobody in there can.
        """
        stop = False
        shown = self._show()
        # Nobody holds the program's end just now; it may open it again, and until then every look says so.
        self._is_held = shown or not ready.get(self.near_fd, 0) & select.POLLHUP
        if _INPUT in ready:
            keys = _read(_INPUT)
            if not keys:  # our terminal has hung up
                self._has_keyboard = False
                keys = self._character(termios.VEOF)
            keys, stop = self._take_stop_key(keys, leader_pid)
            self._typed += keys
        with contextlib.suppress(OSError):
            while self._typed:
                del self._typed[: os.write(self.near_fd, self._typed)]
        return stop

    def drain(self) -> None:
        """Show what was printed last, without waiting for those who still hold the terminal."""
        while self._show():
            pass

    def _show(self) -> bool:
        data = _read(self.near_fd)
        view = memoryview(data)
        while view:
            view = view[os.write(_OUTPUT, view) :]
        return bool(data)

    def _take_stop_key(self, keys: bytes, leader_pid: int) -> tuple[bytes, bool]:
        """Take the stop key out where the program itself is in front: the kernel stops no session's leader."""
        key = self._character(termios.VSUSP)
        if not key or key not in keys or not self._attributes()[_LOCAL] & termios.ISIG:
            return keys, False
        with contextlib.suppress(OSError):
            if os.tcgetpgrp(self.near_fd) == leader_pid:
                return keys.replace(key, b""), True
        return keys, False

    def _character(self, which: int) -> bytes:
        character = self._attributes()[_CHARACTERS][which]
        return character if isinstance(character, bytes) and character != b"\0" else b""

    def _attributes(self) -> list[Any]:
        return termios.tcgetattr(self.near_fd)


def _raw(settings: list[Any]) -> list[Any]:
    """Return settings with which every byte passes as it is, both ways."""
    inputs, outputs, control, local, in_speed, out_speed, characters = settings
    inputs &= ~(
        termios.IGNBRK | termios.BRKINT | termios.PARMRK | termios.ISTRIP
        | termios.INLCR | termios.IGNCR | termios.ICRNL | termios.IXON
    )  # fmt: skip
    outputs &= ~termios.OPOST
    control = control & ~(termios.CSIZE | termios.PARENB) | termios.CS8
    local &= ~(termios.ECHO | termios.ECHONL | termios.ICANON | termios.ISIG | termios.IEXTEN)
    characters = list(characters)
    characters[termios.VMIN], characters[termios.VTIME] = 1, 0
    return [inputs, outputs, control, local, in_speed, out_speed, characters]


def _apply(settings: list[Any]) -> None:
    """Put our terminal in a state; in the background that stops us until we are in front."""
    while True:
        try:
            termios.tcsetattr(_INPUT, termios.TCSADRAIN, settings)
        except termios.error as error:
            if error.args[0] != errno.EINTR:
                raise
        else:
            return


def _read(fd: int) -> bytes:
    """Read what is there; nothing at the end, of which a terminal makes an error."""
    try:
        return os.read(fd, _PIECE_BYTES)
    except OSError:
        return b""
