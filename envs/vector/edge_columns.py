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

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from netlab.envs.vector.flights import Bools, Column, Flights, Numbers, Places, rows_of
from netlab.envs.vector.loss_columns import LossColumns

__all__ = ["ActuatorColumns", "EdgeColumns", "Frames", "NewestColumns", "ScheduledColumns", "StopAndWaitColumns"]

_ANSWERABLE_TICKS = 1024
"""An answer to an older observation is dropped, as ``AnswerRecord`` does."""
_NUMBER: Column = ((), np.dtype(np.int64))


class Frames:
    """The newest frame that has arrived in each row.

    Args:
        n: Number of rows.
        action: Shape and type of an action.

    Attributes:
        tick: Tick of the observation it answers, ``[n]``; -1 where none has arrived.
        first: The first tick it has a decision for, ``[n]``.
        until: The last one, ``[n]``.
        turn: Of that observation, ``[n]``.
        action: The first decision, ``[n, *shape]``.
    """

    def __init__(self, n: int, action: Column) -> None:
        self.tick = np.full(n, -1, dtype=np.int64)
        self.first = np.zeros(n, dtype=np.int64)
        self.until = np.full(n, -1, dtype=np.int64)
        self.turn = np.full(n, -1, dtype=np.int64)
        self.action = np.zeros((n, *action[0]), action[1])

    def clear(self, rows: Places) -> None:
        """Forget the frames of some rows."""
        self.tick[rows] = self.until[rows] = self.turn[rows] = -1


class ActuatorColumns(Protocol):
    """Says which rows play a decision at a tick.

    Attributes:
        reads: What it must know of a frame besides its tick.
    """

    reads: tuple[str, ...]

    def plays(self, frames: Frames, ticks: Numbers, turns: Numbers, who: Bools) -> Bools:
        """Return where the newest frame has something to play at this tick, ``[n]``.

        Args:
            frames: The newest frames.
            ticks: Each row's tick, ``[n]``.
            turns: How many actions each has played, ``[n]``.
            who: Which rows have a tick, ``[n]``.
        """
        ...

    def clear(self, rows: Places) -> None:
        """Forget all of some rows."""
        ...


class NewestColumns:
    """Each frame is played once.

    Args:
        n: Number of rows.
    """

    reads: tuple[str, ...] = ("action",)

    def __init__(self, n: int) -> None:
        self._played = np.full(n, -1, dtype=np.int64)

    def plays(self, frames: Frames, ticks: Numbers, turns: Numbers, who: Bools) -> Bools:
        """Play a frame that is newer than the one played last."""
        fresh: Bools = frames.tick > self._played
        fresh &= who
        np.copyto(self._played, frames.tick, where=fresh)
        return fresh

    def clear(self, rows: Places) -> None:
        """Forget what was played."""
        self._played[rows] = -1


class ScheduledColumns:
    """Each decision is played at its tick."""

    reads: tuple[str, ...] = ("first", "until")

    def plays(self, frames: Frames, ticks: Numbers, turns: Numbers, who: Bools) -> Bools:
        """Play the decision for this tick."""
        due: Bools = frames.first <= ticks
        due &= ticks <= frames.until
        due &= who
        return due

    def clear(self, rows: Places) -> None:
        """Forget nothing: frames say what they are for."""


class StopAndWaitColumns:
    """Each turn's decision is played once."""

    reads: tuple[str, ...] = ("action", "turn")

    def plays(self, frames: Frames, ticks: Numbers, turns: Numbers, who: Bools) -> Bools:
        """Play a decision of this turn."""
        current: Bools = frames.turn == turns
        current &= who
        return current

    def clear(self, rows: Places) -> None:
        """Forget nothing: frames say which turn they are of."""


class EdgeColumns:
    """What N edges know.

    Args:
        n: Number of rows.
        actuator: Which rows play what has arrived.
        hold_limit_ticks: The most ticks in a row that the last remote action is held; 0 for the neutral fallback.
        action: Shape and type of an action.
        tells_history: Whether ``turn`` and ``played`` are asked for.
        counts_losses: Whether ``loss_seen`` is.

    Attributes:
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
        counts_losses: bool,
    ) -> None:
        of_name = {"first": _NUMBER, "until": _NUMBER, "turn": _NUMBER, "action": action}
        self._reads = {name: of_name[name] for name in actuator.reads}
        self._flights = Flights(n, {"tick": _NUMBER, **self._reads})
        self._losses = LossColumns(n) if counts_losses else None
        self.frames = Frames(n, action)
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
        self._flights.push(arrives_ns, {"tick": frame["tick"], **{name: frame[name] for name in self._reads}})

    def receive(self, key: Numbers, ticks: Numbers, who: Bools) -> None:
        """Take in what has arrived in some rows.

        Args:
            key: By when, of ``key_at``, ``[n]``.
            ticks: The newest ticks that were observed, ``[n]``.
            who: Which rows, ``[n]``.
        """
        flights, newest = self._flights, self.frames.tick
        first: Places | None = None
        while True:
            rows = rows_of(flights.arrived(key) & who)
            if not rows.size:
                break
            places, _ = flights.take(rows)
            if first is None:
                first, last = rows, np.empty(len(who), dtype=np.int64)
            last[rows] = places
        if first is None:
            return
        places = last.take(first)
        answered = flights.column("tick", places)
        is_valid = ticks.take(first) - answered < _ANSWERABLE_TICKS
        if not is_valid.all():
            first, places, answered = first[is_valid], places[is_valid], answered[is_valid]
        newest[first] = answered
        for name in self._reads:
            getattr(self.frames, name)[first] = flights.column(name, places)

    def newest_age_ticks(self, ticks: Numbers) -> Numbers:
        """Return the age of the newest answer at these ticks, -1 before the first, ``[n]``."""
        newest = self.frames.tick
        return np.where(newest < 0, -1, ticks - newest)

    def loss_seen(self, now_ns: Numbers) -> NDArray[np.float64]:
        """Return the share without an answer among the 64 ticks up to the newest one answered, ``[n]``."""
        assert self._losses is not None  # who asks has said so
        return self._losses.loss_seen(now_ns, self.frames.tick)

    def play(self, ticks: Numbers, who: Bools, decided: NDArray[Any]) -> None:
        """Play a tick in some rows.

        Args:
            ticks: Each row's tick, ``[n]``.
            who: Which rows, ``[n]``.
            decided: The decision that each row would play if it is there, ``[n, *shape]``.
        """
        remote = self._actuator.plays(self.frames, ticks, self.turn, who)
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
