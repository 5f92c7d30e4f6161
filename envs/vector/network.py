"""VectorNetwork: N tasks, each behind its own network, at once; the vectorised twin of ``VirtualNetwork``.

::

    step(actions [n]) --> VectorEpisodes.step --ticks--> begin (where over) --> open_questions --> features, infos
                                                  `-> rewards, ends, last features and infos

Row i is the single network with the run seed ``seed + i``, step by step: the same features, rewards and ends, the
same numbers in ``info``, and after an episode's end Gymnasium's autoreset in the same step. docs/vector-network.md
says what is equal, what is refused and what it costs.
"""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import batch_space
from msgspec import structs
from numpy.typing import NDArray

from netlab.actuator_traits import ACTUATOR_TRAITS
from netlab.envs.bound import rate_within
from netlab.envs.vector.action_check import ActionCheck
from netlab.envs.vector.episodes import VectorEpisodes
from netlab.envs.vector.flights import Bools, rows_of
from netlab.envs.vector.remote_columns import VectorPredictor
from netlab.envs.vector.run_seeds import Seeds, run_seeds
from netlab.envs.vector.vector_task import VectorTask
from netlab.envs.virtual.asked_network import Network
from netlab.envs.virtual.no_pictures import warn_of_no_pictures
from netlab.envs.virtual.options import NetworkOptions, checked_options
from netlab.envs.virtual.reset_options import refuse_reset_options
from netlab.envs.virtual.spaces import action_space_of, feature_space_of
from netlab.errors import LocalProtocolError, SpecError
from netlab.messages import TaskDescription

__all__ = ["VectorNetwork"]


