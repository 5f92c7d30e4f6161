"""LinkModel: one direction of a link as netem's algorithm, packet by packet and nanosecond by nanosecond.

A pure function of the state, the seed and the packets: no clock, no socket, no random number of its own.

::

    enqueue(now, length)
      duplicate? -> lost? -> corrupt? -> room? -> [the duplicate goes this way itself] -> reorder? -> delay -> rate
                                                                                                        |
      Fate <-- copies, each with the moment it leaves <--------------------------- backlog, last due <--'

Exact, but for what docs/link-model.md names. ``LinkModels`` is its twin over many links at once.
"""

from __future__ import annotations

from collections.abc import Callable

from msgspec import UNSET

from netlab.errors import ProfileError
from netlab.traces.model.backlog import Backlog
from netlab.traces.model.correlated_draw import CorrelatedDraw
from netlab.traces.model.delay_draw import make_delay
from netlab.traces.model.dialect import LINUX_6_12, Dialect
from netlab.traces.model.fate import LOST, NO_ROOM, Copy, Fate
from netlab.traces.model.loss_draw import make_loss
from netlab.traces.model.qdisc_change import QdiscChange
from netlab.traces.model.taus113 import Taus113
from netlab.traces.model.wire_time import WireTime
from netlab.traces.qdisc_state import QdiscState

__all__ = ["NEVER_NS", "LinkModel", "check_modelled"]

NEVER_NS = -(2**63)
"""Earlier than any moment: nothing is queued that a packet would have to wait for."""

MAX_LATENCY_NS = 2**61
"""73 years: moments stay within 64 bits."""


