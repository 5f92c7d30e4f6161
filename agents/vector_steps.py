"""VectorSteps: a Gymnasium vector environment, whichever way it resets, as one kind of step.

::

    SAME_STEP   step -> done, observation of the *next* episode; the last one is in infos["final_obs"], and what
                else there is to say of the step that ended it in infos["final_info"]
    NEXT_STEP   step -> done, the *last* observation; the step after it only resets: its action is ignored
                (asked = False), and the observation it returns begins an episode

Reads ``infos["asked"]`` [n] (the observation is a question; else the action on it is ignored), ``infos["ticked"]``
[n] (time passed in this step) and ``infos["privileged"]`` [n, p]; where a key is missing: all asked, all ticked,
nothing privileged. Copies nothing that it hands on: what it returns is valid until the next step.

Source: the autoreset modes of Gymnasium 1.x, ``gymnasium.vector.AutoresetMode``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray

from netlab.agents.ppo_spaces import PPOSpaces, learnable_action
from netlab.errors import SpecError

__all__ = ["Moment", "Outcome", "VectorEnvironment", "VectorSteps"]

Floats = NDArray[np.float32]
Bools = NDArray[np.bool_]


class VectorEnvironment(Protocol):
    """What is needed of ``gymnasium.vector.VectorEnv``."""

    num_envs: int
    metadata: dict[str, Any]
    single_observation_space: gymnasium.Space[Any]
    single_action_space: gymnasium.Space[Any]

    def reset(self, *, seed: int | None = None) -> tuple[NDArray[Any], dict[str, Any]]:
        """Begin an episode in every environment."""
        ...

    def step(self, actions: Any) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any], dict[str, Any]]:
        """Step every environment."""
        ...


class Moment(NamedTuple):
    """What is seen before a step.

    Attributes:
        observations: ``[n, d]``.
        privileged: ``[n, p]``.
        asked: Whether the next action counts, ``[n]``.
        starts: Whether an episode begins, ``[n]``.
    """

    observations: Floats
    privileged: Floats
    asked: Bools
    starts: Bools


class Outcome(NamedTuple):
    """What a step led to.

    Attributes:
        moment: What is seen now.
        rewards: ``[n]``.
        done: Whether the episode ended, ``[n]``.
        ticked: Whether time passed in this step, ``[n]``: where an episode ended, in the step that ended it.
        cut: Indices of the environments whose episode was cut off without having terminated, ``[m]``.
        cut_observations: The last observations of those, ``[m, d]``.
        cut_privileged: What is privileged at that moment, ``[m, p]``.
        cut_asked: Whether those last observations are questions nobody has answered yet, ``[m]``. Others have been
            answered already: there was nothing new to see when the episode was cut off.
    """

    moment: Moment
    rewards: Floats
    done: Bools
    ticked: Bools
    cut: NDArray[np.intp]
    cut_observations: Floats
    cut_privileged: Floats
    cut_asked: Bools


class VectorSteps:
    """Steps a vector environment.

    Args:
        env: The environment; ``metadata["autoreset_mode"]`` says how it resets.
        wants_privileged: Whether ``infos["privileged"]`` is needed.

    Raises:
        SpecError: Observations are not flat float32 numbers, actions not learnable, or it resets in no known way.
    """

    def __init__(self, env: VectorEnvironment, *, wants_privileged: bool) -> None:
        mode = env.metadata.get("autoreset_mode")
        if mode not in (AutoresetMode.SAME_STEP, AutoresetMode.NEXT_STEP):
            hint = 'metadata["autoreset_mode"] must be SAME_STEP or NEXT_STEP of gymnasium.vector.AutoresetMode'
            raise SpecError(f"the environment resets itself by {mode!r}", key="env", hint=hint)
        space = env.single_observation_space
        if space.dtype != np.float32 or space.shape is None or len(space.shape) != 1:
            hint = "wrap it: gymnasium.wrappers.vector.FlattenObservation, then a cast to float32"
            raise SpecError(f"observations of {space} are not flat float32 numbers", key="env", hint=hint)
        self._size = int(space.shape[0])
        self._action = learnable_action(env.single_action_space)
        self._env = env
        self._same_step = mode == AutoresetMode.SAME_STEP
        self._wants_privileged = wants_privileged
        self._all, self._none = np.ones(env.num_envs, dtype=bool), np.zeros(env.num_envs, dtype=bool)
        self._nothing = np.zeros((env.num_envs, 0), dtype=np.float32)
        self._resetting: Bools = self._none

    @property
    def count(self) -> int:
        """Return n, how many environments there are."""
        return self._env.num_envs

    def reset(self, seed: int) -> Moment:
        """Begin every environment afresh."""
        observations, infos = self._env.reset(seed=seed)
        self._resetting = self._none
        return Moment(observations, self._privileged(infos), infos.get("asked", self._all), self._all)

    def spaces(self, moment: Moment) -> PPOSpaces:
        """Return the spaces; what is privileged is known by the first moment only."""
        return PPOSpaces(observation=self._size, action=self._action, privileged=int(moment.privileged.shape[1]))

    def step(self, actions: NDArray[Any]) -> Outcome:
        """Step every environment; actions of those that are not asked are ignored there."""
        observations, rewards, terminated, truncated, infos = self._env.step(actions)
        done = np.asarray(terminated | truncated)
        privileged, asked = self._privileged(infos), infos.get("asked", self._all)
        cut = np.flatnonzero(truncated & ~terminated)
        last = observations[cut], privileged[cut], asked[cut]
        if self._same_step and cut.size:
            last = self._last_of(infos, cut)
        if self._same_step:
            starts = done
        else:
            asked = asked & ~done if done.any() else asked
            starts, self._resetting = self._resetting, done
        return Outcome(
            Moment(observations, privileged, asked, starts),
            rewards,
            done,
            self._ticked(infos, done),
            cut,
            *last,
        )

    def _ticked(self, infos: Mapping[str, Any], done: Bools) -> Bools:
        """Return whether time passed ``[n]``; an environment that has reset since says it of the next episode."""
        ticked: Bools = np.asarray(infos.get("ticked", self._all))
        if not (self._same_step and done.any()):
            return ticked
        last = infos.get("final_info", {}).get("ticked")
        return ticked if last is None else np.where(done, np.asarray(last, dtype=bool), ticked)

    def _last_of(self, infos: Mapping[str, Any], cut: NDArray[np.intp]) -> tuple[Floats, Floats, Bools]:
        """Return the last observations of episodes that were cut off, in an environment that has reset since.

        With them what was privileged then, and whether they are questions.
        """
        if "final_obs" not in infos:
            hint = (
                'SAME_STEP asks for infos["final_obs"], and infos["final_info"]["privileged"] where there is any'
            )
            raise SpecError("an episode ended and its last observation is missing", key="env", hint=hint)
        # Gymnasium's own environments give an array of objects, None where no episode ended.
        last = np.stack([np.asarray(infos["final_obs"][index], dtype=np.float32) for index in cut])
        final = infos.get("final_info", {})
        return last, self._privileged(final)[cut], np.asarray(final.get("asked", self._all), dtype=bool)[cut]

    def _privileged(self, infos: Mapping[str, Any]) -> Floats:
        if not self._wants_privileged:
            return self._nothing
        if "privileged" not in infos:
            hint = 'privileged_critic = false, or an environment that gives infos["privileged"]'
            raise SpecError("the environment tells the critic nothing", key="privileged_critic", hint=hint)
        return np.asarray(infos["privileged"], dtype=np.float32)
