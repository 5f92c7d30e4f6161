"""Signals as bytes on a pipe, so that one loop can wait for them beside everything else."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections.abc import Iterator
from types import FrameType

__all__ = ["caught_signals"]


@contextlib.contextmanager
def caught_signals(numbers: tuple[signal.Signals, ...]) -> Iterator[int]:
    """Catch signals for as long as the context lasts and yield a descriptor that reads one byte for each.

    A signal that is ignored stays so (nohup). Outside the main thread nothing is caught: none is delivered there.
    """
    read_end, write_end = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    before = {}

    def note(number: int, frame: FrameType | None) -> None:
        with contextlib.suppress(BlockingIOError):
            os.write(write_end, bytes((number,)))

    try:
        if threading.current_thread() is threading.main_thread():
            for number in numbers:
                handler = signal.getsignal(number)
                if handler is not None and handler is not signal.SIG_IGN:
                    before[number] = handler
                    signal.signal(number, note)
        yield read_end
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        os.close(read_end)
        os.close(write_end)
