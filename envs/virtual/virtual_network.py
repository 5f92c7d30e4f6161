"""VirtualNetwork: a task behind a network that takes no time, as a Gymnasium environment.

::

    reset -> the first question's features, or zeros where tick 1 comes before any observation arrives
    step(action) -> the next question's features | the last ones again, info["asked"] False

A step makes one tick at most. It makes none where a further question comes before the next tick, and an action
that nobody asked for changes nothing. docs/virtual-network.md says what is exact.
"""

from __future__ import annotations

import contextlib
import operator
from typing import Any

import gymnasium
import numpy as np
from msgspec import structs
from numpy.typing import NDArray

from netlab.actuator_traits import ACTUATOR_TRAITS
from netlab.control.counters import AgeSummary
from netlab.control.edge import Edge
from netlab.control.features import Features
from netlab.control.policy import Predictor
from netlab.control.question import Question
from netlab.control.remote import Remote
from netlab.control.values import Value
from netlab.envs.bound import rate_within
from netlab.envs.task import Task
from netlab.envs.virtual.asked_network import AskedNetwork, Network, Tracks
from netlab.envs.virtual.episode import VirtualEpisode
from netlab.envs.virtual.network import MessageLink, VirtualLink, VirtualWay
from netlab.envs.virtual.no_pictures import warn_of_no_pictures
from netlab.envs.virtual.options import NetworkOptions, checked_options
from netlab.envs.virtual.privileged import HasState, Privileged
from netlab.envs.virtual.reset_options import refuse_reset_options
from netlab.envs.virtual.seeds import (
    MAX_DRAWN_SEED,
    MAX_EPISODES,
    RUN,
    change_seed,
    episode_seed,
    network_seed,
    run_seed,
)
from netlab.envs.virtual.spaces import action_space_of, feature_space_of
from netlab.envs.virtual.stream_link import StreamLink
from netlab.envs.virtual.tick_order import RealTimeOrder, TickOrder, TurnBasedOrder
from netlab.envs.virtual.track import LinkTrack
from netlab.errors import LocalProtocolError, SpecError
from netlab.messages import TaskDescription
from netlab.traces.profile import LinkProfile
from netlab.traces.seed import Direction

__all__ = ["VirtualNetwork"]

_NO_NETWORK: Tracks = (LinkTrack(LinkProfile()), LinkTrack(LinkProfile()))


