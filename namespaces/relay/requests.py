"""What a lab and its relay process say to each other: one request, one reply. Plain data.

::

    lab                                             relay process
    AddLinks + their TAPs, Join, PutStates ... --> | length u32 | descriptors u32 | msgpack |
    Reply                                      <--

msgspec cannot tell untagged structs in a union apart, so a QdiscState goes as plain values: ``to_plain``,
``from_plain``.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec
from msgspec import Struct

from netlab.namespaces.relay.refusal import Refusal
from netlab.traces.qdisc_state import FourStateState, GilbertElliottState, QdiscState, SlotState
from netlab.traces.seed import Direction

__all__ = [
    "AddLinks",
    "AddMedium",
    "Asked",
    "Count",
    "Go",
    "Join",
    "LaneCounts",
    "LinkPlace",
    "MediumPlace",
    "NewLink",
    "Place",
    "PlainState",
    "PortKind",
    "Put",
    "PutStates",
    "Read",
    "Record",
    "Remove",
    "RemoveMedium",
    "Reply",
    "Request",
    "ReturnOffloads",
    "from_plain",
    "to_plain",
]

PortKind = Literal["tap", "raw"]
PlainState = dict[str, Any]
_TABLES = ("delay_table", "slot_table")


class LinkPlace(Struct, frozen=True, tag="link"):
    """One direction of a link, in which a model sits."""

    number: int
    direction: Direction


class MediumPlace(Struct, frozen=True, tag="medium"):
    """A medium that links share, in which a model sits."""

    number: int


Place = LinkPlace | MediumPlace


class Go(Struct, frozen=True, tag=True):
    """The lab is alive and has heard that the relay is: begin."""


class NewLink(Struct, frozen=True, kw_only=True):
    """A link that the relay is to carry.

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


class AddLinks(Struct, frozen=True, tag=True):
    """Take over the ports of links, two each, whose descriptors ride along in this order; nothing passes yet."""

    links: tuple[NewLink, ...]


class Join(Struct, frozen=True, tag=True):
    """Let packets through links, both ways."""

    numbers: tuple[int, ...]


class Remove(Struct, frozen=True, tag=True):
    """Close the ports of links, with all packets in flight; there may be no such link."""

    numbers: tuple[int, ...]


class AddMedium(Struct, frozen=True, tag=True):
    """Have a medium that links can share; it lets all pass as long as it is put in no state."""

    number: int


class RemoveMedium(Struct, frozen=True, tag=True):
    """Forget a medium of which no link is part."""

    number: int


class Put(Struct, frozen=True):
    """A place and the state it is to be in."""

    place: Place
    state: PlainState


class PutStates(Struct, frozen=True, tag=True):
    """Put some places in new states at one moment; packets in flight stay in flight."""

    puts: tuple[Put, ...]


class Read(Struct, frozen=True, tag=True):
    """Tell the state of one place."""

    place: Place


class Count(Struct, frozen=True, tag=True):
    """Tell what one place has done so far."""

    place: Place


class Record(Struct, frozen=True, tag=True, kw_only=True):
    """Write a line for each packet to a file, or write no more.

    Attributes:
        starts: Begin with the file that rides along; else end, and have all of it in the file.
    """

    starts: bool


class ReturnOffloads(Struct, frozen=True, tag=True, kw_only=True):
    """When the end comes, whoever is left then, switch on again what was on at an interface.

    Attributes:
        interface: Its name.
        tso: As ``Offloads`` has it.
        gso: As ``Offloads`` has it.
        gro: As ``Offloads`` has it.
    """

    interface: str
    tso: bool
    gso: bool
    gro: bool


Request = (
    Go | AddLinks | Join | Remove | AddMedium | RemoveMedium | PutStates | Read | Count | Record | ReturnOffloads
)


class Asked(Struct, frozen=True):
    """A request and its number: a reply that nobody waits for any more, after an interrupt, is told by it."""

    number: int
    request: Request


class LaneCounts(Struct, kw_only=True):
    """Packets of one direction, or of one medium, counted since it was made.

    Attributes:
        received: Frames read from the sender.
        delivered: Frames handed on, to the receiver or from the medium to the link; a duplicate is one more.
        lost: Frames that the model lost.
        over_limit: Frames that found the queue full.
        no_room: Frames dropped because the relay held all the bytes it may hold.
        refused: Frames that the receiving interface did not take (it is down, or its queue is full).
        oversized: Frames longer than the link's: a host's MTU was raised, or an interface joins packets.
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

    def count_delivered(self, late_s: float) -> None:
        """Count a frame that was handed on.

        Args:
            late_s: How long after its time.
        """
        self.delivered += 1
        self.late += late_s > _LATE_S
        self.late_mean_s += (late_s - self.late_mean_s) / self.delivered
        self.late_max_s = max(self.late_max_s, late_s)

    def figures(self) -> dict[str, int | float]:
        """Return each count under its name."""
        return {name: getattr(self, name) for name in self.__struct_fields__}


_LATE_S = 1e-3


class Reply(Struct, frozen=True, kw_only=True):
    """What became of one request.

    Attributes:
        number: Of the request; 0 for the first reply of all.
        refusal: Why it was refused; None where it was done.
        refusals: The same for each put of a ``PutStates``, in its order.
        state: What ``Read`` asked for; None for a place without impairment.
        counts: What ``Count`` asked for.
        missed: Answer to the end of a ``Record``: packets that there was no room to write down.
        priority: First reply of all: the place among processes that the relay was given.
    """

    number: int = 0
    refusal: Refusal | None = None
    refusals: tuple[Refusal | None, ...] = ()
    state: PlainState | None = None
    counts: LaneCounts | None = None
    missed: int = 0
    priority: str = ""


def to_plain(state: QdiscState) -> PlainState:
    """Return a state as values that msgpack can say; fields of their default are left out."""
    blank = QdiscState()
    fields = {field: getattr(state, field) for field in state.__struct_fields__}
    plain: PlainState = msgspec.to_builtins(
        {field: value for field, value in fields.items() if value != getattr(blank, field)}
    )
    return plain


def from_plain(plain: PlainState) -> QdiscState:
    """Return the state that ``to_plain`` was given.

    Raises:
        TypeError: It holds what is no field.
        msgspec.ValidationError: A part of it is none.
        ProfileError: A field is outside the kernel's range.
    """
    fields = dict(plain)
    for table in _TABLES:
        if table in fields:
            fields[table] = tuple(fields[table])
    if "slot" in fields:
        fields["slot"] = msgspec.convert(fields["slot"], SlotState)
    chain = fields.get("loss_model")
    if chain is not None:
        fields["loss_model"] = msgspec.convert(chain, FourStateState if "p13" in chain else GilbertElliottState)
    return QdiscState(**fields)
