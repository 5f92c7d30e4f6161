"""Statistics: what a channel, a session or a listener has sent, received and refused.

Plain counters, written by whoever does the work and read by whoever reports. Nothing is dropped without one
of them moving.
"""

from __future__ import annotations

from collections import Counter
from enum import StrEnum

__all__ = ["Rejection", "Statistics"]


class Rejection(StrEnum):
    """Why a frame that arrived was not believed."""

    AUTH = "auth"
    """The seal or the proof does not verify: wrong key, damage, forgery."""
    REPLAY = "replay"
    """Seen before, or too old to know."""
    MALFORMED = "malformed"
    """Not a frame, or a frame that holds no valid message."""
    OVERSIZE = "oversize"
    """Larger than the transport allows; nothing was allocated for it."""
    UNKNOWN = "unknown"
    """For a session that is not there (any more)."""
    VERSION = "version"
    """A peer that speaks another version of the protocol."""
    SLOW = "slow"
    """A connection that proved nothing in time."""
    CROWDED = "crowded"
    """Turned away because a bound was reached."""


class Statistics:
    """Counters of one channel, session or listener.

    Attributes:
        frames_sent: Frames given to the kernel.
        bytes_sent: Their bytes, headers and seals included (without the kernel's own headers).
        frames_received: Frames that verified and held a message.
        bytes_received: Their bytes.
        send_dropped: Messages that never left: the kernel's or our own send buffer was full.
        refused_by_port: Times the peer's host said that nobody has that port.
        rejected: Frames not believed, by reason.
    """

    __slots__ = (
        "bytes_received",
        "bytes_sent",
        "frames_received",
        "frames_sent",
        "refused_by_port",
        "rejected",
        "send_dropped",
    )

    def __init__(self) -> None:
        self.frames_sent = 0
        self.bytes_sent = 0
        self.frames_received = 0
        self.bytes_received = 0
        self.send_dropped = 0
        self.refused_by_port = 0
        self.rejected: Counter[Rejection] = Counter()

    def as_dict(self) -> dict[str, int | dict[str, int]]:
        """Return the counters as plain data, for ``--json``."""
        counters: dict[str, int | dict[str, int]] = {
            name: getattr(self, name) for name in sorted(self.__slots__) if name != "rejected"
        }
        counters["rejected"] = {str(reason): count for reason, count in sorted(self.rejected.items())}
        return counters

    def __repr__(self) -> str:
        return f"Statistics({self.as_dict()})"
