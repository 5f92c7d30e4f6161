"""Pump: carries bytes from one descriptor to another without ever blocking; standard library only.

::

    source --fill--> pending (bounded) --drain--> sink

Both ends of the guest's consoles use it. It knows no frames and no terminals: its owner polls, and says when
a source has something and a sink has room.
"""

from __future__ import annotations

import errno
import os
import select
from collections.abc import Mapping

__all__ = ["Pump", "wait_for"]

READ_BYTES = 65536
HELD_BYTES = 65536


class Pump:
    """One direction of one stream.

    Attributes:
        source: Descriptor to read; None once it has ended.
        sink: Descriptor to write; None once nobody reads there: what comes is then thrown away.
        pending: What has been read and not yet written.
    """

    def __init__(self, source: int | None, sink: int | None, piece_bytes: int = HELD_BYTES) -> None:
        """Carry bytes.

        Args:
            source: Non-blocking, or read only when it is known to have something.
            sink: Non-blocking; if it is not, ``piece_bytes`` must fit whenever it is writable (PIPE_BUF).
            piece_bytes: The most that is written in one call.
        """
        self.source = source
        self.sink = sink
        self.pending = bytearray()
        self._piece_bytes = piece_bytes

    @property
    def wants_input(self) -> bool:
        """Whether the source should be polled."""
        return self.source is not None and len(self.pending) < HELD_BYTES

    @property
    def wants_room(self) -> bool:
        """Whether the sink should be polled."""
        return self.sink is not None and bool(self.pending)

    @property
    def finished(self) -> bool:
        """Whether the source has ended and all it gave has been written."""
        return self.source is None and not self.pending

    def add_interests(self, masks: dict[int, int]) -> None:
        """Add what it waits for to what is polled for, by descriptor: one may be a source and a sink at once."""
        if self.wants_input and self.source is not None:
            masks[self.source] = masks.get(self.source, 0) | select.POLLIN
        if self.wants_room and self.sink is not None:
            masks[self.sink] = masks.get(self.sink, 0) | select.POLLOUT

    def fill(self) -> int:
        """Read once; return how many bytes came. At its end the source is forgotten, not closed."""
        if self.source is None:
            return 0
        try:
            data = os.read(self.source, READ_BYTES)
        except BlockingIOError:
            return 0
        except OSError as error:
            if error.errno != errno.EIO:  # how a terminal says that its other end has gone
                raise
            data = b""
        if not data:
            self.source = None
        elif self.sink is not None:
            self.pending += data
        return len(data)

    def drain(self) -> bool:
        """Write once; return False if that showed that nobody reads any more."""
        if self.sink is None or not self.pending:
            return True
        try:
            written = os.write(self.sink, memoryview(self.pending)[: self._piece_bytes].tobytes())
        except BlockingIOError:
            return True
        except OSError as error:
            if error.errno not in (errno.EPIPE, errno.EIO, errno.ECONNRESET):
                raise
            self.sink = None
            self.pending.clear()
            return False
        del self.pending[:written]
        return True


def wait_for(masks: Mapping[int, int], patience_s: float | None) -> dict[int, int]:
    """Return what descriptors are ready for, waiting until one is.

    Args:
        masks: What to poll for, by descriptor.
        patience_s: How long to wait at most; None for ever.
    """
    poller = select.poll()
    for fd, mask in masks.items():
        poller.register(fd, mask)
    return dict(poller.poll(None if patience_s is None else patience_s * 1000.0))
