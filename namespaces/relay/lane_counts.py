"""LaneCounts: what one direction of a relay has done so far. Plain data."""

from __future__ import annotations

from msgspec import Struct

__all__ = ["LaneCounts"]


class LaneCounts(Struct, frozen=True, kw_only=True):
    """Packets of one direction, counted since its link was made.

    Attributes:
        received: Frames read from the sender.
        delivered: Frames written to the receiver; a duplicate is one more.
        lost: Frames that the model lost.
        over_limit: Frames that found the queue full.
        no_room: Frames dropped because the relay held all the bytes it may hold.
        refused: Frames that the receiving interface did not take (it is down, or its queue is full).
        oversized: Frames longer than the link's, from an interface that joins packets (shim alone).
        corrupted: Delivered or held frames with a flipped bit.
        marked: Frames marked by ECN instead of being lost.
        late: Frames delivered more than 1 ms after their time.
        late_mean_s: Mean time from when a frame was to leave to when it was written.
        late_max_s: The longest such time.
        held: Frames in flight now.
    """

    received: int = 0
    delivered: int = 0
    lost: int = 0
    over_limit: int = 0
    no_room: int = 0
    refused: int = 0
    oversized: int = 0
    corrupted: int = 0
    marked: int = 0
    late: int = 0
    late_mean_s: float = 0.0
    late_max_s: float = 0.0
    held: int = 0
