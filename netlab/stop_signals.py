"""stop_on_signals: SIGTERM and Ctrl-C end a service in order instead of at once.

Ground: standard library only.
"""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator
from types import FrameType

__all__ = ["stop_on_signals"]


@contextlib.contextmanager
def stop_on_signals(stop: Callable[[str], None]) -> Iterator[None]:
    """Have SIGTERM and SIGINT call ``stop`` while inside; afterwards all is as before.

    Only a process's main thread may ask for signals: in another one this does nothing.

    Args:
        stop: Told the signal's name, in a signal handler: it may do no more than take note.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def take_note(number: int, frame: FrameType | None) -> None:
        stop(signal.Signals(number).name)

    before = {number: signal.signal(number, take_note) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
