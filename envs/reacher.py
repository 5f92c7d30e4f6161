"""Reacher: a planar two-link arm whose fingertip is to reach a target; a Gymnasium environment and a task.

An action is the torque at both joints as a share of the full one, -1 .. 1. Reward is what is lost: the distance
between fingertip and target in m, and 0.01 of the squared action. The target never moves within an episode, so
the best there is is to be there early and to stay.

The environment is registered as ``netlab/Reacher-v0`` when this module is loaded:
``gymnasium.make("netlab.envs.reacher:netlab/Reacher-v0")``.
"""

from __future__ import annotations

import math
from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray

from netlab.control.values import Value
from netlab.envs.bound import rate_within
from netlab.envs.gymnasium_space import action_space, observation_space
from netlab.envs.task import Step
from netlab.envs.two_link_arm import FULL_TORQUES_N_M, LINKS_M, ArmMotion, fingertip_m, move
from netlab.errors import LocalProtocolError
from netlab.messages import TaskDescription

__all__ = ["LIMIT_TICKS", "NAME", "Reacher", "ReacherEnv", "advance", "first_motion", "observe"]

NAME = "netlab/Reacher-v0"
LIMIT_TICKS = 150
_STEP_S = 0.01
_STEPS_A_TICK = 4
"""A tick is 40 ms: 25 Hz."""

_ACTION_COST = 0.01
_NEAREST_RATIO, _FARTHEST_RATIO = 0.1, 0.95
"""Of a target from the base, as shares of the arm's reach."""
_REACH_M = sum(LINKS_M)


def first_motion(draws: NDArray[np.float64]) -> tuple[ArmMotion, Any, Any]:
    """Return an arm at rest and the x and y of its target in m.

    Args:
        draws: ``[..., 4]``, uniform on 0 .. 1: both angles, the target's place in the ring, its direction.
    """
    full_turn = 2.0 * math.pi
    rest = np.zeros(draws.shape[:-1])
    motion = ArmMotion(full_turn * draws[..., 0] - math.pi, full_turn * draws[..., 1] - math.pi, rest, rest)
    # Uniform in the area of the ring: the square of its radius is uniform.
    share = _NEAREST_RATIO**2 + (_FARTHEST_RATIO**2 - _NEAREST_RATIO**2) * draws[..., 2]
    radius_m = _REACH_M * np.sqrt(share)
    direction = full_turn * draws[..., 3]
    return motion, radius_m * np.cos(direction), radius_m * np.sin(direction)


def observe(motion: ArmMotion, target_x_m: Any, target_y_m: Any) -> NDArray[np.float64]:
    """Return what is seen ``[10, ...]``.

    In this order: cos q1, cos q2, sin q1, sin q2, speeds in rad/s, target x, y, fingertip minus target x, y in m.
    """
    q1, q2, v1, v2 = motion
    x_m, y_m = fingertip_m(motion)
    away = (x_m - target_x_m, y_m - target_y_m)
    return np.array((np.cos(q1), np.cos(q2), np.sin(q1), np.sin(q2), v1, v2, target_x_m, target_y_m, *away))


def advance(motion: ArmMotion, action1: Any, action2: Any) -> ArmMotion:
    """Return the motion after one tick under these shares of the full torques."""
    torques = action1 * FULL_TORQUES_N_M[0], action2 * FULL_TORQUES_N_M[1]
    return move(motion, *torques, _STEP_S, _STEPS_A_TICK)


def reward_of(seen: NDArray[np.float64], action1: Any, action2: Any) -> Any:
    """Return the reward of a tick by what is seen after it ``[10, ...]`` and by its action."""
    away_x_m, away_y_m = seen[8], seen[9]
    distance_m = np.sqrt(away_x_m * away_x_m + away_y_m * away_y_m)
    return -distance_m - _ACTION_COST * (action1 * action1 + action2 * action2)


class ReacherEnv(gymnasium.Env[NDArray[np.float32], NDArray[np.float32]]):
    """The environment, without a time limit: that is Gymnasium's wrapper's, or the task's.

    Attributes:
        motion: Of the arm.
        target_m: x and y of the target.
    """

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012 - Gymnasium's own attribute

    def __init__(self) -> None:
        high = np.array([1, 1, 1, 1, np.inf, np.inf, *[_REACH_M] * 2, *[2 * _REACH_M] * 2], np.float32)
        self.observation_space = gymnasium.spaces.Box(-high, high, dtype=np.float32)
        self.action_space = gymnasium.spaces.Box(-1.0, 1.0, (2,), np.float32)
        self.motion = ArmMotion(0.0, 0.0, 0.0, 0.0)
        self.target_m = (0.0, 0.0)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        """Begin an episode: any posture, at rest, and a target within reach; there are no options."""
        super().reset(seed=seed)
        self.motion, *target_m = first_motion(self.np_random.random(4))
        self.target_m = (target_m[0], target_m[1])
        return observe(self.motion, *self.target_m).astype(np.float32), {}

    def step(self, action: NDArray[np.float32]) -> tuple[NDArray[np.float32], float, bool, bool, dict[str, Any]]:
        """Live through one tick; an action out of bounds counts as the nearest within."""
        action1, action2 = np.clip(np.asarray(action, np.float64), -1.0, 1.0)
        self.motion = advance(self.motion, action1, action2)
        seen = observe(self.motion, *self.target_m)
        return seen.astype(np.float32), float(reward_of(seen, action1, action2)), False, False, {}


class Reacher:
    """Bring the fingertip to the target and keep it there for 150 ticks; neutral is no torque.

    Args:
        rate_hz: Ticks a second. The physics steps 40 ms a tick whatever the rate: at 25 Hz it is real time.

    Raises:
        SpecError: No rate.
    """

    def __init__(self, rate_hz: float = 25.0) -> None:
        self._env = ReacherEnv()
        self._neutral = np.zeros(2, np.float32)
        self._seen = np.zeros(10, np.float32)
        self._ticks = 0
        self._live = False
        self.description = TaskDescription(
            name=NAME,
            rate_hz=rate_within(rate_hz),
            observation=observation_space(self._env.observation_space),
            action=action_space(self._env.action_space),
        )

    @property
    def state(self) -> NDArray[np.float32]:
        """Return the true state ``[10]``, which is the observation; zeros before the first episode."""
        return self._seen

    def reset(self, seed: int) -> NDArray[Any]:
        """Begin an episode; returns what ``observe`` says ``[10]``, float32."""
        self._seen, _ = self._env.reset(seed=seed)
        self._ticks = 0
        self._live = True
        return self._seen

    def step(self, action: Value | None) -> Step:
        """Apply shares of the full torques ``[2]``, or none (None), for one tick.

        Raises:
            LocalProtocolError: Another action, or the episode is over.
        """
        if not self._live:
            raise LocalProtocolError("Reacher stepped outside an episode: reset it first")
        if action is None:
            action = self._neutral
        elif not (isinstance(action, np.ndarray) and action.shape == (2,) and bool((np.abs(action) <= 1.0).all())):
            raise LocalProtocolError(f"{action!r:.200} is not an action of Reacher: must be 2 torques in -1 .. 1")
        self._seen, reward, _, _, _ = self._env.step(action)
        self._ticks += 1
        truncated = self._ticks >= LIMIT_TICKS
        self._live = not truncated
        return Step(self._seen, reward, terminated=False, truncated=truncated)

    def close(self) -> None:
        """Close the environment."""
        self._env.close()


if NAME not in gymnasium.registry:
    gymnasium.register(NAME, entry_point=f"{__name__}:ReacherEnv", max_episode_steps=LIMIT_TICKS)
