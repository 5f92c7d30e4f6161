"""Actuators of N rows as columns: which rows play something at a tick, and what, of the newest frames there are.

The twins of ``netlab.control.actuator``. What belongs to each is in ``netlab.envs.vector.actuators``.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from netlab.envs.vector.decisions import Decisions
from netlab.envs.vector.flights import Bools, Column, Numbers, Places

__all__ = ["ActuatorColumns", "Frames", "NewestColumns", "ScheduledColumns", "StopAndWaitColumns"]


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

    def decided(self, frames: Frames, ticks: Numbers, decisions: Decisions) -> NDArray[Any]:
        """Return what each row would play at this tick if it is there, ``[n, *shape]``."""
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

    def decided(self, frames: Frames, ticks: Numbers, decisions: Decisions) -> NDArray[Any]:
        """Return what the newest frames carry."""
        return frames.action

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

    def decided(self, frames: Frames, ticks: Numbers, decisions: Decisions) -> NDArray[Any]:
        """Return the decisions for this tick: the first one for a tick is the only one."""
        return decisions.for_targets(ticks)

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

    def decided(self, frames: Frames, ticks: Numbers, decisions: Decisions) -> NDArray[Any]:
        """Return what the newest frames carry."""
        return frames.action

    def clear(self, rows: Places) -> None:
        """Forget nothing: frames say which turn they are of."""
