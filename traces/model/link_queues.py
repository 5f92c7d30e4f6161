"""LinkQueues: when the packets of many links leave: reordering, delay, rate.

The last steps of a packet's way, as ``LinkModel`` takes them for one link. Knows no loss and no limit.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from netlab.traces.model.correlated_draw import KindDraws
from netlab.traces.model.delay_draw import DelayDraws
from netlab.traces.model.draw_block import Mask
from netlab.traces.model.fate import Copies, everywhere
from netlab.traces.model.link_columns import LinkColumns
from netlab.traces.model.link_model import NEVER_NS
from netlab.traces.model.wire_time import WireTimes

__all__ = ["Clock", "LinkQueues"]

Bools = NDArray[np.bool_]
Numbers = NDArray[np.int64]
Clock = Numbers | np.int64

_NEVER = np.int64(NEVER_NS)


class LinkQueues:
    """The queue of each link, but for how many are in it.

    Args:
        columns: The states of the links.
        draws: Their draws by kind.
    """

    def __init__(self, columns: LinkColumns, draws: KindDraws) -> None:
        links = len(columns.ecn)
        self._columns = columns
        self._draws = draws
        self._last_due_ns = np.full(links, _NEVER)
        self._packets_since_reorder = np.zeros(links, dtype=np.int64)
        self._all, self._none = everywhere(True, links), everywhere(False, links)

    def begin_gap_anew(self, link: int | slice) -> None:
        """Count the packets of one link, or of several, from none."""
        self._packets_since_reorder[link] = 0

    def settle(self) -> None:
        """Bring what is derived from the states up to date; to be called when the columns have changed."""
        columns = self._columns
        self._delays = DelayDraws(columns, self._draws)
        self._wire_times = WireTimes(columns)
        self._any_rate, self._all_rate = bool(columns.has_rate.any()), bool(columns.has_rate.all())
        self._any_reorders = bool(columns.reorders.any())

    def forget_what_left(self, begin: Clock, active: Mask) -> None:
        """Let nobody wait for packets that have left."""
        if self._any_rate:
            left = self._last_due_ns <= begin
            self._last_due_ns = np.where(left if active is None else left & active, _NEVER, self._last_due_ns)

    def queue(
        self, now: Clock, length_bytes: int | Numbers, who: Mask, corrupted: Bools | None, marked: Bools | None
    ) -> Copies:
        """Queue a copy of these links' packets, and return when they leave.

        Args:
            now: The clock.
            length_bytes: One length, or ``[links]``.
            who: Which links.
            corrupted: Which are corrupted; None for none.
            marked: Which are marked; None for none.
        """
        head = self._reordering(who) if self._any_reorders else None
        delay_ns = self._delays.delay_ns(who if head is None else ~head if who is None else who & ~head)
        due_ns = now + delay_ns
        if self._any_rate:
            served_ns = np.maximum(due_ns, self._last_due_ns) + self._wire_times.of(length_bytes)
            due_ns = served_ns if self._all_rate else np.where(self._columns.has_rate, served_ns, due_ns)
        if head is not None:
            due_ns, delay_ns = np.where(head, now, due_ns), np.where(head, 0, delay_ns)
        leave_ns = np.maximum(due_ns, now) if self._columns.may_be_early else due_ns
        if who is not None:
            leave_ns, due_ns = np.where(who, leave_ns, _NEVER), np.where(who, due_ns, _NEVER)
        self._last_due_ns = np.maximum(self._last_due_ns, due_ns)
        return Copies(
            queued=self._all if who is None else who,
            delay_ns=delay_ns,
            leave_ns=leave_ns,
            head=self._none if head is None else head,
            corrupted=self._only(corrupted, who),
            marked=self._only(marked, who),
        )

    def queue_plain(
        self,
        now_ns: Numbers,
        length_bytes: int | Numbers,
        delay_draws: NDArray[np.uint32],
        who: Bools,
    ) -> tuple[Numbers, Numbers]:
        """Queue several packets of each link, without reordering; return their delays and when they leave.

        Args:
            now_ns: The clock, ``[packets, links]`` or ``[packets, 1]``.
            length_bytes: One length, or ``[packets, links]``.
            delay_draws: What decides each delay, ``[packets, links]``.
            who: Which packets are there at all, ``[packets, links]``.
        """
        delay_ns = self._delays.of(delay_draws)
        due_ns = np.where(who, now_ns + delay_ns, _NEVER)
        if self._any_rate:
            self._serve(now_ns, length_bytes, due_ns, who)
        else:
            self._last_due_ns = np.maximum(self._last_due_ns, due_ns.max(axis=0))
        if self._columns.may_be_early:
            due_ns = np.where(who, np.maximum(due_ns, now_ns), _NEVER)
        return delay_ns, due_ns

    def _serve(self, now_ns: Numbers, length_bytes: int | Numbers, due_ns: Numbers, who: Bools) -> None:
        """Let packets wait for those before them and take their time on the wire; ``due_ns`` is written."""
        has_rate, may_be_early = self._columns.has_rate, self._columns.may_be_early
        for packet, due in enumerate(due_ns):
            if may_be_early:
                self.forget_what_left(now_ns[packet], None)
            length = length_bytes if isinstance(length_bytes, int) else length_bytes[packet]
            served_ns = np.maximum(due, self._last_due_ns) + self._wire_times.of(length)
            np.copyto(due, served_ns, where=who[packet] if self._all_rate else who[packet] & has_rate)
            self._last_due_ns = np.maximum(self._last_due_ns, due)

    def _only(self, what: Bools | None, who: Mask) -> Bools:
        if what is None:
            return self._none
        return what if who is None else what & who

    def _reordering(self, who: Mask) -> Bools:
        """Return which packets go to the head of their queue, and count for all."""
        columns, count = self._columns, self._packets_since_reorder
        can = columns.reorders & (count >= columns.numbers["gap"] - 1)
        head = self._draws.decide("reorder", can, who)
        self._packets_since_reorder = np.where(head, 0, count + (1 if who is None else who))
        return head
