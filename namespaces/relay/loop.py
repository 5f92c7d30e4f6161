"""RelayLoop: waits for frames and deadlines and does what is due; one thread, no busy waiting.

::

    epoll <- ports, control socket, timer set to Departures.next_ns()
      |- a port:  Lane.pump          |- the timer, or any wake-up: Departures.send_due
      `- control: whoever watches it

The timer is a timerfd: nanoseconds, and no slack of its own.
"""

from __future__ import annotations

import os
import select
from collections.abc import Callable

from netlab.namespaces.relay.departures import Departures
from netlab.namespaces.relay.lane import Lane
from netlab.namespaces.syscalls import timerfd_create, timerfd_settime

__all__ = ["RelayLoop"]


class RelayLoop:
    """The loop of a relay process, and of the shim.

    Attributes:
        departures: Frames in flight of all lanes.
    """

    def __init__(self) -> None:
        self.departures = Departures()
        self._epoll = select.epoll()
        self._timer = timerfd_create()
        self._bell = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        self._ready: dict[int, Callable[[], None]] = {}
        self._armed_ns = 0
        self._running = True
        self._epoll.register(self._timer, select.EPOLLIN)
        self._epoll.register(self._bell, select.EPOLLIN)

    def watch(self, fd: int, ready: Callable[[], None]) -> None:
        """Call a function whenever a descriptor is readable or has failed."""
        self._ready[fd] = ready
        self._epoll.register(fd, select.EPOLLIN)

    def unwatch(self, fd: int) -> None:
        """Look at a descriptor no longer; one that is not watched is fine."""
        if self._ready.pop(fd, None) is not None:
            self._epoll.unregister(fd)

    def watch_lane(self, lane: Lane, gone: Callable[[OSError], None]) -> None:
        """Let the frames of a lane pass.

        Args:
            lane: The lane; what had come before is dropped.
            gone: Told when its source has vanished; the lane is no longer watched then.

        Raises:
            OSError: Its source is gone.
        """
        lane.discard()
        fd = lane.source.fileno()

        def pump() -> None:
            try:
                lane.pump()
            except OSError as error:
                self.unwatch(fd)
                gone(error)

        self.watch(fd, pump)

    def run(self) -> None:
        """Work until ``stop``."""
        departures, ready = self.departures, self._ready
        while self._running:
            self._set_timer(departures.next_ns())
            for fd, _ in self._epoll.poll():
                act = ready.get(fd)
                if act is not None:
                    act()
                    departures.send_due()
            departures.send_due()

    def stop(self) -> None:
        """End ``run`` soon; from any thread or signal handler."""
        self._running = False
        os.eventfd_write(self._bell, 1)

    def close(self) -> None:
        """Let go of its own descriptors; what was watched is its owner's."""
        self._epoll.close()
        os.close(self._timer)
        os.close(self._bell)

    def _set_timer(self, next_ns: int) -> None:
        """Have the timer ring at a moment, at once where it is past; 0 for never."""
        if next_ns != self._armed_ns:
            timerfd_settime(self._timer, next_ns)
            self._armed_ns = next_ns
