"""Batches: a rollout's asked steps as torch columns, and minibatches of them in random order.

::

    MLP    steps shuffled one by one          | one gather an epoch, then views
    LSTM   environments shuffled; of each, all its steps, split where an episode starts:
             env 3:  h0 [s s s s s] 0 [s s] 0 [s s s .      sequences of similar length in one padded block,
             env 7:  h0 [s s] 0 [s s s s s s s s]           h0 as the collector left it, 0 for fresh ones

Unasked steps are left out: the state of the LSTM did not advance in them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from netlab.agents.networks import Inputs, Sequences
from netlab.agents.rollout import Rollout, Tails

__all__ = ["Batch", "Batches", "EpisodeBatches", "StepBatches", "Targets", "tail_inputs"]


class Targets(NamedTuple):
    """What is learned from, beside the inputs, ``[b]`` each.

    Attributes:
        actions: As drawn, ``[b]`` or ``[b, m]``.
        log_probs: log pi_old(a|s).
        advantages: A of Eq 11.
        values: V^targ of Eq 9.
    """

    actions: Tensor
    log_probs: Tensor
    advantages: Tensor
    values: Tensor

    def take(self, index: Tensor) -> Targets:
        """Return some of the steps."""
        return Targets(*(column.index_select(0, index) for column in self))


class Batch(NamedTuple):
    """A minibatch."""

    inputs: Inputs
    targets: Targets


class Batches(Protocol):
    """A rollout, cut into minibatches.

    Attributes:
        steps: Index ``t * n + environment`` of each asked step, ``[b]``, in the order of ``whole``.
        whole: All of them.
    """

    steps: NDArray[np.intp]
    whole: Inputs

    def epoch(self, targets: Targets, rng: np.random.Generator) -> Iterator[Batch]:
        """Yield every step once, in parts of random composition."""
        ...


class StepBatches:
    """Steps on their own.

    Args:
        rollout: The rollout.
        parts: Minibatches an epoch.
    """

    def __init__(self, rollout: Rollout, parts: int) -> None:
        self.steps = np.flatnonzero(rollout.asked)
        self._parts = max(1, min(parts, self.steps.size))
        observations, privileged = _rows(rollout.observations), _rows(rollout.privileged)
        if self.steps.size < rollout.asked.size:
            chosen = torch.from_numpy(self.steps)
            observations, privileged = observations.index_select(0, chosen), privileged.index_select(0, chosen)
        self.whole = Inputs(observations, privileged)

    def epoch(self, targets: Targets, rng: np.random.Generator) -> Iterator[Batch]:
        """Yield every step once: gathered once an epoch, so that minibatches are views."""
        order = torch.from_numpy(rng.permutation(self.steps.size))
        columns = (self.whole.observations.index_select(0, order), self.whole.privileged.index_select(0, order))
        split = [column.tensor_split(self._parts) for column in (*columns, *targets.take(order))]
        for observations, privileged, *rest in zip(*split, strict=True):
            yield Batch(Inputs(observations, privileged), Targets(*rest))


class EpisodeBatches:
    """Whole sequences.

    Args:
        rollout: The rollout.
        parts: Minibatches an epoch.
    """

    def __init__(self, rollout: Rollout, parts: int) -> None:
        self._rollout, self._parts = rollout, parts
        self._observations, self._privileged = _rows(rollout.observations), _rows(rollout.privileged)
        self._first_state = torch.from_numpy(rollout.first_state)
        count = rollout.asked.shape[1]
        # By environment, then by time: where each asked step stands in its episode's sequence.
        environments, times = np.nonzero(rollout.asked.T)
        self.steps = times * count + environments
        episodes = np.cumsum(rollout.starts[1:], axis=0, dtype=np.int64)
        episodes = np.concatenate((np.zeros((1, count), dtype=np.int64), episodes))[times, environments]
        self._fresh = episodes > 0  # else it goes on from the state before the rollout, 0 if it began there
        key = environments * (len(rollout.asked) + 1) + episodes
        _, first, self._sequence = np.unique(key, return_index=True, return_inverse=True)
        self._position = np.arange(key.size) - first[self._sequence]
        self._environment = environments
        self._count = count
        self.whole = self._inputs(np.arange(key.size))

    def epoch(self, targets: Targets, rng: np.random.Generator) -> Iterator[Batch]:
        """Yield every step once: the environments are shuffled, their sequences stay whole."""
        part = np.empty(self._count, dtype=np.intp)
        for number, chosen in enumerate(np.array_split(rng.permutation(self._count), self._parts)):
            part[chosen] = number
        part_of_step = part[self._environment]
        for number in range(self._parts):
            rows = np.flatnonzero(part_of_step == number)
            if rows.size:
                yield Batch(self._inputs(rows), targets.take(torch.from_numpy(rows)))

    def _inputs(self, rows: NDArray[np.intp]) -> Inputs:
        """Return the inputs of some rows, which hold whole sequences."""
        _, first, sequence, lengths = np.unique(
            self._sequence[rows], return_index=True, return_inverse=True, return_counts=True
        )
        # Blocks by powers of two, so that less than half of one is padding.
        size = np.ceil(np.log2(lengths)).astype(np.int64)
        places, blocks, behind = np.empty(rows.size, dtype=np.int64), [], 0
        for one in np.unique(size):
            within = np.flatnonzero(size == one)
            column = np.full(size.size, -1, dtype=np.int64)
            column[within] = np.arange(within.size)
            chosen = np.flatnonzero(column[sequence] >= 0)
            places[chosen] = behind + self._position[rows[chosen]] * within.size + column[sequence[chosen]]
            blocks.append((int(lengths[within].max()), within.size))
            behind += blocks[-1][0] * within.size
        leading = rows[first[np.argsort(size, kind="stable")]]
        state = self._first_state[:, torch.from_numpy(self._environment[leading])]
        state[:, torch.from_numpy(self._fresh[leading])] = 0.0
        steps = torch.from_numpy(self.steps[rows])
        return Inputs(
            self._observations.index_select(0, steps),
            self._privileged.index_select(0, steps),
            Sequences(torch.from_numpy(places), tuple(blocks), state),
        )


def tail_inputs(tails: Tails) -> Inputs:
    """Return the states behind steps as sequences of one step each."""
    count = len(tails.steps)
    return Inputs(
        torch.from_numpy(tails.observations),
        torch.from_numpy(tails.privileged),
        Sequences(torch.arange(count), ((1, count),), torch.from_numpy(tails.states)),
    )


def _rows(column: NDArray[Any]) -> Tensor:
    """Return a column ``[t, n, ...]`` as ``[t * n, ...]``, uncopied."""
    return torch.from_numpy(column.reshape(column.shape[0] * column.shape[1], *column.shape[2:]))
