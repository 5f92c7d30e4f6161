"""HeldState: what is known of a netem that it does not tell: the state it has taken, the tables it may hold.

::

    begin(state) ------> on its way ------> settle(accepted)
    what it carries      verdict: None      taken, or as before; a table that was carried counts as held
    counts as held

    board(flight, state) --flight.is_under_way--> land(accepted)     the same, many with one mark

Tables stay in a netem, and no dump shows them. So what has been sent counts as arrived until it is known better:
however a change ends, by a refusal, a dead socket or a Ctrl-C between any two steps, the next one replaces a
table that may be there. Pure: sends and reads nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from netlab.errors import KernelError
from netlab.namespaces.netem_compare import compare_netem
from netlab.namespaces.netem_tables import without_stale_tables
from netlab.traces.qdisc_state import QdiscState

if TYPE_CHECKING:
    from netlab.namespaces.features import KernelFeatures

__all__ = ["Flight", "HeldState", "unproven"]

_SOME_TABLE: tuple[int, ...] = ()
"""A table that may or may not have arrived: equal to none that a state can have."""


class Flight:
    """Changes that were made ready to be sent together: one mark for all, set at the moment they are sent.

    Attributes:
        is_under_way: Whether they have been sent and not all is settled yet.
        is_stale: Whether one of the netems has been changed otherwise since: what was made ready must not be sent.
    """

    __slots__ = ("is_stale", "is_under_way")

    def __init__(self) -> None:
        self.is_under_way = False
        self.is_stale = False


class HeldState:
    """What one netem holds, or a model of one. One thread changes it; others may ask for a verdict.

    Attributes:
        taken: The state last taken, linear tables included where they stand for none; None before the first.
    """

    __slots__ = ("_boarded", "_delay_table", "_flight", "_revision", "_slot_table", "_staged", "taken")

    def __init__(self) -> None:
        self.taken: QdiscState | None = None
        self._delay_table: tuple[int, ...] | None = None
        self._slot_table: tuple[int, ...] | None = None
        self._staged: QdiscState | None = None
        self._flight: Flight | None = None
        self._boarded: QdiscState | None = None
        # Odd while a change is on its way, and another even number afterwards.
        self._revision = 0

    def complete(self, state: QdiscState) -> QdiscState:
        """Return what must be asked for to get this state, whatever tables are held."""
        return without_stale_tables(state, self._delay_table, self._slot_table)

    def lacking(self, complete: QdiscState) -> QdiscState:
        """Return a complete state without the tables that are known to be held."""
        if complete.delay_table is not None and complete.delay_table == self._delay_table:
            complete = complete.replace(delay_table=None)
        if complete.slot_table is not None and complete.slot_table == self._slot_table:
            complete = complete.replace(slot_table=None)
        return complete

    def begin(self, complete: QdiscState) -> None:
        """Note, before it is sent, that a state is on its way; ``settle`` follows."""
        self.leave()
        self._staged = complete
        self._revision |= 1  # an earlier change that nobody settled is over by now
        delay_table, slot_table = complete.delay_table, complete.slot_table
        if delay_table is not None and delay_table is not self._delay_table and delay_table != self._delay_table:
            self._delay_table = _SOME_TABLE
        if slot_table is not None and slot_table is not self._slot_table and slot_table != self._slot_table:
            self._slot_table = _SOME_TABLE

    def settle(self, accepted: bool) -> None:
        """Note what has become of what was on its way; nothing where nothing was.

        Args:
            accepted: Whether it is known to have been taken.
        """
        staged = self._staged
        if not self._revision & 1:
            return
        if accepted and staged is not None:
            if staged.delay_table is not None:
                self._delay_table = staged.delay_table
            if staged.slot_table is not None:
                self._slot_table = staged.slot_table
            self.taken = staged
        self._revision += 1

    def board(self, flight: Flight, state: QdiscState) -> None:
        """Note that a state is on its way as soon as a flight is; ``land`` follows, or nothing comes of it.

        Args:
            flight: What it is sent with.
            state: It carries no table that is not known to be held.
        """
        self.leave()
        self._boarded = state
        self._flight = flight

    def leave(self) -> None:
        """Note that nothing may come of a flight any more: what it would do has been overtaken."""
        if self._flight is not None:
            self._flight.is_stale = True
            self._flight = None

    def land(self, accepted: bool) -> None:
        """Note what has become of what a flight carried; nothing where nothing was aboard.

        Args:
            accepted: Whether it is known to have been taken.
        """
        if self._flight is None:
            return
        if accepted:
            self.taken = self._boarded
        self._revision += 2
        self._flight = None

    def differences(
        self, read: Callable[[], QdiscState], features: KernelFeatures | None = None
    ) -> list[str] | None:
        """Return how what shows differs from the state last taken, field by field.

        Args:
            read: Returns the state that shows now.
            features: What the kernel can do; None for everything.

        Returns:
            None where a change was on its way meanwhile, or nothing was taken yet: then nothing can be said.
        """
        revision, taken = self._revision, self.taken
        flies = self._is_flying
        shown = read()
        if taken is None or revision & 1 or flies or self._is_flying or revision != self._revision:
            return None
        return compare_netem(taken, shown, features)

    @property
    def _is_flying(self) -> bool:
        flight = self._flight
        return flight is not None and flight.is_under_way


def unproven(attempt: str) -> KernelError:
    """Return the error of who must prove a change where ``verify`` could not say.

    Args:
        attempt: What was tried, in a phrase that follows "cannot".
    """
    hint = "one thread at a time changes a direction: stop the other, then apply again"
    return KernelError(attempt, 0, "somebody else was changing it meanwhile, so nothing is proven", hint)
