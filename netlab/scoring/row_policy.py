"""RowPolicy: the policy of a file for many episodes at once; in each row what ``NetworkPolicy`` decides alone.

Draws are the same ones. An output of the network may differ in its last bit: a product of many rows is added up in
another order than that of one.

::

    rows [n, size] --asked ones--> actor --> output --greedy | each row's own draws--> actions [n, *shape]
                                   state kept [2, n, units]

The rows come ready from the environment, which has the same features. A state moves on where something was asked,
as it does in training, and nowhere else.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from netlab.agents.acting import make_sampler
from netlab.agents.network_policy import episode_draws
from netlab.agents.policy_file import PolicyFile
from netlab.agents.policy_network import make_policy_network

__all__ = ["RowPolicy"]


class RowPolicy:
    """Decide in n rows, each of which plays one episode.

    Args:
        file: The policy.
        seeds: Of each row's run, ``[n]``, whose episode 0 it plays: what is drawn is the same whatever is played
            beside it.

    Raises:
        SpecError: The weights are not those of a network with this card.
    """

    def __init__(self, file: PolicyFile, seeds: Sequence[int]) -> None:
        card, n = file.card, len(seeds)
        action = card.task.action
        self._actor = make_policy_network(card, file.weights)
        self._sampler = make_sampler(action)
        self._state = np.zeros((2, n, self._actor.state_units), np.float32)
        self._actions = np.zeros((n, *action.shape), np.dtype(action.dtype))
        self._draws: list[np.random.Generator] = []
        if card.choose == "sampled":
            self._draws = [episode_draws(card.sampling_seed, seed, 0) for seed in seeds]

    def decide(self, rows: NDArray[np.float32], asked: NDArray[np.bool_]) -> NDArray[Any]:
        """Return the actions ``[n, *shape]``; of rows that are not asked what they played last.

        Args:
            rows: Features, ``[n, size]``.
            asked: Which rows have a question, ``[n]``.
        """
        chosen = np.flatnonzero(asked)
        if chosen.size:
            with np.errstate(over="ignore", invalid="ignore"):  # as in NetworkPolicy
                output, after = self._actor.act(rows[chosen], self._state[:, chosen])
            self._state[:, chosen] = after
            self._actions[chosen] = self._sampler.played(self._choose(output, chosen))
        return self._actions

    def _choose(self, output: NDArray[np.float32], rows: NDArray[np.intp]) -> NDArray[Any]:
        if not self._draws:
            return self._sampler.mode(output)
        drawn = [
            self._sampler.sample(output[place : place + 1], self._draws[row])
            for place, row in enumerate(rows.tolist())
        ]
        return np.concatenate(drawn)
