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
from netlab.namespaces.relay.plain_state import PlainState

__all__ = [
    "AddLink",
    "Asked",
    "Change",
    "Count",
    "Go",
    "Join",
    "Place",
    "PortKind",
    "Put",
    "Read",
    "Record",
    "Remove",
    "Reply",
    "Request",
]

Side = Literal["forward", "back", "medium"]
PortKind = Literal["tap", "raw"]


class Place(Struct, frozen=True, kw_only=True):
    """Where a model sits: in one direction of a link, or in a medium that links share.

    Attributes:
        number: Of the link or the medium.
        side: Which direction, or ``medium``.
    """

    number: int
    side: Side


class Go(Struct, frozen=True, tag=True):
    """The lab is alive and has heard that the relay is: begin."""


class AddLink(Struct, frozen=True, tag=True, kw_only=True):
    """Take over the two ports of a link, whose descriptors ride along; nothing passes yet.

    Attributes:
        number: Its number in the lab.
        name: What messages call it.
        kinds: What its ports are, the first host's first.
        frame_bytes: The longest frame that its hosts send.
        medium: Number of the medium it is part of; None for a link by itself.
    """

    number: int
    name: str
    kinds: tuple[PortKind, PortKind]
    frame_bytes: int
    medium: int | None = None


class Join(Struct, frozen=True, tag=True):
    """Let packets through, both ways."""

    number: int


class Remove(Struct, frozen=True, tag=True):
    """Close the ports of a link, with all packets in flight."""

    number: int


class Put(Struct, frozen=True):
    """A place and the state it is to be in."""

    place: Place
    state: PlainState


class Change(Struct, frozen=True, tag=True):
    """Put some directions in new states at one moment; packets in flight stay in flight."""

    puts: tuple[Put, ...]


class Read(Struct, frozen=True, tag=True):
    """Tell the state of one place."""

    place: Place


class Count(Struct, frozen=True, tag=True):
    """Tell what one direction has done so far; of a medium there is nothing to tell."""

    place: Place


class Record(Struct, frozen=True, tag=True, kw_only=True):
    """Write a line for each packet to a file, or write no more.

    Attributes:
        starts: Begin with the file that rides along; else end, and have all of it in the file.
        names: What to call links, by their numbers; ``link-N`` unless given.
    """

    starts: bool
    names: dict[int, str] = {}


Request = Go | AddLink | Join | Remove | Change | Read | Count | Record


class Asked(Struct, frozen=True):
    """A request and its number: a reply that nobody waits for any more, after an interrupt, is told by it."""

    number: int
    request: Request


class Reply(Struct, frozen=True, kw_only=True):
    """What became of one request.

    Attributes:
        number: Of the request; 0 for the first reply of all.
        problem: Why it was refused; empty where it was done.
        problems: The same for each put of a ``Change``, in its order.
        state: What ``Read`` asked for; None for a direction without impairment.
        counts: What ``Count`` asked for.
        priority: First reply of all: the place among processes that the relay was given.
    """

    number: int = 0
    problem: str = ""
    problems: tuple[str, ...] = ()
    state: PlainState | None = None
    counts: LaneCounts | None = None
    priority: str = ""
