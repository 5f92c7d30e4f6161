"""GymnasiumTask: any Gymnasium environment with discrete or box spaces as a task.

What Gymnasium does not know must be said: how many ticks a second its physics stands for, and what is applied at a
tick for which there is no action.
"""

from __future__ import annotations

from typing import Any, Literal, get_args

import gymnasium
import numpy as np
from numpy.typing import NDArray

from netlab.control.values import Value, ValueCodec
from netlab.envs.bound import rate_within
from netlab.envs.gymnasium_space import action_space, observation_space
from netlab.envs.task import Step
from netlab.errors import LocalProtocolError, SpecError
from netlab.messages import Space, TaskDescription

__all__ = ["GymnasiumTask"]

Pace = Literal["real-time", "turn-based"]


class GymnasiumTask:
    """A Gymnasium environment with ticks and a neutral action.

    Args:
        env: The environment; closed with the task. Its time limit, if it has one, counts ticks.
        rate_hz: Ticks a second: what a step of the environment stands for.
        neutral: The action of a tick that has none; None is zeros for a box of actions that holds them, and is
            refused for any other space.
        name: What the task is called; the environment's own id unless given.
        pace: When a tick plays what arrives after its observation left; see ``TaskDescription``.

    Raises:
        SpecError: No environment, a space that does not travel, no neutral action, no rate, or no pace.
    """

    def __init__(
        self,
        env: gymnasium.Env[Any, Any],
        rate_hz: float,
        neutral: Value | None = None,
        *,
        name: str = "",
        pace: Pace = "real-time",
    ) -> None:
        rate_hz = rate_within(rate_hz)
        if not isinstance(env, gymnasium.Env):
            hint = "what gymnasium.make returns"
            raise SpecError(f"{type(env).__name__}: must be a Gymnasium environment", key="env", hint=hint)
        if pace not in get_args(Pace):
            raise SpecError(f"{pace!r:.100}: must be one of {', '.join(get_args(Pace))}", key="pace")
        self._env = env
        actions = action_space(env.action_space)
        self._neutral = _neutral_of(actions, neutral)
        self._live = False
        spec = getattr(env, "spec", None)
        self.description = TaskDescription(
            name=name or (spec.id if spec is not None else type(env.unwrapped).__name__),
            rate_hz=rate_hz,
            observation=observation_space(env.observation_space),
            action=actions,
            pace=pace,
        )

    def reset(self, seed: int) -> NDArray[Any]:
        """Begin an episode and return its first observation ``[*shape]``."""
        observation, _ = self._env.reset(seed=seed)
        self._live = True
        return np.asarray(observation)

    def step(self, action: Value | None) -> Step:
        """Live through one tick under an action; None is the neutral one.

        Raises:
            LocalProtocolError: The episode is over.
        """
        if not self._live:
            raise LocalProtocolError(f"{self.description.name} stepped outside an episode: reset it first")
        if action is None:
            action = self._neutral
        if isinstance(action, np.ndarray):
            action = action.copy()  # an environment may write into what it is given
        observation, reward, terminated, truncated, _ = self._env.step(action)
        self._live = not (terminated or truncated)
        return Step(np.asarray(observation), float(reward), bool(terminated), bool(truncated))

    def close(self) -> None:
        """Close the environment."""
        self._env.close()


def _neutral_of(actions: Space, neutral: Value | None) -> Value:
    """Return the neutral action as a value of the action space.

    Raises:
        SpecError: None is given and none is known, or it is no action.
    """
    codec = ValueCodec(actions)
    if neutral is None:
        zeros = np.zeros(actions.shape, dtype=actions.dtype)
        if actions.kind == "discrete" or not _holds(codec, zeros):
            what = f"{actions.n} discrete actions" if actions.kind == "discrete" else "a box without zeros"
            raise SpecError(
                f"{what}: nothing says which of them does nothing",
                key="neutral",
                hint="give the action that a tick without one applies, for example neutral=0, or write a task "
                "(docs/adding-an-environment.md) where none of them does",
            )
        neutral = zeros
    try:
        return codec.decode(codec.encode(neutral))
    except LocalProtocolError as error:
        raise SpecError(str(error), key="neutral", hint="give an action of the environment's space") from error


def _holds(codec: ValueCodec, value: Value) -> bool:
    try:
        codec.encode(value)
    except LocalProtocolError:
        return False
    return True