class VectorNetwork(gymnasium.vector.VectorEnv[NDArray[np.float32], NDArray[Any], NDArray[Any]]):
    """Control N tasks over N networks.

    Args:
        task: What is controlled; its own from now on.
        network: As for ``VirtualNetwork``, but what draws a network for each episode must be a ``NetworkPool``.
        options: How it is controlled.
        predictor: Says what follows observations; persistence where None.
        is_privileged: Whether ``infos["privileged"]`` tells what a critic may know in training.

    Raises:
        SpecError: Options that contradict one another, or what is no task of many rows.
        ProfileError: No network, or one that the link model cannot do.
    """

    metadata = {"render_modes": [], "autoreset_mode": AutoresetMode.SAME_STEP}  # noqa: RUF012 - Gymnasium's name

    def __init__(
        self,
        task: VectorTask,
        network: Network = None,
        options: NetworkOptions = NetworkOptions(),  # noqa: B008 - frozen
        *,
        predictor: VectorPredictor | None = None,
        is_privileged: bool = False,
    ) -> None:
        options = checked_options(options)
        if options.transport == "stream":
            raise SpecError(
                "'stream': many networks at once carry datagrams alone",
                key="transport",
                hint="transport='datagram', or VirtualNetwork for one environment over a stream",
            )
        description = _described(task, options, without_network=network is None)
        n = task.n
        self.num_envs = n
        self.options = options
        self.description = description
        self._is_privileged = is_privileged
        self._episodes = VectorEpisodes(
            task, description, network, options, predictor, tells_figures=is_privileged
        )
        self.single_observation_space = feature_space_of(self._episodes.remote.features.size)
        self.single_action_space = action_space_of(description.action)
        self.observation_space = batch_space(self.single_observation_space, n)
        self.action_space = batch_space(self.single_action_space, n)
        self._check = ActionCheck(description.action, n)
        self._all = np.ones(n, dtype=bool)
        self._return = np.zeros(n)
        self._rows = np.zeros((n, self._episodes.remote.features.size), dtype=np.float32)

    def reset(
        self, *, seed: Seeds = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        """Begin an episode in each row.

        Args:
            seed: The run seed of row 0, whose successors are the other rows'; or one a row; None goes on with
                the next episode of each row's run.
            options: None or {}: there are none, rows begin anew by themselves.

        Raises:
            SpecError: No seed, one out of range, or options.
        """
        refuse_reset_options(options)
        episodes = self._episodes
        if seed is not None or not episodes.has_begun:
            episodes.begin_runs(run_seeds(seed, self.num_envs, self.np_random))
        episodes.begin(np.arange(self.num_envs))
        episodes.open_questions(self._all)
        self._return[:] = 0.0
        return self._look(), self._infos(np.full(self.num_envs, episodes.plays_at_once))

    def step(
        self, actions: NDArray[Any]
    ) -> tuple[NDArray[np.float32], NDArray[Any], Bools, Bools, dict[str, Any]]:
        """Answer the open questions, and go on in each row to the next one, or past one tick.

        Raises:
            LocalProtocolError: No episode has begun, or the actions are not of the space.
        """
        episodes, task = self._episodes, self._episodes.task
        if not episodes.has_begun:
            raise LocalProtocolError("step outside an episode", hint="call reset first")
        ticks = episodes.step(self._check(actions, episodes.is_open))
        rewards = episodes.rewards
        self._return += rewards
        terminated, truncated = task.terminated.copy(), task.truncated.copy()
        infos: dict[str, Any] = {}
        moved = ticks
        over = rows_of(episodes.is_over)
        if over.size:
            infos = self._ended(ticks)
            episodes.begin(over)
            self._return[over] = 0.0
            ticks[over] = episodes.plays_at_once
            moved = ticks.copy()
            moved[over] = True
        episodes.open_questions(moved)
        rows = self._look()
        infos.update(self._infos(ticks))
        return rows, rewards, terminated, truncated, infos

    def render(self) -> None:
        """Draw nothing, and say so."""
        warn_of_no_pictures(type(self).__name__)

    def close_extras(self, **kwargs: Any) -> None:
        """Give back nothing: numpy holds it all."""

    def _look(self) -> NDArray[np.float32]:
        """Return what a learner gets to see, and keep it for when it turns out to be an episode's last."""
        episodes = self._episodes
        self._rows = episodes.remote.rows(episodes.is_open)
        return self._rows.copy()

    def _ended(self, ticked: Bools) -> dict[str, Any]:
        """Return what Gymnasium wants to know of episodes that have ended: their last features and figures."""
        episodes = self._episodes
        ended = episodes.is_over.copy()
        episode = {"r": np.where(ended, self._return, 0.0), "l": np.where(ended, episodes.played_tick + 1, 0)}
        return {
            "final_obs": self._rows,
            "_final_obs": ended,
            "final_info": self._infos(ticked),
            "_final_info": ended,
            "episode": {**episode, "_r": ended, "_l": ended},
            "_episode": ended,
        }

    def _infos(self, ticked: Bools) -> dict[str, Any]:
        episodes, every = self._episodes, self._all
        edge = episodes.edge
        infos: dict[str, Any] = {
            "asked": episodes.is_open.copy(),
            "_asked": every,
            "ticked": ticked.copy(),
            "_ticked": every,
            "tick": episodes.played_tick.copy(),
            "_tick": every,
            "played_remote": edge.is_remote.copy(),
            "_played_remote": every,
            "age_ticks": edge.age_ticks.copy(),
            "_age_ticks": every,
            "horizon_ticks": episodes.remote.horizon.ticks.copy(),
            "_horizon_ticks": every,
        }
        if self._is_privileged:
            state = episodes.task.state.reshape(self.num_envs, -1)
            figures = episodes.links.figures(episodes.now_ns)
            infos["privileged"] = np.concatenate((state, figures), axis=1, dtype=np.float32)
            infos["_privileged"] = every
        return infos


def _described(task: VectorTask, options: NetworkOptions, *, without_network: bool) -> TaskDescription:
    description = getattr(task, "description", None)
    if not isinstance(description, TaskDescription) or not hasattr(task, "n"):
        raise SpecError(
            f"{type(task).__name__} is no task of many rows",
            key="task",
            hint="netlab.envs.registry.make_vector_task(name, n); VirtualNetwork takes a single task",
        )
    rate_hz = rate_within(description.rate_hz) if options.rate_hz is None else options.rate_hz
    description = structs.replace(description, rate_hz=rate_hz)
    # The answer is there before the tick is played, as in VirtualNetwork.
    is_at_once = without_network and not ACTUATOR_TRAITS[options.actuator].has_horizon
    return structs.replace(description, pace="turn-based") if is_at_once else description
