"""Fate, Fates: what becomes of one packet that is put into a link; of one packet a link, over many links.

::

    Fate --> copies (Copy, Copy)   duplicated: the duplicate first, it is queued before its original
         --> copies (Copy,)
         --> copies ()             lost, or no room

    Fates, columns --fate_at(link)--> Fate

The leading axes of columns are those of the packets put in: ``[links]``, or ``[packets, links]``.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

__all__ = ["LOST", "NO_ROOM", "Copies", "Copy", "Fate", "Fates", "everywhere"]


class Copy(Struct, frozen=True, gc=False):
    """One copy of a packet, queued.

    Attributes:
        delay_ns: The delay it drew; negative where the law reaches below zero. With a rate it waits longer.
        leave_ns: When it leaves the link, never before it came, on the clock of ``now_ns``. Of two that leave
            at one moment the one that was queued first leaves first, a ``head`` before all others.
        head: Reordered: it goes to the head of the queue and leaves at once.
        corrupted: One bit of it is flipped; which one, no seed decides.
        marked: Marked as having met congestion instead of being dropped.
        is_duplicate: It is the second copy, not the packet itself.
    """

    delay_ns: int
    leave_ns: int
    head: bool = False
    corrupted: bool = False
    marked: bool = False
    is_duplicate: bool = False


class Fate(Struct, frozen=True, gc=False):
    """What becomes of one packet.

    Attributes:
        copies: The copies that are queued, in the order of queueing (a duplicate before its original).
        over_limit: The queue had no room for at least one copy; the sender may be told.
    """

    copies: tuple[Copy, ...] = ()
    over_limit: bool = False

    @property
    def lost(self) -> bool:
        """Whether loss, not want of room, left no copy."""
        return not self.copies and not self.over_limit


LOST = Fate()
NO_ROOM = Fate((), True)


Bools = NDArray[np.bool_]
Moments = NDArray[np.int64]


class Copies(Struct, frozen=True, kw_only=True):
    """One copy of each packet. Do not write into the columns: some are shared, and read-only.

    Attributes:
        queued: Whether there is this copy. Where there is not, ``leave_ns`` is the least 64-bit number,
            ``head``, ``corrupted`` and ``marked`` are False, and ``delay_ns`` means nothing.
        delay_ns: As ``Copy.delay_ns``.
        leave_ns: As ``Copy.leave_ns``.
        head: As ``Copy.head``.
        corrupted: As ``Copy.corrupted``.
        marked: As ``Copy.marked``.
    """

    queued: Bools
    delay_ns: Moments
    leave_ns: Moments
    head: Bools
    corrupted: Bools
    marked: Bools

    @classmethod
    def none(cls, links: int) -> Copies:
        """Return no copy of any packet, ``[links]``."""
        nobody = everywhere(False, links)
        return cls(
            queued=nobody,
            delay_ns=np.zeros(links, dtype=np.int64),
            leave_ns=np.full(links, np.iinfo(np.int64).min),
            head=nobody,
            corrupted=nobody,
            marked=nobody,
        )

    @classmethod
    def stacked(cls, copies: Sequence[Copies]) -> Copies:
        """Return copies ``[links]`` of successive packets as one, ``[packets, links]``."""
        names = cls.__struct_fields__
        return cls(**{name: np.array([getattr(copy, name) for copy in copies]) for name in names})

    def copy_at(self, *where: int, is_duplicate: bool) -> Copy:
        """Return one of them."""
        return Copy(
            int(self.delay_ns[where]),
            int(self.leave_ns[where]),
            bool(self.head[where]),
            bool(self.corrupted[where]),
            bool(self.marked[where]),
            is_duplicate,
        )


class Fates(Struct, frozen=True, kw_only=True):
    """What becomes of each packet.

    Attributes:
        entered: Which links had a packet put in.
        original: The packets themselves.
        duplicate: Their duplicates, queued before them; None where there are none.
        over_limit: As ``Fate.over_limit``.
    """

    entered: Bools
    original: Copies
    duplicate: Copies | None
    over_limit: Bools

    @classmethod
    def stacked(cls, fates: Sequence[Fates]) -> Fates:
        """Return the fates ``[links]`` of successive packets as one, ``[packets, links]``."""
        duplicate = None
        if any(fate.duplicate is not None for fate in fates):
            never = Copies.none(len(fates[0].entered))
            duplicate = Copies.stacked([never if fate.duplicate is None else fate.duplicate for fate in fates])
        return cls(
            entered=np.array([fate.entered for fate in fates]),
            original=Copies.stacked([fate.original for fate in fates]),
            duplicate=duplicate,
            over_limit=np.array([fate.over_limit for fate in fates]),
        )

    @property
    def lost(self) -> Bools:
        """Whether loss, not want of room, left no copy."""
        left = self.original.queued | self.over_limit
        if self.duplicate is not None:
            left = left | self.duplicate.queued
        return self.entered & ~left

    def fate_at(self, *where: int) -> Fate:
        """Return the fate of one packet, ``fate_at(link)`` or ``fate_at(packet, link)``."""
        copies = []
        if self.duplicate is not None and self.duplicate.queued[where]:
            copies.append(self.duplicate.copy_at(*where, is_duplicate=True))
        if self.original.queued[where]:
            copies.append(self.original.copy_at(*where, is_duplicate=False))
        return Fate(tuple(copies), bool(self.over_limit[where]))


def everywhere(answer: bool, links: int) -> Bools:
    """Return one answer for all links, ``[links]``, to be shared: read-only."""
    column = np.full(links, answer)
    column.setflags(write=False)
    return column
