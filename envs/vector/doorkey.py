"""DoorKeyColumns: N copies of MiniGrid's DoorKey-8x8, equal to it in every picture, reward and flag.

::

    seed --draw_starts--> cells [n, stored cells], places, directions, carrying [n]
    action, code in front, carrying --outcomes--> the same a tick later --DoorKeyView--> observations [n, 7, 7, 3]

Training may ask for aids: rewards on the way and easier starts. They change the task, so they are off by default,
and who uses them says so in the record of the run.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from netlab.envs.bound import number_within
from netlab.envs.doorkey import CELLS, LIMIT_TICKS, NEUTRAL, STATE_SIZE, VIEW_CELLS, doorkey_description
from netlab.envs.vector.doorkey_rules import TURNS, outcomes
from netlab.envs.vector.doorkey_start import DoorKeyStart, draw_starts
from netlab.envs.vector.doorkey_view import (
    CODES,
    EMPTY,
    GOAL,
    KEY,
    LOCKED,
    OPEN,
    STEPS,
    STORED_CELLS,
    WALL,
    DoorKeyView,
    place,
)
from netlab.envs.vector.first_states import FirstStates
from netlab.envs.vector.vector_task import row_count

__all__ = ["AIDS", "DoorKeyColumns"]

AIDS = ("key_reward", "door_reward", "easy_share")
"""The arguments that make the game easier to learn."""

_MAX_REWARD = 10.0


class DoorKeyColumns:
    """Play N games of DoorKey; a ``VectorTask``.

    Args:
        n: Number of rows.
        rate_hz: Ticks a second, for the description.
        limit_ticks: An episode's most ticks; the reward at the goal depends on it.
        key_reward: An aid: added when the key is picked up, once an episode.
        door_reward: An aid: added when the door is unlocked, which happens once.
        easy_share: An aid: share of episodes, 0 .. 1, that begin with the door open or, as many, with the key in
            hand. Such an episode has no reward on the way: what it would be for is done, or not needed.

    Attributes:
        state: ``[n, 14]``, laid out as ``DoorKey.state``.

    Raises:
        SpecError: No number of rows, no rate, the limit is none, or an aid is out of range.
    """

    def __init__(
        self,
        n: int,
        rate_hz: float = 10.0,
        limit_ticks: int = LIMIT_TICKS,
        key_reward: float = 0.0,
        door_reward: float = 0.0,
        easy_share: float = 0.0,
    ) -> None:
        self.description = doorkey_description(rate_hz, limit_ticks)
        self._key_reward = number_within("key_reward", key_reward, 0.0, _MAX_REWARD)
        self._door_reward = number_within("door_reward", door_reward, 0.0, _MAX_REWARD)
        self._easy_share = number_within("easy_share", easy_share, 0.0, 1.0)
        self.n = n = row_count(n)
        self.observations = np.zeros((n, VIEW_CELLS, VIEW_CELLS, 3), np.uint8)
        self.state = np.zeros((n, STATE_SIZE), np.float32)
        self.rewards = np.zeros(n)
        self.terminated = np.zeros(n, np.bool_)
        self.truncated = np.zeros(n, np.bool_)
        self._limit_ticks = limit_ticks
        self._rules = outcomes()
        self._first = FirstStates(draw_starts)
        self._cells = np.full((n, STORED_CELLS), WALL, np.uint8)
        self._starts = np.arange(n) * STORED_CELLS
        self._view = DoorKeyView(self._cells, self.observations)
        self._places, self._ticks = np.full(n, place(1, 1)), np.zeros(n, np.int64)
        self._directions = np.zeros(n, np.int64)
        self._key_places, self._door_places = np.full(n, place(1, 1)), np.full(n, place(1, 1))
        self._carries = np.zeros(n, np.bool_)
        self._key_due = np.zeros(n, np.bool_)
        self._actions = np.zeros(n, np.int64)

    @property
    def success(self) -> NDArray[np.bool_]:
        """Return whether the rows' episodes ended at the goal ``[n]``: nothing else terminates one."""
        return self.terminated

    def prepare(self, seeds: NDArray[np.int64]) -> None:
        """Draw the starts of episodes to come ``[m]``, some 30 us each, which their resets then do not take."""
        self._first.prepare(seeds)

    def reset(self, mask: NDArray[np.bool_], seeds: NDArray[np.int64]) -> None:
        """Begin an episode in the rows of the mask.

        Raises:
            LocalProtocolError: A seed of these rows is below 0.
        """
        rows = np.flatnonzero(mask)
        if not rows.size:
            return
        start = DoorKeyStart.of(self._first.take(seeds[rows]))
        self._cells[rows] = _WALLS[start.wall_x]
        self._places[rows] = place(start.agent_x, start.agent_y)
        self._directions[rows] = start.direction
        self._door_places[rows] = doors = place(start.wall_x, start.door_y)
        self._key_places[rows] = keys = place(start.key_x, start.key_y)
        half = 0.5 * self._easy_share
        open_at_start = start.lot < half
        in_hand = (start.lot < self._easy_share) & ~open_at_start
        self._cells[rows, doors] = np.where(open_at_start, OPEN, LOCKED)
        self._cells[rows, keys] = np.where(in_hand, EMPTY, KEY)
        self._carries[rows] = in_hand
        self._key_due[rows] = ~(open_at_start | in_hand)
        self._ticks[rows] = 0
        self.rewards[rows] = 0.0
        self.terminated[rows] = False
        self.truncated[rows] = False
        self._show()

    def step(self, actions: NDArray[Any], neutral: NDArray[np.bool_], active: NDArray[np.bool_]) -> None:
        """Play one tick in the active rows; what the others play changes nothing."""
        self._actions.fill(NEUTRAL)
        np.copyto(self._actions, actions, where=active & ~neutral, casting="same_kind")
        rules, cells = self._rules, self._cells.reshape(-1)
        ahead = self._places + STEPS.take(self._directions)
        in_front = self._starts + ahead
        case = (self._actions * CODES + cells.take(in_front)) * 2 + self._carries
        cells[in_front] = rules.in_front.take(case)
        rules.carries.take(case, out=self._carries, mode="clip")
        np.copyto(self._places, ahead, where=rules.goes.take(case))
        np.copyto(self._key_places, ahead, where=rules.drops.take(case))
        self._directions += TURNS.take(self._actions)
        self._directions &= 3
        self._ticks += active
        won = rules.wins.take(case)
        np.copyto(self.terminated, won, where=active)
        np.greater_equal(self._ticks, self._limit_ticks, out=self.truncated)
        np.copyto(self.rewards, self._reward(won, case), where=active)
        self._show()

    def _reward(self, won: NDArray[np.bool_], case: NDArray[np.int64]) -> NDArray[np.float64]:
        reward = np.where(won, 1 - 0.9 * (self._ticks / self._limit_ticks), 0.0)
        if self._key_reward:
            picked = self._rules.picks.take(case) & self._key_due
            reward += self._key_reward * picked
            self._key_due &= ~picked
        if self._door_reward:
            reward += self._door_reward * self._rules.unlocks.take(case)
        return reward

    def _show(self) -> None:
        """Write observations and state of every row; those of rows that did not change come out the same."""
        self._view.look(self._places, self._directions, np.where(self._carries, KEY, EMPTY).astype(np.uint8))
        state, rows = self.state, np.arange(self.n)
        state.fill(0.0)
        state[:, 0:2] = _SHARES.take(self._places, axis=0)
        state[rows, 2 + self._directions] = 1.0
        state[:, 6:8] = _SHARES.take(self._door_places, axis=0)
        state[rows, 8 - OPEN + self._cells[rows, self._door_places].astype(np.int64)] = 1.0
        state[:, 11:13] = _SHARES.take(self._key_places, axis=0)
        state[:, 11:13] *= ~self._carries[:, None]
        state[:, 13] = self._carries


def _shares() -> NDArray[np.float32]:
    """Return x and y ``[STORED_CELLS, 2]`` of the grid's cells as shares of its span; 0 outside."""
    shares = np.zeros((STORED_CELLS, 2), np.float32)
    y, x = np.mgrid[0:CELLS, 0:CELLS]
    shares[place(x, y)] = np.stack((x, y), axis=-1).astype(np.float32) / np.float32(CELLS - 1)
    return shares


_SHARES = _shares()


def _walls() -> NDArray[np.uint8]:
    """Return the cells ``[8, STORED_CELLS]`` of a grid without door and key, by the x of the wall."""
    grids = np.full((CELLS, STORED_CELLS), WALL, np.uint8)
    y, x = np.mgrid[1 : CELLS - 1, 1 : CELLS - 1]
    for wall_x in range(CELLS):
        grids[wall_x, place(x, y)] = np.where(x == wall_x, WALL, EMPTY)
    grids[:, place(CELLS - 2, CELLS - 2)] = GOAL
    return grids


_WALLS = _walls()
