"""StableBaselinesEnv: a Gymnasium vector environment as stable-baselines3 wants one.

::

    stable-baselines3 --step_async, step_wait--> StableBaselinesEnv --step--> VectorEnv (VectorNetwork, ...)

It renames and adds nothing: columns stay columns, and of ``infos`` only what stable-baselines3 reads of episodes
that end becomes a dictionary a row. Nothing of netlab but a figure needs stable-baselines3: whoever has it imports
this module. A single ``VirtualNetwork`` needs no adapter. docs/stable-baselines3.md has an example.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from numpy.typing import NDArray
from stable_baselines3.common.vec_env import VecEnv

from netlab.envs.virtual.reset_options import refuse_reset_options
from netlab.envs.virtual.seeds import run_seed
from netlab.errors import SpecError

__all__ = ["StableBaselinesEnv"]

Indices = int | Iterable[int] | None


class StableBaselinesEnv(VecEnv):
    """Let stable-baselines3 step a vector environment as it is.

    Args:
        env: Resets its rows itself, in the step in which they end; closed with this one.

    Attributes:
        columns: ``infos`` of the last reset or step, as the environment told them: ``asked``, ``ticked``, ...

    Raises:
        SpecError: It is no vector environment, or resets in another way.
    """

    def __init__(self, env: VectorEnv[Any, Any, Any]) -> None:
        if not isinstance(env, VectorEnv):
            hint = "a VectorNetwork, or another vector environment of Gymnasium; a single one needs no adapter"
            raise SpecError(f"{type(env).__name__} is no vector environment", key="env", hint=hint)
        mode = env.metadata.get("autoreset_mode")
        if mode != AutoresetMode.SAME_STEP:
            hint = "stable-baselines3 expects AutoresetMode.SAME_STEP of gymnasium.vector"
            raise SpecError(f"the environment resets itself by {mode!r}", key="env", hint=hint)
        self._env = env
        self.columns: dict[str, Any] = {}
        self._actions: NDArray[Any] | None = None
        super().__init__(env.num_envs, env.single_observation_space, env.single_action_space)

    def seed(self, seed: int | None = None) -> Sequence[int | None]:
        """Say of which runs the next reset begins the first episodes: row i's is ``seed + i``.

        Raises:
            SpecError: No seed, or one out of range.
        """
        return super().seed(None if seed is None else run_seed(seed, self.num_envs))

    def set_options(self, options: list[dict[str, Any]] | dict[str, Any] | None = None) -> None:
        """Refuse options of resets: columns have none.

        Raises:
            SpecError: They are not empty.
        """
        for one in options if isinstance(options, list) else [options]:
            refuse_reset_options(one)

    def reset(self) -> NDArray[Any]:
        """Begin an episode in each row; ``seed`` has said of which runs, once."""
        observations: NDArray[Any]
        observations, self.columns = self._env.reset(seed=self._seeds[0])
        self._reset_seeds()
        return observations

    def step_async(self, actions: NDArray[Any]) -> None:
        """Keep the actions of the step that follows."""
        self._actions = actions

    def step_wait(self) -> tuple[NDArray[Any], NDArray[np.float32], NDArray[np.bool_], list[dict[str, Any]]]:
        """Step every row."""
        observations, rewards, terminated, truncated, columns = self._env.step(self._actions)
        self.columns = columns
        infos: list[dict[str, Any]] = [{} for _ in range(self.num_envs)]
        done = terminated | truncated
        for row in np.flatnonzero(done).tolist():
            infos[row] = _ending(columns, row, is_cut=bool(truncated[row] and not terminated[row]))
        return observations, rewards.astype(np.float32), done, infos

    def close(self) -> None:
        """Close the environment."""
        self._env.close()

    def get_attr(self, attr_name: str, indices: Indices = None) -> list[Any]:
        """Return an attribute of the environment for each row asked about: all rows have the same."""
        return [getattr(self._env, attr_name) for _ in self._get_indices(indices)]

    def set_attr(self, attr_name: str, value: Any, indices: Indices = None) -> None:
        """Refuse: rows are columns' places, not objects."""
        raise NotImplementedError(f"{attr_name}: rows of {type(self._env).__name__} are no environments")

    def env_method(self, method_name: str, *args: Any, indices: Indices = None, **kwargs: Any) -> list[Any]:
        """Refuse: rows are columns' places, not objects."""
        raise NotImplementedError(f"{method_name}: rows of {type(self._env).__name__} are no environments")

    def env_is_wrapped(self, wrapper_class: type, indices: Indices = None) -> list[bool]:
        """Return that no row is wrapped; ``episode`` is told of without stable-baselines3's Monitor."""
        return [False for _ in self._get_indices(indices)]

    def get_images(self) -> Sequence[NDArray[Any] | None]:
        """Return no pictures."""
        return [None] * self.num_envs


def _ending(columns: dict[str, Any], row: int, *, is_cut: bool) -> dict[str, Any]:
    """Return what stable-baselines3 reads of an episode that ended: its last features, whether it was cut off."""
    info: dict[str, Any] = {"terminal_observation": columns["final_obs"][row], "TimeLimit.truncated": is_cut}
    if "episode" in columns:
        figures = columns["episode"]
        info["episode"] = {"r": float(figures["r"][row]), "l": int(figures["l"][row])}
    return info
