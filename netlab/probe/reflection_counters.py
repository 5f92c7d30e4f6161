"""ReflectionCounters: what a reflector has done, in numbers. Plain data."""

from __future__ import annotations

from msgspec import Struct

__all__ = ["ReflectionCounters"]


class ReflectionCounters(Struct, kw_only=True):
    """What a reflector has done.

    Attributes:
        sessions: Sessions opened.
        refused: Sessions refused: too many, or not a prober's.
        probes: Probes that verified, copies included.
        copies: Those of them that were a second copy or a further one.
        replies: Replies made.
        held_back: Answers not made, for their rate.
        unsent: Answers that were made and could not be sent.
        unstamped: Probes that the kernel has not stamped.
        pages: Pages of logs handed over.
        repeated: Copies of what is no probe: not answered again.
        elsewhere: Frames of a session that came from another address than its own: not opened.
        displaced: Silent sessions that have made room for a new one.
        clock_steps: How often this host's clock was set.
        rejected: Datagrams not believed, by reason.
    """

    sessions: int = 0
    refused: int = 0
    probes: int = 0
    copies: int = 0
    replies: int = 0
    held_back: int = 0
    unsent: int = 0
    unstamped: int = 0
    pages: int = 0
    repeated: int = 0
    elsewhere: int = 0
    displaced: int = 0
    clock_steps: int = 0
    rejected: dict[str, int] = {}
