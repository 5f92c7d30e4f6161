"""DoorKeyStart: where things stand when an episode of DoorKey begins, as its seed decides.

minigrid draws from one generator an episode: the wall between the rooms, the agent's place and direction, the
door, the key; a place that is taken is drawn again. Same generator, same order, same things.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from netlab.envs.doorkey import CELLS
from netlab.errors import LocalProtocolError

__all__ = ["DoorKeyStart", "draw_starts"]


class DoorKeyStart(NamedTuple):
    """The columns of a drawn start ``[m]``.

    Attributes:
        wall_x: Of the wall between the rooms; the door's x.
        door_y: Of the door.
        agent_x: Of the agent.
        agent_y: Of the agent.
        direction: Of the agent, 0 .. 3.
        key_x: Of the key.
        key_y: Of the key.
        lot: Drawn after everything else, 0 .. 1: minigrid has no use for it, easy starts are told by it.
    """

    wall_x: NDArray[np.int64]
    door_y: NDArray[np.int64]
    agent_x: NDArray[np.int64]
    agent_y: NDArray[np.int64]
    direction: NDArray[np.int64]
    key_x: NDArray[np.int64]
    key_y: NDArray[np.int64]
    lot: NDArray[np.float64]

    @classmethod
    def of(cls, rows: NDArray[np.float64]) -> DoorKeyStart:
        """Return the columns of what ``draw_starts`` drew ``[m, 8]``."""
        wall_x, door_y, agent_x, agent_y, direction, key_x, key_y = rows[:, :-1].astype(np.int64).T
        return cls(wall_x, door_y, agent_x, agent_y, direction, key_x, key_y, rows[:, -1])


def draw_starts(seeds: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return ``[m, 8]``, the fields of ``DoorKeyStart`` for each seed.

    Raises:
        LocalProtocolError: A seed is below 0.
    """
    if seeds.size and int(seeds.min()) < 0:
        raise LocalProtocolError(f"{int(seeds.min())} as the seed of an episode: must be at least 0")
    return np.array([_draw(seed) for seed in seeds.tolist()]).reshape(-1, len(DoorKeyStart._fields))


def _draw(seed: int) -> tuple[float, ...]:
    generator = np.random.default_rng(seed)
    wall_x = int(generator.integers(2, CELLS - 2))
    agent_x, agent_y = _free_place(generator, wall_x, (0, 0))
    direction = int(generator.integers(0, 4))
    door_y = int(generator.integers(1, CELLS - 2))
    key_x, key_y = _free_place(generator, wall_x, (agent_x, agent_y))
    return wall_x, door_y, agent_x, agent_y, direction, key_x, key_y, generator.random()


def _free_place(generator: np.random.Generator, wall_x: int, taken: tuple[int, int]) -> tuple[int, int]:
    """Return a place in the left room, neither in its outer walls nor taken."""
    while True:
        x, y = int(generator.integers(0, wall_x)), int(generator.integers(0, CELLS))
        if x > 0 and 0 < y < CELLS - 1 and (x, y) != taken:
            return x, y
