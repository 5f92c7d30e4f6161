"""What a lab and its relay process say to each other: one request, one reply. Plain data.

::

    lab                                          relay process
    AddLink + two TAPs, Join, Change, Read ... --> | length u32 | msgpack |
    Reply                                      <--
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from netlab.namespaces.relay.lane_counts import LaneCounts
from netlab.traces.qdisc_state import QdiscState

__all__ = ["AddLink", "Change", "Count", "Go", "Join", "Put", "Read", "Record", "Remove", "Reply", "Request"]

LaneDirection = Literal["forward", "back"]


class Go(Struct, frozen=True, tag=True):
    """The lab is alive and has heard that the relay is: begin."""


class AddLink(Struct, frozen=True, tag=True, kw_only=True):
    """Take over the TAPs of a link, first and second host; nothing passes yet.

    Attributes:
        number: Its number in the lab.
        name: What the packet log calls it.
        frame_bytes: The longest frame that its hosts send.
    """

    number: int
    name: str
    frame_bytes: int


class Join(Struct, frozen=True, tag=True):
    """Let packets through, both ways."""

    number: int


class Remove(Struct, frozen=True, tag=True):
    """Close the TAPs of a link, with all packets in flight; the interfaces vanish."""

    number: int


class Put(Struct, frozen=True):
    """One direction of a link and the state it is to be in."""

    number: int
    direction: LaneDirection
    state: QdiscState


class Change(Struct, frozen=True, tag=True):
    """Put some directions in new states at one moment; packets in flight stay in flight."""

    puts: tuple[Put, ...]


class Read(Struct, frozen=True, tag=True):
    """Tell the state of one direction."""

    number: int
    direction: LaneDirection


class Count(Struct, frozen=True, tag=True):
    """Tell what one direction has done so far."""

    number: int
    direction: LaneDirection


class Record(Struct, frozen=True, tag=True):
    """Write a line for each packet to the file that rides along; without a file, stop."""


Request = Go | AddLink | Join | Remove | Change | Read | Count | Record


class Reply(Struct, frozen=True, kw_only=True):
    """What became of one request.

    Attributes:
        problem: Why it was refused; empty where it was done.
        state: What ``Read`` asked for; None for a direction without impairment.
        counts: What ``Count`` asked for.
        priority: First reply of all: the place among processes that the relay was given.
    """

    problem: str = ""
    state: QdiscState | None = None
    counts: LaneCounts | None = None
    priority: str = ""
