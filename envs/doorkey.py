"""DoorKey: MiniGrid's DoorKey-8x8 as a turn-based task; neutral is MiniGrid's action that does nothing.

An agent in two rooms must fetch a key, open the door between them with it and reach the goal. It sees 7x7 cells
in front of it, walls hide what is behind them, and nothing is rewarded before the goal. The rules and the picture
are minigrid's own code.
"""

from __future__ import annotations

import contextlib
import sys
from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray

from netlab.control.values import Value
from netlab.envs.bound import rate_within, whole_within
from netlab.envs.gymnasium_space import action_space, observation_space
from netlab.envs.task import Step
from netlab.errors import FeatureMissing, LocalProtocolError
from netlab.install_hint import install_hint
from netlab.messages import TaskDescription

__all__ = [
    "ACTIONS",
    "CELLS",
    "LIMIT_TICKS",
    "NEUTRAL",
    "STATE_SIZE",
    "VIEW_CELLS",
    "DoorKey",
    "doorkey_description",
]

CELLS = 8
"""Of a side of the grid, outer walls included."""
VIEW_CELLS = 7
ACTIONS = 7
NEUTRAL = 6
LIMIT_TICKS = 640
"""minigrid's own limit for this size."""
STATE_SIZE = 14
_MAX_LIMIT_TICKS = 10**9


class DoorKey:
    """Fetch the key, open the door, reach the goal: 1 - 0.9 ticks/limit at the goal, 0 at every other tick.

    An observation is the view ``[7, 7, 3]``, uint8: for each cell its kind, its colour and a door's state, in
    minigrid's numbers.

    Args:
        rate_hz: Ticks a second.
        limit_ticks: An episode's most ticks; the reward at the goal depends on it.

    Raises:
        FeatureMissing: minigrid is not installed.
        SpecError: The limit is none.
    """

    def __init__(self, rate_hz: float = 10.0, limit_ticks: int = LIMIT_TICKS) -> None:
        self.description = doorkey_description(rate_hz, limit_ticks)
        self._env = _minigrid_env(limit_ticks)
        self._live = False
        self._key: Any = None
        self._door: Any = None
        self.success = False

    @property
    def state(self) -> NDArray[np.float32]:
        """Return the true state ``[14]``; zeros before the first episode.

        Places as shares of the grid's span: agent x, y, then its direction (one of 4: right, down, left, up),
        door x, y, the door's state (one of 3: open, closed, locked), key x, y, 1 if the key is carried (its
        place is then 0, 0).
        """
        env, door, carried = self._env, self._door, self._env.carrying is not None
        state = np.zeros(STATE_SIZE, np.float32)
        if door is None:
            return state
        state[0:2] = env.agent_pos
        state[2 + int(env.agent_dir)] = 1.0
        state[6:8] = door.init_pos
        state[8 + (0 if door.is_open else 2 if door.is_locked else 1)] = 1.0
        state[11:13] = (0, 0) if carried else self._key.cur_pos
        state[13] = carried
        state[[0, 1, 6, 7, 11, 12]] /= np.float32(CELLS - 1)
        return state

    def reset(self, seed: int) -> NDArray[Any]:
        """Begin an episode; returns the first view ``[7, 7, 3]``, uint8."""
        seen, _ = self._env.reset(seed=seed)
        for thing in self._env.grid.grid:
            if thing is not None and thing.type == "key":
                self._key = thing
            elif thing is not None and thing.type == "door":
                self._door = thing
        self._live = True
        self.success = False
        return np.asarray(seen["image"])

    def step(self, action: Value | None) -> Step:
        """Turn left (0), right (1), go (2), pick up (3), drop (4), toggle (5) or do nothing (6, None).

        Raises:
            LocalProtocolError: Another action, or the episode is over.
        """
        if not self._live:
            raise LocalProtocolError("DoorKey stepped outside an episode: reset it first")
        if action is None:
            action = NEUTRAL
        elif not (isinstance(action, int) and 0 <= action < ACTIONS):
            raise LocalProtocolError(f"{action!r:.200} is not an action of DoorKey: must be 0 .. 6 or neutral")
        seen, reward, terminated, truncated, _ = self._env.step(action)
        self._live = not (terminated or truncated)
        self.success = bool(terminated)  # there is no lava: the goal alone ends an episode
        return Step(np.asarray(seen["image"]), float(reward), bool(terminated), bool(truncated))

    def close(self) -> None:
        """Close minigrid's environment."""
        self._env.close()


def doorkey_description(rate_hz: float, limit_ticks: int) -> TaskDescription:
    """Return what a policy must know of DoorKey-8x8, without minigrid.

    Raises:
        SpecError: The limit is none.
    """
    hint = f"left out, it is {LIMIT_TICKS}; [options] of a recipe and --option change it"
    whole_within("limit_ticks", limit_ticks, 1, _MAX_LIMIT_TICKS, hint)
    view = gymnasium.spaces.Box(0, 255, (VIEW_CELLS, VIEW_CELLS, 3), np.uint8)
    return TaskDescription(
        name="MiniGrid-DoorKey-8x8-v0",
        rate_hz=rate_within(rate_hz),
        observation=observation_space(view),
        action=action_space(gymnasium.spaces.Discrete(ACTIONS)),
        pace="turn-based",
    )


def _minigrid_env(limit_ticks: int) -> Any:
    """Return minigrid's environment; the greeting that some versions of pygame print is no data of ours."""
    try:
        with contextlib.redirect_stdout(sys.stderr):
            from minigrid.envs.doorkey import DoorKeyEnv
    except ImportError as error:
        words = "minigrid is not installed"
        raise FeatureMissing("make DoorKey", words=words, hint=install_hint("rl")) from error
    return DoorKeyEnv(size=CELLS, max_steps=limit_ticks)
