"""Fate: what becomes of one packet that is put into a link.

::

    Fate --> copies (Copy, Copy)   duplicated: the duplicate first, it is queued before its original
         --> copies (Copy,)
         --> copies ()             lost, or no room
"""

from __future__ import annotations

from msgspec import Struct

__all__ = ["LOST", "NO_ROOM", "Copy", "Fate"]


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
