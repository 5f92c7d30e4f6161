"""OffloadReturn: the offloads that a shim has switched off, given back when the relay ends, however that comes.

::

    Shim --ReturnOffloads--> relay process --end of file, or its parent's death--> switched on again

The shim gives them back itself where it can; after its kill -9 nobody but the relay is left to do it.
"""

from __future__ import annotations

import signal
import socket
from collections.abc import Callable
from types import FrameType

from netlab.errors import KernelError
from netlab.namespaces.offload import Offloads, restore_offloads
from netlab.namespaces.syscalls import die_with_parent_thread

__all__ = ["OffloadReturn"]


class OffloadReturn:
    """What was on, by interface.

    Args:
        stop: Ends the relay's loop; called in a signal handler.
    """

    def __init__(self, stop: Callable[[], None]) -> None:
        self._stop = stop
        self._before: dict[str, Offloads] = {}

    def promise(self, interface: str, before: Offloads) -> None:
        """Give these back at the end: from now on a parent that dies is no reason to end at once.

        Raises:
            OSError: The kernel does not let us hear of the parent's death otherwise.
        """
        if not self._before:
            signal.signal(signal.SIGTERM, self._end)
            die_with_parent_thread(signal.SIGTERM)
        self._before[interface] = before

    def keep(self) -> None:
        """Give back; an interface that is gone needs nothing."""
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
            while self._before:
                interface, before = self._before.popitem()
                try:
                    restore_offloads(any_socket, interface, before)
                except KernelError as error:
                    # Nobody is there to raise it to; these are the last words that a shim, if it lives, quotes.
                    print(f"relay: {error}", flush=True)

    def _end(self, number: int, frame: FrameType | None) -> None:
        self._stop()
