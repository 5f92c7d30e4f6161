"""LinkModels: many links at once, each equal to a ``LinkModel`` of its own, packet by packet.

One call puts in one packet a link (or none, by a mask); a batch is many such calls. Every step is one numpy
operation over all links, and a step that no link takes costs nothing.

::

    LinkColumns   states      --.
    DrawBlock     generators  --+
    Losses        chains      --+--> enqueue(now [links], length) --> Fates, columns [links]
    LinkQueues    last due    --+
    Backlogs      limits      --'

Exactness is that of ``LinkModel``; the tests compare the two bit for bit over random states.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
from msgspec import UNSET
from numpy.typing import NDArray

from netlab.errors import ProfileError
from netlab.traces.model.backlog import Backlogs
from netlab.traces.model.correlated_draw import KindDraws
from netlab.traces.model.dialect import LINUX_6_12, Dialect
from netlab.traces.model.draw_block import DrawBlock, Mask
from netlab.traces.model.fate import Copies, Fates, everywhere
from netlab.traces.model.link_columns import LinkColumns
from netlab.traces.model.link_model import check_modelled
from netlab.traces.model.link_queues import Clock, LinkQueues
from netlab.traces.model.loss_draw import Losses
from netlab.traces.model.plain_batch import PlainBatch
from netlab.traces.model.qdisc_change import QdiscChange
from netlab.traces.qdisc_state import QdiscState

__all__ = ["LinkModels"]

Bools = NDArray[np.bool_]
Numbers = NDArray[np.int64]

_ALL = slice(None)
"""In the place of a link."""


class LinkModels:
    """Netem qdiscs, one a link.

    Args:
        states: The first state of each.
        dialect: The kernel they are to be like.
        unseeded_seed: As for ``LinkModel``, the same for all.
        unseeded_last: As for ``LinkModel``, the same for all.

    Raises:
        ProfileError: There is no link, or a state has what the model cannot do.
    """

    def __init__(
        self,
        states: Sequence[QdiscState],
        dialect: Dialect = LINUX_6_12,
        *,
        unseeded_seed: int = 0,
        unseeded_last: int = 0,
    ) -> None:
        if not states:
            raise ProfileError("states is empty: at least one link")
        links = len(states)
        self.dialect = dialect
        self._block = DrawBlock([unseeded_seed] * links)
        self._columns = LinkColumns(links)
        self._draws = KindDraws(self._columns, self._block, unseeded_last)
        self._losses = Losses(self._columns, self._block.draw, partial(self._draws.draw, "loss"))
        self._backlogs = Backlogs(links)
        self._queues = LinkQueues(self._columns, self._draws)
        self._all, self._none = everywhere(True, links), everywhere(False, links)
        self._states = [QdiscState(seed=unseeded_seed if dialect.seed_honoured else None)] * links
        # What all are in alike, but for their seeds; None where each may be in another.
        self._common: QdiscState | None = None
        for link, state in enumerate(states):
            self.apply(link, state)

    def __len__(self) -> int:
        return len(self._states)

    @property
    def states(self) -> tuple[QdiscState, ...]:
        """As ``LinkModel.state``, one a link."""
        return tuple(self._each())

    def apply(self, link: int, state: QdiscState) -> None:
        """As ``LinkModel.apply``, for one link.

        Raises:
            ProfileError: The state has what the model cannot do; nothing has changed then.
        """
        self.change(link, QdiscChange.in_full(state))

    def change(self, link: int, change: QdiscChange) -> None:
        """As ``LinkModel.change``, for one link.

        Raises:
            ProfileError: No such link, or the state would have what the model cannot do; nothing has changed then.
        """
        if not 0 <= link < len(self._states):
            raise ProfileError(f"link = {link}: there are links 0 .. {len(self._states) - 1}")
        self._states, self._common = self._each(), None
        after = change.merge(self._states[link])
        check_modelled(after)
        if not self.dialect.seed_honoured:
            after = after.replace(seed=None)
        elif change.seed is not UNSET:
            self._block.seed(link, change.seed)
        self._states[link] = after
        self._columns.put(link, after)
        self._losses.begin_anew(link)
        self._queues.begin_gap_anew(link)
        for kind in change.restarted_draws:
            self._draws.forget(kind, link)

    def change_all(self, change: QdiscChange) -> None:
        """As ``change`` for each link, in one go where all are in one state but for their seeds.

        Raises:
            ProfileError: A state would have what the model cannot do; no link has changed then.
        """
        common = self._common or self._alike()
        if common is None or change.seed is not UNSET:
            for state in self._each():
                check_modelled(change.merge(state))
            for link in range(len(self)):
                self.change(link, change)
            return
        after = change.merge(common)
        check_modelled(after)
        self._common = after
        self._columns.put(_ALL, after)
        self._losses.begin_anew(_ALL)
        self._queues.begin_gap_anew(_ALL)
        for kind in change.restarted_draws:
            self._draws.forget(kind, _ALL)

    def _each(self) -> list[QdiscState]:
        if self._common is None:
            return self._states
        return [self._common.replace(seed=state.seed) for state in self._states]

    def _alike(self) -> QdiscState | None:
        """Return what all links are in, without a seed; None where they are in different states."""
        first = self._states[0].replace(seed=None)
        return first if all(state.replace(seed=None) == first for state in self._states) else None

    def backlog_packets(self, now_ns: int | Numbers) -> Numbers:
        """Return how many packets are in each link, ``[links]``; those due by ``now_ns`` have left."""
        return self._backlogs.count(_clock(now_ns))

    def enqueue_batch(
        self,
        now_ns: Numbers,
        length_bytes: int | Numbers,
        *,
        active: Bools | None = None,
        ect: bool | Bools = False,
    ) -> Fates:
        """Put many packets into each link: the same as one after another, and faster where links are plain.

        Args:
            now_ns: The clock at each, ``[packets]`` or ``[packets, links]``.
            length_bytes: One length, or ``[packets, links]``.
            active: Which are put in at all, ``[packets, links]``; all unless given.
            ect: One for all, or ``[packets, links]``.

        Returns:
            Columns ``[packets, links]``.

        Raises:
            ProfileError: No packet.
        """
        if not len(now_ns):
            raise ProfileError("now_ns is empty: at least one packet")
        self._settle()
        is_plain = self._plain.is_plain and active is None and self._can_mark(ect) is None
        if not is_plain or not self._backlogs.has_room_for(now_ns[0], len(now_ns), self._columns.least_limit):
            one_by_one = [
                self.enqueue(
                    now_ns[packet],
                    length_bytes if isinstance(length_bytes, int) else length_bytes[packet],
                    active=None if active is None else active[packet],
                    ect=ect if isinstance(ect, bool) else ect[packet],
                )
                for packet in range(len(now_ns))
            ]
            return Fates.stacked(one_by_one)
        fates = self._plain.enqueue(now_ns if now_ns.ndim > 1 else now_ns[:, np.newaxis], length_bytes)
        for leave_ns in fates.original.leave_ns:
            self._backlogs.add(leave_ns)
        return fates

    def enqueue(
        self,
        now_ns: int | Clock,
        length_bytes: int | Numbers,
        *,
        active: Bools | None = None,
        ect: bool | Bools = False,
        copy_now_ns: int | Clock | None = None,
    ) -> Fates:
        """Put one packet into each link and return what becomes of them, columns ``[links]``.

        Args:
            now_ns: As for ``LinkModel.enqueue``: one clock for all, or ``[links]``.
            length_bytes: One length for all, or ``[links]``.
            active: Which links have a packet put in, ``[links]``; all unless given.
            ect: One for all, or ``[links]``.
            copy_now_ns: As ``now_ns``.
        """
        self._settle()
        active = None if active is None else active.copy()  # it goes into the fates
        now = _clock(now_ns)
        begin = now if copy_now_ns is None else _clock(copy_now_ns)
        self._block.reserve(self._columns.most_draws)
        self._queues.forget_what_left(begin, active)
        can_mark = self._can_mark(ect)
        duplicated = None
        if self._any_duplicates:
            duplicated = self._draws.decide("duplicate", self._columns.duplicates, active)
        lost, marked = self._losing(active, can_mark)
        if lost is not None and duplicated is not None:
            # One of two is lost, and it does not matter which.
            lost, duplicated = lost & ~duplicated, duplicated & ~lost
        enters = active if lost is None else _without(active, lost)
        entered = self._all if active is None else active
        parts = self._enter(now, begin, length_bytes, enters, duplicated, can_mark, marked)
        return Fates(entered=entered, original=parts[0], duplicate=parts[1], over_limit=parts[2])

    def _enter(
        self,
        now: Clock,
        begin: Clock,
        length_bytes: int | Numbers,
        enters: Mask,
        duplicated: Bools | None,
        can_mark: Bools | None,
        marked: Bools | None,
    ) -> tuple[Copies, Copies | None, Bools]:
        """Take what is not lost, and its duplicates, through the queue; return both, and where it was full."""
        duplicate = None
        corrupted = self._corrupting(enters)
        room = self._has_room(begin)
        if duplicated is not None and room is not None:
            duplicated = duplicated & room
        if duplicated is not None and duplicated.any():
            duplicate = self._enter_duplicate(begin, length_bytes, duplicated, room, can_mark, marked)
            if can_mark is not None:
                marked = self._shared_mark(marked, duplicate, corrupted)
        over_limit = self._none
        if room is not None:
            over_limit = ~room if enters is None else enters & ~room
            enters = room if enters is None else enters & room
        original = self._queues.queue(now, length_bytes, enters, corrupted, marked)
        if duplicate is not None:
            self._backlogs.add(duplicate.leave_ns)
        self._backlogs.add(original.leave_ns)
        return original, duplicate, over_limit

    def _enter_duplicate(
        self,
        now: Clock,
        length_bytes: int | Numbers,
        who: Bools,
        room: Bools | None,
        can_mark: Bools | None,
        marked: Bools | None,
    ) -> Copies:
        """Take duplicates all the way from the losses on."""
        lost, newly_marked = self._losing(who, can_mark)
        if lost is not None:
            who = who & ~lost
        if marked is not None and newly_marked is not None:
            marked = marked | newly_marked
        corrupted = self._corrupting(who)
        if room is not None:
            who = who & room
        return self._queues.queue(now, length_bytes, who, corrupted, marked)

    @staticmethod
    def _shared_mark(marked: Bools | None, duplicate: Copies, corrupted: Bools | None) -> Bools:
        """Return where the original is marked: the two share their bytes until one of them is corrupted."""
        shared = duplicate.marked if corrupted is None else duplicate.marked & ~corrupted
        return shared if marked is None else marked | shared

    def _losing(self, who: Mask, can_mark: Bools | None) -> tuple[Bools | None, Bools | None]:
        """Return which are lost and which are marked instead; None where none can be."""
        lost = self._losses.lost(who)
        if lost is None or can_mark is None:
            return lost, None
        return lost & ~can_mark, lost & can_mark

    def _can_mark(self, ect: bool | Bools) -> Bools | None:
        if not self._any_ecn or (isinstance(ect, bool) and not ect):
            return None
        return self._columns.ecn if isinstance(ect, bool) else self._columns.ecn & ect

    def _corrupting(self, who: Mask) -> Bools | None:
        return self._draws.decide("corrupt", self._columns.corrupts, who) if self._any_corrupts else None

    def _has_room(self, begin: Clock) -> Bools | None:
        limit_packets = self._columns.numbers["limit_packets"]
        return self._backlogs.has_room(begin, limit_packets, self._columns.least_limit)

    def _settle(self) -> None:
        """Bring what is derived from the states up to date."""
        columns = self._columns
        if not columns.settle():
            return
        self._losses.settle()
        self._queues.settle()
        self._plain = PlainBatch(columns, self._block, self._queues)
        self._any_ecn = bool(columns.ecn.any())
        self._any_duplicates = bool(columns.duplicates.any())
        self._any_corrupts = bool(columns.corrupts.any())


def _clock(now_ns: int | Clock) -> Clock:
    return np.int64(now_ns) if isinstance(now_ns, int) else now_ns


def _without(who: Mask, those: Bools) -> Bools:
    return ~those if who is None else who & ~those
