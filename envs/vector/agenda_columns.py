"""Agendas of N remotes as columns: which target each row is asked about, and what its answer covers.

The twins of ``netlab.control.agenda``, which says why; here is only how it is done for many rows.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from netlab.envs.vector.flights import Bools, Numbers, Places
from netlab.envs.vector.horizon_columns import HorizonColumns
from netlab.messages import HISTORY_TICKS

__all__ = ["AgendaColumns", "EachObservationColumns", "EachTickColumns", "EachTurnColumns"]

_NONE = -1


class AgendaColumns(Protocol):
    """What is to be decided, and what has been.

    Attributes:
        target: The tick that each row is asked about, ``[n]``; the last one that it was, where it is not asked.
    """

    target: Numbers

    def clear(self, rows: Places) -> None:
        """Forget all of some rows: an episode begins there."""
        ...

    def open(self, rows: Places, ticks: Numbers, turns: Numbers) -> Bools | None:
        """Take in the newest observations of some rows; return which have a question, ``[m]``, None for all.

        Args:
            rows: Which, ``[m]``.
            ticks: Their ticks, ``[m]``.
            turns: How many actions had been played, ``[n]``.
        """
        ...

    def decide(self, who: Bools) -> Bools | None:
        """Take note that the targets of these rows are decided.

        Returns:
            Which have a further question, ``[n]``; None for none.
        """
        ...

    def answer(self) -> tuple[Numbers, Numbers]:
        """Return the first and the last target of each row's answer, ``[n]`` each."""
        ...


class EachObservationColumns:
    """Decide once on each observation, for the first tick that the answer can reach: D is 1.

    Args:
        n: Number of rows.
        lead_ticks: How many ticks after its own an observation can be answered at the earliest.
    """

    def __init__(self, n: int, lead_ticks: int) -> None:
        self.target = np.zeros(n, dtype=np.int64)
        self._lead_ticks = lead_ticks

    def clear(self, rows: Places) -> None:
        """Forget all of some rows."""
        self.target[rows] = 0

    def open(self, rows: Places, ticks: Numbers, turns: Numbers) -> Bools | None:
        """Ask; see ``AgendaColumns``."""
        self.target[rows] = ticks + self._lead_ticks
        return None

    def decide(self, who: Bools) -> Bools | None:
        """Ask no more until the next observation; see ``AgendaColumns``."""
        return None

    def answer(self) -> tuple[Numbers, Numbers]:
        """Return what was decided last; see ``AgendaColumns``."""
        return self.target, self.target


class EachTickColumns:
    """Decide for every tick, D ticks ahead.

    Args:
        horizon: D.
        n: Number of rows.
        lead_ticks: How many ticks after its own an observation can be answered at the earliest.
    """

    def __init__(self, horizon: HorizonColumns, n: int, lead_ticks: int) -> None:
        self.target = np.zeros(n, dtype=np.int64)
        self._always_asks = horizon.is_fixed
        self._horizon = horizon
        self._lead_ticks = lead_ticks
        self._has_begun = np.zeros(n, dtype=bool)
        self._any_begins = True
        self._until = np.zeros(n, dtype=np.int64)
        self._last = np.zeros(n, dtype=np.int64)
        self._earliest = np.zeros(n, dtype=np.int64)
        self._run_first = np.zeros(n, dtype=np.int64)

    def clear(self, rows: Places) -> None:
        """Forget all of some rows."""
        self._has_begun[rows] = False
        self._any_begins = True
        self.target[rows] = 0

    def open(self, rows: Places, ticks: Numbers, turns: Numbers) -> Bools | None:
        """Ask about all targets up to D that are not decided; see ``AgendaColumns``."""
        earliest = ticks + self._lead_ticks
        last = earliest + self._horizon.ticks.take(rows)
        last -= 1
        until = self._until.take(rows)
        anew = until < earliest  # all that was pending has run out
        if self._any_begins:
            begins = ~self._has_begun[rows]
            until = np.where(begins, last - 1 - np.minimum(ticks, HISTORY_TICKS), until)
            self._has_begun[rows] = True
            self._any_begins = not self._has_begun.all()
            anew = begins | (until < earliest)
            until = np.where(until < earliest, last - 1, until)
        elif anew.any():
            until = np.where(anew, last - 1, until)
        target = until + 1
        self._run_first[rows] = np.where(anew, target, self._run_first.take(rows))
        self._until[rows] = until
        self._earliest[rows] = earliest
        self._last[rows] = last
        if self._always_asks:
            self.target[rows] = target
            return None
        asked: Bools = until < last
        self.target[rows] = np.where(asked, target, self.target.take(rows))
        return asked

    def decide(self, who: Bools) -> Bools | None:
        """Go on to the next target; see ``AgendaColumns``."""
        np.copyto(self._until, self.target, where=who)
        more: Bools = self._until < self._last
        more &= who
        if not np.count_nonzero(more):
            return None
        self.target += more
        return more

    def answer(self) -> tuple[Numbers, Numbers]:
        """Return all that can still be played; see ``AgendaColumns``."""
        return np.maximum(self._earliest, self._run_first), self._until


class EachTurnColumns:
    """Decide once for each action that is played.

    Args:
        n: Number of rows.
        lead_ticks: How many ticks after its own an observation can be answered at the earliest.
    """

    def __init__(self, n: int, lead_ticks: int) -> None:
        self.target = np.zeros(n, dtype=np.int64)
        self._lead_ticks = lead_ticks
        self._turn = np.full(n, _NONE, dtype=np.int64)
        self._reaches = np.zeros(n, dtype=np.int64)

    def clear(self, rows: Places) -> None:
        """Forget all of some rows."""
        self._turn[rows] = _NONE
        self.target[rows] = 0

    def open(self, rows: Places, ticks: Numbers, turns: Numbers) -> Bools | None:
        """Ask where this is a new turn; see ``AgendaColumns``."""
        reaches, turns = ticks + self._lead_ticks, turns.take(rows)
        self._reaches[rows] = reaches
        is_new: Bools = turns != self._turn.take(rows)
        self._turn[rows] = turns
        self.target[rows] = np.where(is_new, reaches, self.target.take(rows))
        return is_new

    def decide(self, who: Bools) -> Bools | None:
        """Ask no more until the next turn; see ``AgendaColumns``."""
        return None

    def answer(self) -> tuple[Numbers, Numbers]:
        """Return the earliest tick that the turn's action can reach; see ``AgendaColumns``."""
        return self._reaches, self._reaches
