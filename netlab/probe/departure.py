"""Departure: what became of a datagram that was to leave this host.

::

    send --+--> LEFT       the kernel has it
           +--> NO_ROOM    its buffers are full at this moment: the path has not seen it and cannot be judged by it
           +--> TOO_LARGE  it would have to go in fragments, which a measurement must not
           `--> NO_WAY     no route, no network, a firewall: the way has ended before its first hop
"""

from __future__ import annotations

import enum
import errno

__all__ = ["Departure"]


class Departure(enum.Enum):
    """What became of a datagram that was to leave this host."""

    LEFT = "left"
    NO_ROOM = "no room"
    TOO_LARGE = "too large"
    NO_WAY = "no way"

    @classmethod
    def refused(cls, number: int | None) -> Departure:
        """Return what the error of a send means."""
        return _REFUSALS.get(number or 0, cls.NO_WAY)


_REFUSALS = {
    errno.EAGAIN: Departure.NO_ROOM,
    errno.ENOBUFS: Departure.NO_ROOM,
    errno.ENOMEM: Departure.NO_ROOM,
    errno.EMSGSIZE: Departure.TOO_LARGE,
}
