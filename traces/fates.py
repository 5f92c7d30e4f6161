"""Fates: what becomes of one packet a link, over many links, as columns.

The twin of ``Fate``. Leading axes are those of the packets put in: ``[links]``, or ``[packets, links]``.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from netlab.traces.fate import Copy, Fate

__all__ = ["Copies", "Fates"]

Bools = NDArray[np.bool_]
Moments = NDArray[np.int64]


class Copies(Struct, frozen=True, kw_only=True):
    """One copy of each packet. Do not write into the columns: some are shared.

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
        nobody = np.zeros(links, dtype=bool)
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
