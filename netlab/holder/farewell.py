"""Farewell: who has asked for a lab's end, and is told how it went when all of it is closed.

::

    client --EndLab--> Desk --link--> Farewell       door closed, lab closed, groups removed
           <----------- LabEnded(problems) --'       only the holder itself is still there
"""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Sequence

from netlab.errors import WireError
from netlab.holder.frames import send_frame
from netlab.holder.messages import Ending, LabEnded

__all__ = ["Farewell"]

_TOLD_WITHIN_S = 2.0
_MAX_LISTENERS = 16


class Farewell:
    """Those who wait for the end of a lab."""

    def __init__(self) -> None:
        self._listeners: list[socket.socket] = []
        self._lock = threading.Lock()

    def expect(self, link: socket.socket) -> None:
        """Tell a client that the end begins, and keep a descriptor of its link, for how it went.

        Raises:
            ConnectionLost: It is gone.
        """
        send_frame(link, Ending())
        with self._lock, contextlib.suppress(OSError):  # without a descriptor it sees the process end
            if len(self._listeners) < _MAX_LISTENERS:
                self._listeners.append(link.dup())

    def say(self, problems: Sequence[str]) -> bool:
        """Tell all of them how it went, and let them go.

        Returns:
            Whether anybody has heard it.
        """
        heard = False
        with self._lock:
            listeners, self._listeners = self._listeners, []
        for link in listeners:
            with link, contextlib.suppress(WireError):
                send_frame(link, LabEnded(list(problems)), within_s=_TOLD_WITHIN_S)
                heard = True
        return heard
