"""Course: what episodes of a score are played on, and how they are: in rows at once, or one after another.

::

    seeds --256 at a time--> VectorNetwork  <--actions-- RowPolicy        a policy file, ``has_rows``
    seeds --one by one-----> VirtualNetwork <--action--- Policy.decide    everything else, and slower

Both give the same episodes, draws of ``sampled`` policies included, but for a last bit that a product of many rows
may round otherwise (``row_policy``). Episode i is the first of the run with seed i. Knows no words of a person.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from msgspec import Struct

from netlab.actuator_traits import ACTUATOR_TRAITS
from netlab.agents.policy_file import PolicyFile
from netlab.control.policy import Policy, Predictor
from netlab.envs.registry import find_task, make_task, make_vector_task
from netlab.envs.vector.network import VectorNetwork
from netlab.envs.virtual.asked_network import Network
from netlab.envs.virtual.options import NetworkOptions
from netlab.envs.virtual.virtual_network import VirtualNetwork
from netlab.messages import TaskDescription
from netlab.scoring.predictor_columns import predictor_columns
from netlab.scoring.row_policy import RowPolicy
from netlab.scoring.score import PlayedEpisodes

__all__ = ["MAX_ROWS", "Course", "describe"]

MAX_ROWS = 256
"""So many episodes at once: more would hardly be faster, and would take memory."""

Report = Callable[[int], None]


class Course(Struct, frozen=True, kw_only=True):
    """What is played on.

    Attributes:
        task: Name of the task.
        rate_hz: Ticks a second; None for the task's own.
        options: Numbers that change the task, by name.
        network: As environments take it.
        control: How the task is controlled.
    """

    task: str
    rate_hz: float | None
    options: Mapping[str, float]
    network: Network
    control: NetworkOptions

    @property
    def has_rows(self) -> bool:
        """Whether episodes of a policy file can be played in rows: ``planned`` is played one by one alone."""
        return find_task(self.task).columns is not None and ACTUATOR_TRAITS[self.control.actuator].in_columns

    def play_rows(self, file: PolicyFile, seeds: Sequence[int], report: Report) -> PlayedEpisodes:
        """Play the episodes of a policy file, many at once.

        Args:
            file: The policy.
            seeds: Of the episodes' runs.
            report: Told how many have ended.

        Raises:
            NetlabError: The task has no columns, or the network is none that they can have.
        """
        played = PlayedEpisodes()
        for first in range(0, len(seeds), MAX_ROWS):
            played += self._play_chunk(file, seeds[first : first + MAX_ROWS], _after(first, report))
        return played

    def play_singly(
        self, make: Callable[[int], tuple[Policy, Predictor]], seeds: Sequence[int], report: Report
    ) -> PlayedEpisodes:
        """Play the episodes of any policy, one after another.

        Args:
            make: Takes a run's seed; makes a fresh policy and its predictor.
            seeds: Of the episodes' runs.
            report: Told how many have ended.

        Raises:
            NetlabError: The network is none.
        """
        task = make_task(self.task, self.rate_hz, self.options)
        _, predictor = make(0)  # what predicts draws nothing: one does for all runs
        env = VirtualNetwork(task, self.network, self.control, predictor=predictor)
        played = PlayedEpisodes()
        try:
            for ended, seed in enumerate(seeds, 1):
                policy, _ = make(seed)
                played += _play_one(env, policy, seed)
                report(ended)
        finally:
            env.close()
        return played

    def _play_chunk(self, file: PolicyFile, seeds: Sequence[int], report: Report) -> PlayedEpisodes:
        n = len(seeds)
        task = make_vector_task(self.task, n, self.rate_hz, self.options)
        env = VectorNetwork(task, self.network, self.control, predictor=predictor_columns(file))
        policy = RowPolicy(file, seeds)
        returns, ticks = np.zeros(n), np.zeros(n, np.int64)
        terminated, is_over = np.zeros(n, bool), np.zeros(n, bool)
        try:
            rows, infos = env.reset(seed=list(seeds))
            while not is_over.all():
                actions = policy.decide(rows, infos["asked"] & ~is_over)
                rows, _, ends, cuts, infos = env.step(actions)
                ended = (ends | cuts) & ~is_over  # further episodes of a row count nowhere
                if ended.any():
                    returns[ended] = infos["episode"]["r"][ended]
                    ticks[ended] = infos["episode"]["l"][ended]
                    terminated[ended] = ends[ended]
                    is_over |= ended
                    report(int(is_over.sum()))
        finally:
            env.close()
        return PlayedEpisodes(tuple(returns.tolist()), tuple(ticks.tolist()), tuple(terminated.tolist()))


def _after(before: int, report: Report) -> Report:
    """Return what reports episodes that follow so many."""
    return lambda ended: report(before + ended)


def describe(
    task: str, rate_hz: float | None = None, options: Mapping[str, float] | None = None
) -> TaskDescription:
    """Return what a policy must know of a task.

    Raises:
        SpecError: There is no such task or option.
    """
    if find_task(task).columns is not None:  # it asks for no library that playing one by one would need
        return make_vector_task(task, 1, rate_hz, options).description
    single = make_task(task, rate_hz, options)
    single.close()
    return single.description


def _play_one(env: VirtualNetwork, policy: Policy, seed: int) -> PlayedEpisodes:
    """Return what became of one episode."""
    policy.reset()
    _, info = env.reset(seed=seed)
    total, idle = 0.0, np.zeros(env.action_space.shape or (), env.action_space.dtype)
    while True:
        question = env.question
        action = idle if question is None else policy.decide(question)  # what nobody asked for is not looked at
        _, reward, terminated, truncated, info = env.step(action)
        total += reward
        if terminated or truncated:
            return PlayedEpisodes((total,), (info["tick"] + 1,), (terminated,))