class VirtualNetwork(gymnasium.Env[NDArray[np.float32], Any]):
    """Control a task over a network.

    Args:
        task: What is controlled; closed with this environment. ``GymnasiumTask`` makes one of any environment.
        network: None for none: each action is played at the tick it was asked for, as Gymnasium does. A preset's
            name, a profile, a schedule or a pair; or what draws one for each episode.
        options: How it is controlled.
        predictor: Says what follows an observation; persistence where None.

    Attributes:
        features: What makes a row of each question; ``features.layout`` names its parts.

    Raises:
        SpecError: Options that contradict one another, or what is no task.
        ProfileError: No network, or one that the link model cannot do.
    """

    metadata = {"render_modes": []}  # noqa: RUF012 - Gymnasium's name and shape

    def __init__(
        self,
        task: Task,
        network: Network = None,
        options: NetworkOptions = NetworkOptions(),  # noqa: B008 - frozen
        *,
        predictor: Predictor | None = None,
    ) -> None:
        self.options = checked_options(options)
        self.description = _described(task, options)
        self.features = Features(options.features, self.description)
        self.action_space = action_space_of(self.description.action)
        self.observation_space: gymnasium.Space[Any] = feature_space_of(self.features.size)
        self._task = task
        self._stated = task if isinstance(task, HasState) else None
        self._network = AskedNetwork(network)
        self._predictor = predictor
        self._dtype = np.dtype(self.description.action.dtype)
        self._is_discrete = self.description.action.kind == "discrete"
        self._run_seed = -1
        self._episode_number = -1
        self._episode: VirtualEpisode | None = None
        self._privileged: Privileged | None = None
        self._row: NDArray[np.float32] = np.zeros(self.features.size, dtype=np.float32)

    @property
    def question(self) -> Question | None:
        """What is asked now, for whoever decides on questions and not on rows; None where nothing is."""
        return None if self._episode is None or self._episode.is_over else self._episode.question

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        """Begin an episode and return the features of its first question.

        Args:
            seed: Seed of the run, 0 .. 2^64 - 1, which begins anew with its first episode; None goes on with the
                next episode of the run there is.
            options: None or {}: there are none.

        Raises:
            SpecError: No seed, one out of range, or options.
        """
        refuse_reset_options(options)
        if seed is not None:
            seed = run_seed(seed)
        super().reset(seed=seed)
        if seed is None and self._run_seed < 0:
            seed = int(self.np_random.integers(MAX_DRAWN_SEED))
        if seed is not None:
            self._run_seed, self._episode_number = seed, -1
        if self._episode_number >= MAX_EPISODES:
            raise SpecError(f"{MAX_EPISODES} episodes of one run", key="seed", hint="reset with another seed")
        self._episode_number += 1
        self._begin()
        return self._look(-1, begun=True)

    def step(self, action: Any) -> tuple[NDArray[np.float32], float, bool, bool, dict[str, Any]]:
        """Answer the open question if there is one, and go on to the next, or past one tick.

        Raises:
            LocalProtocolError: The episode is over or never began, or the action is not of the space.
        """
        episode = self._episode
        if episode is None:
            raise LocalProtocolError("step outside an episode", hint="call reset first")
        before = episode.played_tick
        if not episode.is_over:
            if episode.question is not None:
                value = self._value(action)
                episode.decide(value)
                self.features.decided(value)
            episode.go_on()
        row, info = self._look(before)
        if episode.is_over:
            info["counters"] = _counters(episode)
            self._episode = None
        return row, episode.take_reward(), episode.terminated, episode.truncated, info

    def render(self) -> None:
        """Draw nothing, and say so."""
        warn_of_no_pictures(type(self).__name__)

    def close(self) -> None:
        """Close the task."""
        self._task.close()

    def _begin(self) -> None:
        """Make all that an episode has for itself, so that nothing passes from one to the next."""
        seed, number, description, options = self._run_seed, self._episode_number, self.description, self.options
        drawn = self._network.draw(network_seed(seed, number))
        if drawn is None and not ACTUATOR_TRAITS[options.actuator].has_horizon:
            # The answer is there before the tick is played: what happens in a turn over a link without delay. One
            # that is scheduled waits for its tick, which is the same however soon it was there.
            description = structs.replace(description, pace="turn-based")
        order: TickOrder = TurnBasedOrder() if description.pace == "turn-based" else RealTimeOrder()
        link = self._fresh_link(drawn or _NO_NETWORK)
        edge = Edge(description, options.make_actuator(), options.make_fallback(), RUN, number)
        remote = Remote(description, self._predictor, options.horizon_ticks, RUN, options.actuator)
        episode = VirtualEpisode(self._task, link, edge, remote, order)
        self._privileged = Privileged(link, 1.0 / description.rate_hz)
        self.features.reset()
        self._row = np.zeros(self.features.size, dtype=np.float32)
        episode.begin(episode_seed(seed, number))
        self._episode = episode

    def _fresh_link(self, tracks: Tracks) -> MessageLink:
        def way(track: LinkTrack, direction: Direction) -> VirtualWay:
            seed, number, link = self._run_seed, self._episode_number, self.options.link
            return VirtualWay(track, lambda step: change_seed(seed, link, direction, number, step))

        make_link = StreamLink if self.options.transport == "stream" else VirtualLink
        return make_link(way(tracks[0], "forward"), way(tracks[1], "back"))

    def _look(self, before: int, *, begun: bool = False) -> tuple[NDArray[np.float32], dict[str, Any]]:
        """Return what a learner gets to see, and ``info``.

        Args:
            before: The newest tick played before.
            begun: Say which episode this is.
        """
        episode, privileged = self._episode, self._privileged
        assert episode is not None and privileged is not None
        question = None if episode.is_over else episode.question
        if question is not None:
            self._row = self.features.of(question)
        play = episode.last_play
        info: dict[str, Any] = {
            "asked": question is not None,
            "ticked": episode.played_tick != before,
            "tick": episode.played_tick,
            "played": play.source.value if episode.played_tick >= 0 else "",
            "age_ticks": play.age_ticks,
            "horizon_ticks": episode.remote.horizon_ticks,
            "privileged": privileged.of(self._true_state(episode), episode.now_ns),
        }
        if begun:
            info["run_seed"], info["episode"] = self._run_seed, self._episode_number
        return self._row.copy(), info

    def _true_state(self, episode: VirtualEpisode) -> NDArray[np.generic]:
        return episode.state if self._stated is None else self._stated.state

    def _value(self, action: Any) -> Value:
        """Return an action as one that is ours: a learner may write into its own again."""
        if self._is_discrete:
            with contextlib.suppress(TypeError):  # what is no whole number is refused where it is decided upon
                return operator.index(action)
            return action  # type: ignore[no-any-return]
        try:
            array = np.asarray(action)
        except ValueError as error:
            raise LocalProtocolError(f"{action!r:.200} is no action: {error}") from error
        return array.astype(self._dtype) if np.can_cast(array.dtype, self._dtype, "same_kind") else array


def _described(task: Task, options: NetworkOptions) -> TaskDescription:
    description = getattr(task, "description", None)
    if not isinstance(description, TaskDescription):
        raise SpecError(
            f"{type(task).__name__} is no task",
            key="task",
            hint="netlab.envs.registry.make_task(name), or GymnasiumTask(env, rate_hz=...) of any environment",
        )
    rate_hz = rate_within(description.rate_hz) if options.rate_hz is None else options.rate_hz
    return structs.replace(description, rate_hz=rate_hz)


def _counters(episode: VirtualEpisode) -> dict[str, dict[str, int]]:
    """Return what both halves have counted in an episode."""
    return {
        "edge": structs.asdict(episode.edge.counters),
        "remote": structs.asdict(episode.remote.counters),
        "ages": structs.asdict(AgeSummary.of(episode.edge.ages)),
    }
