"""Vector environments so small that what is right about them is known; shared by unit and learning tests."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium.spaces import Box, Discrete
from gymnasium.vector import AutoresetMode, VectorEnv
from numpy.typing import NDArray


class ToyVectorEnv(VectorEnv):
    """Counts steps; pays 1 for each. The observation is the position one-hot, or only whether it is the first.

    Args:
        num_envs: How many.
        mode: How it resets.
        length: Steps of an episode; the first one begins anywhere in it, so that environments end apart.
        cut: Whether an episode is truncated at its end; else it terminates.
        tells_position: Whether the observation says how far the episode is, or only whether it just began.
        blind: Whether it says nothing at all.
        asks_odd: Whether observations at odd positions are questions.
        ticks_odd: Whether steps from odd positions take time.
        first_reward: Of steps from position 0.
        reward: Of all others.
        action: The action space; None for two actions.
    """

    def __init__(
        self,
        num_envs: int,
        mode: AutoresetMode,
        *,
        length: int = 5,
        cut: bool = False,
        tells_position: bool = True,
        blind: bool = False,
        asks_odd: bool = True,
        ticks_odd: bool = True,
        first_reward: float = 1.0,
        reward: float = 1.0,
        action: Box | Discrete | None = None,
    ) -> None:
        self.num_envs = num_envs
        self.metadata = {"autoreset_mode": mode}
        self.single_observation_space = Box(-np.inf, np.inf, (length + 1,), np.float32)
        self.single_action_space = action or Discrete(2)
        self._length, self._cut, self._tells = length, cut, tells_position
        self._blind = blind
        self._ticks_odd = ticks_odd
        self._asks_odd, self._rewards = asks_odd, (first_reward, reward)
        self.sent: list[NDArray[Any]] = []

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[NDArray[Any], dict[str, Any]]:
        super().reset(seed=seed)
        self._position = self.np_random.integers(0, self._length, self.num_envs)
        self._done = np.zeros(self.num_envs, dtype=bool)
        return self._observe(self._position), self._infos(self._position)

    def step(self, actions: NDArray[Any]) -> tuple[Any, ...]:
        self.sent.append(np.array(actions))
        same = self.metadata["autoreset_mode"] == AutoresetMode.SAME_STEP
        resetting = np.zeros_like(self._done) if same else self._done
        before, (first, later) = self._position, self._rewards
        rewards = np.where(resetting, 0.0, np.where(self._position == 0, first, later))
        self._position = np.where(resetting, 0, self._position + 1)
        self._done = self._position >= self._length
        ended = self._done & ~resetting
        infos = {}
        last = self._position
        if same and ended.any():
            infos = {"final_obs": self._observe(last), "final_info": self._infos(last)}
            self._position = np.where(ended, 0, self._position)
        infos |= self._infos(self._position)
        infos["ticked"] = (before % 2 == 0) | self._ticks_odd
        none = np.zeros_like(ended)
        observed = self._observe(self._position)
        return observed, rewards, none if self._cut else ended, ended if self._cut else none, infos

    def seen_at(self, position: NDArray[Any]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Return observations and what is privileged at positions."""
        return self._observe(position), self._privileged(position)

    def _observe(self, position: NDArray[Any]) -> NDArray[np.float32]:
        if self._blind:
            return np.zeros((len(position), self._length + 1), dtype=np.float32)
        seen = position if self._tells else np.minimum(position, 1)
        return np.eye(self._length + 1, dtype=np.float32)[seen]

    def _privileged(self, position: NDArray[Any]) -> NDArray[np.float32]:
        return np.stack((position, position**2), axis=1).astype(np.float32)

    def _infos(self, position: NDArray[Any]) -> dict[str, Any]:
        asked = (position % 2 == 0) | self._asks_odd
        return {"asked": asked, "privileged": self._privileged(position)}


class RecallVectorEnv(VectorEnv):
    """Shows one of two signs, then nothing for some steps, then asks which: only a memory earns more than half.

    Terminates with the answer; the observation is (sign 0, sign 1, now answer).
    """

    def __init__(self, num_envs: int, wait: int = 4) -> None:
        self.num_envs = num_envs
        self.metadata = {"autoreset_mode": AutoresetMode.SAME_STEP}
        self.single_observation_space = Box(0.0, 1.0, (3,), np.float32)
        self.single_action_space = Discrete(2)
        self._wait = wait

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[NDArray[Any], dict[str, Any]]:
        super().reset(seed=seed)
        self._sign = self.np_random.integers(0, 2, self.num_envs)
        self._time = np.zeros(self.num_envs, dtype=np.int64)
        return self._observe(), {}

    def step(self, actions: NDArray[Any]) -> tuple[Any, ...]:
        ended = self._time == self._wait
        rewards = np.where(ended, np.where(actions == self._sign, 1.0, 0.0), 0.0)
        last = self._observe()
        self._time = np.where(ended, 0, self._time + 1)
        self._sign = np.where(ended, self.np_random.integers(0, 2, self.num_envs), self._sign)
        infos = {"final_obs": last} if ended.any() else {}
        return self._observe(), rewards, ended, np.zeros_like(ended), infos

    def _observe(self) -> NDArray[np.float32]:
        observed = np.zeros((self.num_envs, 3), dtype=np.float32)
        shown = self._time == 0
        observed[np.flatnonzero(shown), self._sign[shown]] = 1.0
        observed[:, 2] = self._time == self._wait
        return observed


class TargetVectorEnv(VectorEnv):
    """Shows a number and pays for naming half of it: -(a - x / 2)^2, one step an episode, actions within +-1."""

    def __init__(self, num_envs: int) -> None:
        self.num_envs = num_envs
        self.metadata = {"autoreset_mode": AutoresetMode.SAME_STEP}
        self.single_observation_space = Box(-1.0, 1.0, (1,), np.float32)
        self.single_action_space = Box(-1.0, 1.0, (1,), np.float32)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[NDArray[Any], dict[str, Any]]:
        super().reset(seed=seed)
        return self._draw(), {}

    def _draw(self) -> NDArray[np.float32]:
        self._x = self.np_random.uniform(-1.0, 1.0, (self.num_envs, 1)).astype(np.float32)
        return self._x

    def step(self, actions: NDArray[Any]) -> tuple[Any, ...]:
        assert actions.shape == (self.num_envs, 1)
        assert np.abs(actions).max() <= 1.0
        rewards = -((actions - 0.5 * self._x)[:, 0] ** 2)
        ended, last = np.ones(self.num_envs, dtype=bool), self._x
        return self._draw(), rewards, ended, ~ended, {"final_obs": last}
