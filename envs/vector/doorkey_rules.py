"""What an action does in DoorKey, as tables: by the action, the cell in front of the agent, what it carries."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from netlab.envs.doorkey import ACTIONS
from netlab.envs.vector.doorkey_view import CLOSED, CODES, EMPTY, GOAL, KEY, LOCKED, OPEN

__all__ = ["TURNS", "Outcomes", "outcomes"]

_GO, _PICK_UP, _DROP, _TOGGLE = 2, 3, 4, 5
TURNS = np.array([3, 1, 0, 0, 0, 0, 0])
"""Quarters to the right that an action turns the agent."""


class Outcomes(NamedTuple):
    """Tables ``[7 * 8 * 2]``; the index is (action * 8 + code in front) * 2 + 1 if the key is carried.

    Attributes:
        in_front: The code in front afterwards.
        carries: Whether the key is carried afterwards.
        goes: Whether the agent goes to the cell in front.
        wins: Whether it reaches the goal by that.
        picks: Whether it picks the key up.
        drops: Whether it drops it.
        unlocks: Whether it opens the locked door.
    """

    in_front: NDArray[np.uint8]
    carries: NDArray[np.bool_]
    goes: NDArray[np.bool_]
    wins: NDArray[np.bool_]
    picks: NDArray[np.bool_]
    drops: NDArray[np.bool_]
    unlocks: NDArray[np.bool_]


def outcomes() -> Outcomes:
    """Return the tables."""
    carried = np.arange(ACTIONS * CODES * 2) % 2 == 1
    code = np.arange(ACTIONS * CODES * 2) // 2 % CODES
    action = np.arange(ACTIONS * CODES * 2) // 2 // CODES
    goes = (action == _GO) & np.isin(code, (EMPTY, GOAL, OPEN))
    picks = (action == _PICK_UP) & (code == KEY) & ~carried
    drops = (action == _DROP) & (code == EMPTY) & carried
    toggles = action == _TOGGLE
    unlocks = toggles & (code == LOCKED) & carried
    in_front = code.copy()
    in_front[picks] = EMPTY
    in_front[drops] = KEY
    in_front[unlocks | (toggles & (code == CLOSED))] = OPEN
    in_front[toggles & (code == OPEN)] = CLOSED
    return Outcomes(
        in_front=in_front.astype(np.uint8),
        carries=(carried | picks) & ~drops,
        goes=goes,
        wins=goes & (code == GOAL),
        picks=picks,
        drops=drops,
        unlocks=unlocks,
    )