class LinkModel:
    """One netem qdisc.

    Args:
        state: Its first state.
        dialect: The kernel it is to be like.
        unseeded_seed: Where the generator begins while no seed has been sent (or honoured): the kernel takes
            a random number there, the model one that is given.
        unseeded_last: The draw before the first of each correlated kind, for the same reason; see
            ``draws_to_forget``.

    Raises:
        ProfileError: The state has what the model cannot do: slots.
    """

    def __init__(
        self,
        state: QdiscState,
        dialect: Dialect = LINUX_6_12,
        *,
        unseeded_seed: int = 0,
        unseeded_last: int = 0,
    ) -> None:
        self.dialect = dialect
        self._unseeded_last = unseeded_last
        self._generator = Taus113(unseeded_seed)
        self._draw_of: dict[str, Callable[[], int]] = {}
        self._backlog = Backlog()
        self._last_due_ns = NEVER_NS
        self._state = QdiscState(seed=unseeded_seed if dialect.seed_honoured else None)
        self.change(QdiscChange.in_full(state))

    @property
    def state(self) -> QdiscState:
        """What a dump would show, and the tables, which no dump shows."""
        return self._state

    def apply(self, state: QdiscState) -> None:
        """Send a state in full; packets in flight stay in flight.

        A table of None leaves the table that is there, a seed of None the generator: see ``QdiscChange``.

        Raises:
            ProfileError: The state has what the model cannot do; nothing has changed then.
        """
        self.change(QdiscChange.in_full(state))

    def change(self, change: QdiscChange) -> None:
        """Take one message; packets in flight stay in flight, the loss chain and the gap begin anew.

        Raises:
            ProfileError: The state would have what the model cannot do; nothing has changed then.
        """
        after = change.merge(self._state)
        check_modelled(after)
        if not self.dialect.seed_honoured:
            after = after.replace(seed=None)
        elif change.seed is not UNSET:
            self._generator.seed(change.seed)
        self._state = after
        self._packets_since_reorder = 0
        for kind in change.restarted_draws:
            self._draw_of[kind] = self._draw_by(getattr(after, f"{kind}_correlation"))
        self._prepare(after)

    def _draw_by(self, correlation: int) -> Callable[[], int]:
        draw = self._generator.draw
        return CorrelatedDraw(draw, correlation, self._unseeded_last).draw if correlation else draw

    def _prepare(self, state: QdiscState) -> None:
        """Lay out what each packet looks at."""
        self._duplicate, self._corrupt, self._reorder = state.duplicate, state.corrupt, state.reorder
        self._gap, self._limit_packets, self._ecn = state.gap, state.limit_packets, state.ecn
        draw_of = self._draw_of
        self._draw_duplicate, self._draw_corrupt = draw_of["duplicate"], draw_of["corrupt"]
        self._draw_reorder = draw_of["reorder"]
        self._lost = make_loss(state.loss, state.loss_model, self._generator.draw, draw_of["loss"]).lost
        self._delay_ns = make_delay(state, draw_of["delay"]).delay_ns
        self._wire_ns = WireTime(state) if state.rate_bytes_per_s else None

    def backlog_packets(self, now_ns: int) -> int:
        """Return how many packets are in the link; those due by ``now_ns`` have left."""
        return self._backlog.count(now_ns)

    def enqueue(
        self, now_ns: int, length_bytes: int, *, ect: bool = False, copy_now_ns: int | None = None
    ) -> Fate:
        """Put a packet into the link and return what becomes of it.

        Args:
            now_ns: The clock as the packet is queued; never earlier than at the packet before.
            length_bytes: Its length with the MAC header; matters where there is a rate.
            ect: Its sender can do with a mark in place of a loss.
            copy_now_ns: The clock as its duplicate, if it has one, is queued, just before itself; ``now_ns``
                unless given.
        """
        begin_ns = now_ns if copy_now_ns is None else copy_now_ns
        if self._last_due_ns <= begin_ns:
            self._last_due_ns = NEVER_NS  # it has left: nobody waits for it
        duplicated = self._duplicate > 0 and self._duplicate >= self._draw_duplicate()
        marked = False
        if self._lost():
            if ect and self._ecn:
                marked = True
            elif duplicated:
                duplicated = False  # one of the two is lost, and it does not matter which
            else:
                return LOST
        if duplicated:
            return self._enqueue_both(begin_ns, now_ns, length_bytes, ect, marked)
        corrupted = bool(self._corrupt and self._corrupt >= self._draw_corrupt())
        if not self._backlog.has_room(begin_ns, self._limit_packets):
            return NO_ROOM
        return Fate((self._queue(now_ns, length_bytes, corrupted, marked, False),))

    def _enqueue_both(self, copy_now_ns: int, now_ns: int, length_bytes: int, ect: bool, marked: bool) -> Fate:
        """Queue a packet and its duplicate, which goes all the way from the losses on by itself."""
        corrupted = bool(self._corrupt and self._corrupt >= self._draw_corrupt())
        if not self._backlog.has_room(copy_now_ns, self._limit_packets):
            return NO_ROOM
        # Room was looked for before the duplicate takes some: the queue may hold one more than its limit.
        duplicate = self._enqueue_duplicate(copy_now_ns, length_bytes, ect, marked)
        if duplicate and duplicate[0].marked and not corrupted:
            marked = True  # the two share their bytes until one of them is corrupted
        return Fate((*duplicate, self._queue(now_ns, length_bytes, corrupted, marked, False)))

    def _enqueue_duplicate(self, now_ns: int, length_bytes: int, ect: bool, marked: bool) -> tuple[Copy, ...]:
        if self._lost():
            if not (ect and self._ecn):
                return ()
            marked = True
        corrupted = bool(self._corrupt and self._corrupt >= self._draw_corrupt())
        if not self._backlog.has_room(now_ns, self._limit_packets):
            return ()
        return (self._queue(now_ns, length_bytes, corrupted, marked, True),)

    def _queue(self, now_ns: int, length_bytes: int, corrupted: bool, marked: bool, is_duplicate: bool) -> Copy:
        """Decide when a copy leaves, and keep count of it."""
        gap = self._gap
        if gap and self._packets_since_reorder >= gap - 1 and self._reorder >= self._draw_reorder():
            self._packets_since_reorder = 0
            due_ns, delay_ns, head = now_ns, 0, True
        else:
            self._packets_since_reorder += 1
            delay_ns, head = self._delay_ns(), False
            due_ns = now_ns + delay_ns
            if self._wire_ns is not None:
                due_ns = max(due_ns, self._last_due_ns)
                due_ns += self._wire_ns[length_bytes]
        self._last_due_ns = max(self._last_due_ns, due_ns)
        leave_ns = due_ns if due_ns > now_ns else now_ns
        self._backlog.add(leave_ns)
        return Copy(delay_ns, leave_ns, head, corrupted, marked, is_duplicate)


def check_modelled(state: QdiscState) -> None:
    """Refuse a state that has what the model cannot do.

    Raises:
        ProfileError: Slots, or a latency beyond 73 years.
    """
    slot = state.slot
    if slot is not None and (slot.min_delay_ns or slot.max_delay_ns or slot.dist_jitter_ns):
        raise ProfileError(
            "slot: the model has no slots; the kernel draws them when packets leave, at times no seed decides",
            hint="run it on a kernel's netem, not on a relay or the model, or leave the slot out",
        )
    if not -MAX_LATENCY_NS <= state.latency_ns <= MAX_LATENCY_NS:
        raise ProfileError(
            f"latency_ns = {state.latency_ns}: must be from -{MAX_LATENCY_NS} to {MAX_LATENCY_NS}, 73 years",
            hint="give a shorter delay: what never arrives is a loss of 100 %",
        )
