"""EdgeColumns: N edges of the tick protocol as columns: what each tick plays, and what the edge has measured.

Of the frames that have arrived only the newest matters: a later one repeats what earlier ones said, for every
actuator, so a decision is there when the newest frame has it. The twin of ``netlab.control.edge``.

::

    Flights of frames --newest arrived--> Frames [n] --Actuator--> plays [n], actions [n]
                                                                    | not there: fallback
                                                                    v
                                                       played bits, turn, ages, misses in a row
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from netlab.control.answers import ANSWERABLE_TICKS
from netlab.envs.vector.actuator_columns import ActuatorColumns, Frames
from netlab.envs.vector.decisions import Decisions
from netlab.envs.vector.flights import Bools, Column, Flights, Numbers, Places
from netlab.envs.vector.loss_columns import LossColumns

__all__ = ["EdgeColumns"]

_NUMBER: Column = ((), np.dtype(np.int64))


class EdgeColumns:
    """What N edges know.

    Args:
        n: Number of rows.
        actuator: Which rows play what of what has arrived.
        hold_limit_ticks: The most ticks in a row that the last remote action is held; 0 for the neutral fallback.
        action: Shape and type of an action.
        tells_history: Whether ``turn`` and ``played`` are asked for.
        losses: Counts what ``loss_seen`` tells; None where it is not asked for.

    Attributes:
        reads: What frames must tell besides their tick, by name.
        frames: The newest that have arrived.
        turn: Remote actions played in the episode, ``[n]``.
        played: Bit i: whether the tick i + 1 before the next one played a remote action, ``[n]``.
        age_ticks: Age of what was played last, -1 for a fallback, ``[n]``.
        is_remote: Whether the last tick played a remote action, ``[n]``.
        is_neutral: Whether it played the neutral action, ``[n]``.
        actions: What it played where it was not neutral, ``[n, *shape]``.
    """

    def __init__(
        self,
        n: int,
        actuator: ActuatorColumns,
        hold_limit_ticks: int,
        action: Column,
        *,
        tells_history: bool,
        losses: LossColumns | None,
    ) -> None:
        of_name = {"first": _NUMBER, "until": _NUMBER, "turn": _NUMBER, "action": action}
        self.reads = actuator.reads
        self._flights = Flights(n, {"tick": _NUMBER} | {name: of_name[name] for name in actuator.reads})
        self._losses = losses
        self.frames = Frames(n, action)
        self._kept = [(name, getattr(self.frames, name)) for name in actuator.reads]
        self._actuator = actuator
        self._hold_limit_ticks = hold_limit_ticks
        self._tells_history = tells_history
        self.actions = np.zeros((n, *action[0]), action[1])
        self.turn = np.zeros(n, dtype=np.int64)
        self.played = np.zeros(n, dtype=np.uint64)
        self.age_ticks = np.full(n, -1, dtype=np.int64)
        self.is_remote = np.zeros(n, dtype=bool)
        self.is_neutral = np.ones(n, dtype=bool)
        self._has_played = np.zeros(n, dtype=bool)
        self._missed = np.zeros(n, dtype=np.int64)

    def clear(self, rows: Places) -> None:
        """Begin an episode in some rows."""
        self._flights.clear(rows)
        self.frames.clear(rows)
        self._actuator.clear(rows)
        if self._losses is not None:
            self._losses.clear(rows)
        self.age_ticks[rows] = -1
        self.turn[rows] = 0
        self.played[rows] = 0
        self.is_remote[rows] = False
        self.is_neutral[rows] = True
        if self._hold_limit_ticks:
            self._has_played[rows] = False
            self._missed[rows] = 0

    def send(self, arrives_ns: Numbers, who: Bools, frame: dict[str, NDArray[Any]]) -> None:
        """Put the answer of some rows under way.

        Args:
            arrives_ns: When it arrives, ``[n]``; ``NEVER`` where it does not, or there is none.
            who: Which rows, ``[n]``.
            frame: What ``Frames`` has of it, by name, ``[n, ...]`` each; what the actuator does not read may be
                left out.
        """
        if self._losses is not None:
            self._losses.push(arrives_ns, frame["tick"], who, self.frames.tick)
        self._flights.push(arrives_ns, frame)

    def receive(self, key: Numbers, ticks: Numbers, who: Bools) -> None:
        """Take in what has arrived in some rows.

        Args:
            key: By when, of ``key_at``, ``[n]``.
            ticks: The newest ticks that were observed, ``[n]``.
            who: Which rows, ``[n]``.
        """
        flights = self._flights
        rows, places = flights.take_newest(key, who)
        if not rows.size:
            return
        answered = flights.column("tick", places)
        is_late = ticks.take(rows) - answered >= ANSWERABLE_TICKS  # as ``AnswerRecord`` drops them
        if np.count_nonzero(is_late):
            rows, places, answered = rows[~is_late], places[~is_late], answered[~is_late]
        self.frames.tick[rows] = answered
        for name, kept in self._kept:
            kept[rows] = flights.column(name, places)

    def newest_age_ticks(self, ticks: Numbers) -> Numbers:
        """Return the age of the newest answer at these ticks, -1 before the first, ``[n]``."""
        newest = self.frames.tick
        return np.where(newest < 0, -1, ticks - newest)

    def loss_seen(self, now_ns: Numbers) -> NDArray[np.float64]:
        """Return the share without an answer among the 64 ticks up to the newest one answered, ``[n]``."""
        assert self._losses is not None  # who asks has said so
        return self._losses.loss_seen(now_ns, self.frames.tick)

    def play(self, ticks: Numbers, who: Bools, decisions: Decisions) -> None:
        """Play a tick in some rows.

        Args:
            ticks: Each row's tick, ``[n]``.
            who: Which rows, ``[n]``.
            decisions: What the remotes have decided: a frame that has arrived need not carry it.
        """
        remote = self._actuator.plays(self.frames, ticks, self.turn, who)
        decided = self._actuator.decided(self.frames, ticks, decisions)
        np.copyto(self.is_remote, remote, where=who)
        np.copyto(self.actions, decided, where=_over(remote, self.actions))
        np.copyto(self.age_ticks, -1, where=who)
        np.copyto(self.age_ticks, ticks - self.frames.tick, where=remote)
        if self._tells_history:
            self.turn += remote
            np.copyto(self.played, (self.played << np.uint64(1)) | remote, where=who)
        self._fall_back(remote, who)

    def _fall_back(self, remote: Bools, who: Bools) -> None:
        if not self._hold_limit_ticks:
            np.copyto(self.is_neutral, ~remote, where=who)
            return
        self._has_played |= remote
        self._missed += who
        self._missed[remote] = 0
        neutral = ~self._has_played | (self._missed > self._hold_limit_ticks)
        neutral &= ~remote
        np.copyto(self.is_neutral, neutral, where=who)


def _over(mask: Bools, like: NDArray[Any]) -> Bools:
    """Return a mask of rows that broadcasts over all that a row has."""
    return mask.reshape(mask.shape + (1,) * (like.ndim - 1))
